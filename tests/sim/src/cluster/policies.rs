//! Health policies, native and without a sandbox: they say what chance makes them say.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::error::{CallError, GuestFailure, Limit};
use machinist_core::health_policy::{
    Action, MAX_HOLD, PolicyFact, PolicyQuestion, PolicyVerdict, RawAnswer, Scope, ServingState,
};
use machinist_core::machine::node::health::{self, NodeConditionFact};
use machinist_core::value::id::PluginName;
use machinist_runtime::ports::HealthPolicies;

use crate::plan::PolicyPlan;
use crate::rng::Rng;

struct PolicyState {
    rng: Rng,
    policies: Vec<(PolicyPlan, ServingState)>,
    generation: u64,
    is_calm: bool,
}

/// All policies of a run. Every host sees the same ones.
#[derive(Clone)]
pub(crate) struct Policies(Arc<Mutex<PolicyState>>);

impl Policies {
    pub(crate) fn new(seed: u64, plans: &[PolicyPlan]) -> Self {
        let standing = ServingState::Serving { generation: 1 };
        let policies = plans.iter().map(|plan| (plan.clone(), standing.clone())).collect();
        let rng = Rng::new(seed, "verdicts");
        Self(Arc::new(Mutex::new(PolicyState { rng, policies, generation: 1, is_calm: false })))
    }

    /// One of them is reloaded, or is absent for a while.
    pub(crate) fn swap(&self, rng: &mut Rng) -> Option<String> {
        let mut state = self.lock();
        let at = rng.below(state.policies.len());
        state.generation += 1;
        let generation = state.generation;
        let (plan, standing) = state.policies.get_mut(at)?;
        *standing = if rng.happens(0.5) {
            ServingState::Serving { generation }
        } else {
            ServingState::NotServing { reason: "it is being loaded".to_owned() }
        };
        Some(plan.name.clone())
    }

    /// From now on all of them say what is true.
    pub(crate) fn calm(&self) {
        let mut state = self.lock();
        state.is_calm = true;
        state.generation += 1;
        let generation = state.generation;
        for (_, standing) in &mut state.policies {
            *standing = ServingState::Serving { generation };
        }
    }

    fn lock(&self) -> MutexGuard<'_, PolicyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HealthPolicies for Policies {
    fn policies(&self) -> Arc<[PolicyFact]> {
        let fact = |(plan, standing): &(PolicyPlan, ServingState)| PolicyFact {
            policy: plan.name.as_str().into(),
            mode: plan.mode,
            scope: Scope::default(),
            state: standing.clone(),
        };
        self.lock().policies.iter().map(fact).collect()
    }

    fn evaluate(
        &self,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        let mut state = self.lock();
        if state.is_calm {
            let (verdict, action) = truth(&question, now);
            return async move { Ok(answer(verdict, action, now, MAX_HOLD)) }.boxed();
        }
        let is_grim = state.policies.iter().any(|(plan, _)| plan.name == policy.as_str() && plan.is_grim);
        let holds = state.rng.between(Duration::from_mins(1), Duration::from_mins(15));
        let holds = SignedDuration::try_from(holds).unwrap_or(MAX_HOLD);
        let sick = PolicyVerdict::Unhealthy { since: now };
        let kinds = [(6, 0), (5, 1), (2, 2), (1, 3), (3, 4), (2, 5), (1, 6)];
        let kind = if is_grim { 1 } else { state.rng.weighed(&kinds).unwrap_or_default() };
        drop(state);
        async move {
            let (verdict, action) = match kind {
                0 => truth(&question, now),
                1 => (sick, Action::Replace),
                2 => (sick, Action::Reboot),
                3 => (sick, Action::None),
                4 => (PolicyVerdict::Unknown, Action::None),
                5 => return Err(GuestFailure::Trap { detail: "unreachable".to_owned() }.into()),
                _ => {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                    return Err(
                        GuestFailure::Limit { limit: Limit::Deadline, detail: "10 s".to_owned() }.into()
                    );
                }
            };
            Ok(answer(verdict, action, now, holds))
        }
        .boxed()
    }
}

fn answer(verdict: PolicyVerdict, action: Action, now: Timestamp, holds: SignedDuration) -> RawAnswer {
    let holds_until = now.checked_add(holds).unwrap_or(Timestamp::MAX);
    RawAnswer { verdict, reason: "it seems so".to_owned(), action, holds_until }
}

/// The answer of the built-in rule.
fn truth(question: &PolicyQuestion, now: Timestamp) -> (PolicyVerdict, Action) {
    let conditions = question.node.iter().flat_map(|node| &node.conditions);
    let conditions: Vec<NodeConditionFact> = conditions
        .map(|condition| NodeConditionFact { kind: condition.kind.clone(), status: condition.status })
        .collect();
    match health::verdict(&conditions, &question.machine.must_be_false) {
        health::NodeHealth::Healthy => (PolicyVerdict::Healthy, Action::None),
        health::NodeHealth::Unhealthy { .. } => (PolicyVerdict::Unhealthy { since: now }, Action::Replace),
    }
}
