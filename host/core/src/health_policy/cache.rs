//! A cache of answers, so that nothing is asked twice.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::value::id::{ObjectKey, PluginName};

use super::opinion::{Mode, Opinion};
use super::question::PolicyQuestion;

/// A policy that applies to a Machine, with its current version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub policy: PluginName,
    /// Changes whenever the same question could get another answer: component, settings, limits, served or not.
    pub generation: u64,
    /// Whether it decides. Not part of its answer, so a change asks no policy again.
    pub mode: Mode,
}

/// The last answers about each Machine. A restart forgets them, which costs one round of questions.
#[derive(Debug, Default)]
pub struct OpinionCache {
    answers: BTreeMap<ObjectKey, Answers>,
}

#[derive(Debug)]
struct Answers {
    question: PolicyQuestion,
    /// The generation and opinion of each policy.
    said: BTreeMap<PluginName, (u64, Opinion)>,
}

impl OpinionCache {
    /// Returns the opinion of each policy of `asked`, in their order; `None` if one of them must be asked: it has no
    /// answer of this generation to this question, or the answer has expired.
    pub fn look_up(
        &self,
        question: &PolicyQuestion,
        asked: &[Asked],
        now: Timestamp,
    ) -> Option<Vec<Opinion>> {
        asked.iter().map(|asked| self.answer(question, asked, now)).collect()
    }

    /// Returns those of `asked` whose opinion is missing, or has expired.
    pub fn missing(&self, question: &PolicyQuestion, asked: &[Asked], now: Timestamp) -> Vec<Asked> {
        asked.iter().filter(|asked| self.answer(question, asked, now).is_none()).cloned().collect()
    }

    /// Stores an answer. Answers to another question about the same Machine are dropped.
    pub fn keep(&mut self, question: &PolicyQuestion, generation: u64, opinion: Opinion) {
        let answers = self
            .answers
            .entry(question.machine.key.clone())
            .or_insert_with(|| Answers { question: question.clone(), said: BTreeMap::new() });
        if answers.question != *question {
            answers.question = question.clone();
            answers.said.clear();
        }
        answers.said.insert(opinion.policy.clone(), (generation, opinion));
    }

    /// Forgets a Machine that is gone.
    pub fn forget(&mut self, machine: &ObjectKey) {
        self.answers.remove(machine);
    }

    /// Returns the number of Machines with answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    fn answer(&self, question: &PolicyQuestion, asked: &Asked, now: Timestamp) -> Option<Opinion> {
        let answers = self.answers.get(&question.machine.key)?;
        let (generation, opinion) = answers.said.get(&asked.policy)?;
        let counts =
            answers.question == *question && *generation == asked.generation && now < opinion.holds_until;
        counts.then(|| Opinion { mode: asked.mode, ..opinion.clone() })
    }
}
