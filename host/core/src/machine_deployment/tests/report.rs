//! A reconcile as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::Expect;
use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::Requeue;
use crate::machine_deployment::{
    DeploymentChange, DeploymentConclusion, DeploymentEffect, DeploymentProgress, DeploymentStep,
    DeploymentView, EffectResult, MachineChange, OwnedSetFact, RolloutNodeChange, SetChange, invariants,
    step,
};

use super::facts::{self, seconds};

/// A reconcile over one deployment: what is known, when, and what goes wrong.
pub(super) struct Case {
    pub view: DeploymentView,
    pub now: Timestamp,
    answers: BTreeMap<&'static str, Result<EffectResult, ActError>>,
}

pub(super) fn case(sets: Vec<OwnedSetFact>) -> Case {
    Case { view: facts::view(sets), now: seconds(1_000), answers: BTreeMap::new() }
}

impl Case {
    pub(super) fn with(mut self, change: impl FnOnce(&mut DeploymentView)) -> Self {
        change(&mut self.view);
        self
    }

    pub(super) fn at(mut self, second: i64) -> Self {
        self.now = seconds(second);
        self
    }

    /// The number, and the template's class.
    pub(super) fn wants(self, replicas: i64, class: &str) -> Self {
        self.with(|view| {
            view.deployment.spec.replicas = replicas;
            view.deployment.spec.template = facts::template(class);
        })
    }

    pub(super) fn annotated(self, key: &str, value: &str) -> Self {
        self.with(|view| {
            view.deployment.annotations.insert(key.into(), value.into());
        })
    }

    /// The outcome of effects of this name.
    pub(super) fn on(mut self, effect: &'static str, outcome: Result<EffectResult, ActError>) -> Self {
        self.answers.insert(effect, outcome);
        self
    }

    /// Effects of the reconcile, and its end.
    pub(super) fn run(&self) -> (Vec<DeploymentEffect>, DeploymentConclusion) {
        let mut progress = DeploymentProgress::default();
        let mut effects = Vec::new();
        for _ in 0..8 {
            match step(&self.view, &progress, self.now) {
                DeploymentStep::Act(batch) => {
                    invariants::batch(&self.view, &progress, &batch, self.now).unwrap();
                    for effect in batch {
                        let outcome =
                            self.answers.get(effect.name()).cloned().unwrap_or(Ok(EffectResult::Done));
                        progress.record(effect.clone(), outcome);
                        effects.push(effect);
                    }
                }
                DeploymentStep::Finish(conclusion) => {
                    invariants::conclusion(&self.view, &progress, &conclusion).unwrap();
                    return (effects, conclusion);
                }
            }
        }
        panic!("the pass does not end");
    }

    /// Effects, reason, message, Events and when to look again.
    pub(super) fn reported(&self) -> String {
        let (effects, conclusion) = self.run();
        let mut text = String::new();
        effects.iter().for_each(|effect| text.push_str(&effect_text(effect)));
        let _ = writeln!(text, "{}: {}", conclusion.reason.as_str(), conclusion.message);
        for note in &conclusion.notes {
            let _ =
                writeln!(text, "event {:?} {}: {}", note.kind.severity(), note.kind.as_str(), note.message);
        }
        let _ = writeln!(text, "{}", wake_text(conclusion.wake));
        text
    }

    pub(super) fn check(&self, expected: &Expect) {
        expected.assert_eq(&self.reported());
    }

    /// The conditions that the status is to have.
    pub(super) fn conditions(&self) -> String {
        let mut text = String::new();
        for condition in &self.run().1.status.conditions {
            let second = |at: Option<Timestamp>| at.map_or("-".into(), |at| at.as_second().to_string());
            let _ = writeln!(
                text,
                "{}={} {} ({}, {}): {}",
                condition.kind.as_str(),
                condition.status,
                condition.reason,
                second(condition.updated),
                second(condition.since),
                condition.message
            );
        }
        text
    }
}

