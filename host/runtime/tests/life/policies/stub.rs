//! Policies that answer as a test wants, and record their questions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::error::{CallError, GuestFailure};
use machinist_core::health_policy::{
    Action, Mode, PolicyFact, PolicyQuestion, PolicyVerdict, RawAnswer, Scope, ServingState,
};
use machinist_core::value::id::PluginName;
use machinist_runtime::ports::HealthPolicies;

/// A policy's answer: its verdict, its action, and how long it counts.
pub(crate) type Says = fn(&PolicyQuestion, Timestamp) -> (PolicyVerdict, Action, SignedDuration);

#[derive(Default)]
struct StubState {
    facts: Vec<PolicyFact>,
    says: BTreeMap<PluginName, Option<Says>>,
    asked: Vec<(PluginName, PolicyQuestion)>,
}

/// All policies of a stage.
#[derive(Clone, Default)]
pub(crate) struct Panel(Arc<Mutex<StubState>>);

impl Panel {
    /// There is such a policy from here on; `None`: it breaks whenever it is asked.
    pub(crate) fn seat(&self, name: &str, mode: Mode, says: Option<Says>) {
        let mut state = self.0.lock().unwrap();
        state.facts.retain(|fact| fact.policy.as_str() != name);
        let generation = state.says.len() as u64 + state.asked.len() as u64 + 1;
        let standing = ServingState::Serving { generation };
        state.facts.push(PolicyFact { policy: name.into(), mode, scope: Scope::default(), state: standing });
        state.says.insert(name.into(), says);
    }

    /// It is being loaded, and decides.
    pub(crate) fn seat_later(&self, name: &str) {
        let standing = ServingState::NotServing { reason: format!("plugin {name} is being loaded") };
        let fact =
            PolicyFact { policy: name.into(), mode: Mode::Enforce, scope: Scope::default(), state: standing };
        self.0.lock().unwrap().facts.push(fact);
    }

    pub(crate) fn dismiss(&self, name: &str) {
        self.0.lock().unwrap().facts.retain(|fact| fact.policy.as_str() != name);
    }

    /// The questions to this policy.
    pub(crate) fn asked(&self, name: &str) -> Vec<PolicyQuestion> {
        let state = self.0.lock().unwrap();
        state
            .asked
            .iter()
            .filter(|(policy, _)| policy.as_str() == name)
            .map(|(_, question)| question.clone())
            .collect()
    }
}

impl HealthPolicies for Panel {
    fn policies(&self) -> Arc<[PolicyFact]> {
        self.0.lock().unwrap().facts.clone().into()
    }

    fn evaluate(
        &self,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        let mut state = self.0.lock().unwrap();
        state.asked.push((policy.clone(), question.clone()));
        let answer = match state.says.get(policy).copied().flatten() {
            None => Err(GuestFailure::Trap { detail: "out of cheese".to_owned() }.into()),
            Some(says) => {
                let (verdict, action, holds) = says(&question, now);
                Ok(RawAnswer {
                    verdict,
                    reason: format!("{policy} says so"),
                    action,
                    holds_until: now + holds,
                })
            }
        };
        async move { answer }.boxed()
    }
}
