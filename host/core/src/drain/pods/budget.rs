//! What a PodDisruptionBudget says.

use jiff::{SignedDuration, Timestamp};

use crate::value::id::ObjectKey;

use super::pod::{PodFact, PodPhase};

/// A PodDisruptionBudget that selects a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetFact {
    /// Which.
    pub key: ObjectKey,
    /// `metadata.generation`.
    pub generation: i64,
    /// `status.observedGeneration`.
    pub observed_generation: i64,
    /// `status.expectedPods`.
    pub expected_pods: i32,
    /// `status.currentHealthy`.
    pub current_healthy: i32,
    /// `status.desiredHealthy`.
    pub desired_healthy: i32,
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// `status.disruptedPods` names some: evictions that the controller has not counted yet.
    pub has_disrupted_pods: bool,
    /// `spec.unhealthyPodEvictionPolicy`.
    pub unhealthy_pods: UnhealthyPods,
    /// The API server has refused an eviction for it and does not want to be asked again before this.
    pub held_until: Option<Timestamp>,
}

/// How a budget treats pods that are not Ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnhealthyPods {
    /// They may go while enough others are healthy.
    #[default]
    IfHealthyBudget,
    /// They may always go.
    AlwaysAllow,
}

/// What the budgets of a pod say to its eviction, as far as their last status tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetState<'a> {
    /// Nothing is known to speak against it: the API server decides.
    Open,
    /// There is no disruption left at the moment.
    Spent(&'a BudgetFact),
    /// It never has a disruption left, although all is well: somebody must change it.
    Misconfigured(&'a BudgetFact),
    /// The API server refuses to evict a pod that several budgets select.
    Several(&'a [BudgetFact]),
}

/// Judges the eviction of a pod as the API server would, by the same rules.
pub(crate) fn stance(pod: &PodFact) -> BudgetState<'_> {
    // Pods that do no work yet, or no more, disrupt nobody.
    if pod.ending.is_some() || pod.phase != PodPhase::Running {
        return BudgetState::Open;
    }
    let budget = match pod.budgets.as_slice() {
        [] => return BudgetState::Open,
        [budget] => budget,
        several => return BudgetState::Several(several),
    };
    if budget.lets_go_unhealthy(pod) {
        return BudgetState::Open;
    }
    // Until its controller has seen the last change the API server refuses, whatever was allowed before.
    if budget.observed_generation < budget.generation {
        return BudgetState::Spent(budget);
    }
    if budget.disruptions_allowed > 0 {
        return BudgetState::Open;
    }
    let is_at_rest = budget.expected_pods > 0
        && budget.current_healthy >= budget.expected_pods
        && !budget.has_disrupted_pods;
    if is_at_rest { BudgetState::Misconfigured(budget) } else { BudgetState::Spent(budget) }
}

/// For how long the API server does not want to be asked for the pod.
pub(crate) fn held(pod: &PodFact, now: Timestamp) -> Option<SignedDuration> {
    let until = pod.budgets.iter().filter_map(|budget| budget.held_until).max()?;
    Some(until.duration_since(now)).filter(|left| *left > SignedDuration::ZERO)
}

impl BudgetFact {
    fn lets_go_unhealthy(&self, pod: &PodFact) -> bool {
        let is_kept = self.desired_healthy > 0 && self.current_healthy >= self.desired_healthy;
        !pod.is_ready
            && match self.unhealthy_pods {
                UnhealthyPods::AlwaysAllow => true,
                UnhealthyPods::IfHealthyBudget => is_kept,
            }
    }
}