fn wake_text(wake: Requeue) -> String {
    match wake {
        Requeue::Resync => "then rest".into(),
        Requeue::Now => "then at once".into(),
        Requeue::After(time) | Requeue::Check(time) => format!("then after {time:#}"),
        Requeue::Retry { policy, .. } => format!("then retry after {:#}", policy.base),
        Requeue::Gone => "then never".into(),
    }
}

pub(super) fn effect_text(effect: &DeploymentEffect) -> String {
    let text = match effect {
        DeploymentEffect::WriteDeployment(change) => deployment_text(change),
        DeploymentEffect::AdoptSet(set)
        | DeploymentEffect::ReleaseSet(set)
        | DeploymentEffect::DeleteSet(set) => set.name.to_string(),
        DeploymentEffect::CreateSet(set) => {
            format!(
                "{} with {}{}",
                set.name,
                set.replicas,
                texts(set.annotations.iter().map(|(key, value)| (key, Some(value))))
            )
        }
        DeploymentEffect::WriteSet { set, change } => format!("{}{}", set.name, set_text(change)),
        DeploymentEffect::WriteMachine { machine, change } => {
            format!("{} {}", machine.name, machine_text(change))
        }
        DeploymentEffect::WriteNode { node, change } => format!("{node}{}", node_text(change)),
    };
    format!("{} {text}\n", effect.name())
}

fn texts<'a>(entries: impl Iterator<Item = (&'a String, Option<&'a String>)>) -> String {
    entries.map(|(key, value)| value.map_or(format!(" -{key}"), |value| format!(" {key}={value}"))).collect()
}

fn changes(entries: &BTreeMap<String, Option<String>>) -> String {
    texts(entries.iter().map(|(key, value)| (key, value.as_ref())))
}

fn deployment_text(change: &DeploymentChange) -> String {
    let sign = |flag: Option<bool>, name: &str| match flag {
        Some(true) => format!("+{name} "),
        Some(false) => format!("-{name} "),
        None => String::new(),
    };
    let rollback = match &change.rollback {
        Some(Some(set)) => format!("template of {} ", set.name),
        Some(None) => "-rollback ".into(),
        None => String::new(),
    };
    let flags = format!("{}{}{rollback}", sign(change.finalizer, "finalizer"), sign(change.freeze, "freeze"));
    format!("{flags}{}", changes(&change.annotations).trim_start())
}

fn set_text(change: &SetChange) -> String {
    let replicas = change.replicas.map_or(String::new(), |(from, to)| format!(" {from}→{to}"));
    let settings = if change.takes_settings { " +settings" } else { "" };
    let template = change.template_label.iter().map(|(key, value)| format!(" template {key}={value}"));
    let selector = change.selector_label.iter().map(|(key, value)| format!(" selector {key}={value}"));
    let labels: String = template.chain(selector).collect();
    format!("{replicas}{settings}{labels}{}{}", changes(&change.labels), changes(&change.annotations))
}

fn machine_text(change: &MachineChange) -> String {
    match change {
        MachineChange::Mark { at } => format!("mark {}", at.map_or("-".into(), |at| at.to_string())),
        MachineChange::Hash(hash) => format!("hash {hash}"),
        MachineChange::Transfer { from, to } => format!("from {} to {}", from.name, to.name),
        MachineChange::Unlabel => "unlabel".into(),
    }
}

fn node_text(change: &RolloutNodeChange) -> String {
    let flags = [
        (change.old_taint, "old-taint"),
        (change.holds_autoscaler, "autoscaler-held"),
        (change.candidate, "candidate"),
        (change.selected, "selected"),
    ];
    let flags =
        flags.into_iter().filter_map(|(flag, name)| flag.map(|flag| (if flag { "+" } else { "-" }, name)));
    let mut text: String = flags.map(|(sign, name)| format!(" {sign}{name}")).collect();
    for (is_so, name) in [(change.ends_update, " update-ended"), (change.uncordons, " uncordon")] {
        if is_so {
            text.push_str(name);
        }
    }
    text
}
