//! The decision of PodDisruptionBudgets about an eviction.

use jiff::{SignedDuration, Timestamp};

use crate::value::id::ObjectKey;

use super::pod::{PodFact, PodPhase};

/// A PodDisruptionBudget that selects a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetFact {
    pub key: ObjectKey,
    pub generation: i64,
    pub observed_generation: i64,
    pub expected_pods: i32,
    pub current_healthy: i32,
    pub desired_healthy: i32,
    pub disruptions_allowed: i32,
    /// `status.disruptedPods` names some: evictions that the controller has not counted yet.
    pub has_disrupted_pods: bool,
    pub unhealthy_pods: UnhealthyPods,
    /// The API server has refused an eviction for it, with this time for the next attempt.
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

/// The decision of a pod's budgets about its eviction, by their last status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetState<'a> {
    /// No budget is known to refuse: the API server decides.
    Open,
    /// There is no disruption left at the moment.
    Spent(&'a BudgetFact),
    /// It allows no disruption, although all pods are healthy: its owner must change it.
    Misconfigured(&'a BudgetFact),
    /// The API server refuses to evict a pod that several budgets select.
    Several(&'a [BudgetFact]),
}

/// Decides about the eviction of a pod by the rules of the API server.
pub(crate) fn stance(pod: &PodFact) -> BudgetState<'_> {
    // Pods that are pending or finished disrupt nothing.
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
    // Until its controller has observed the last change, the API server refuses.
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

/// Returns how long the API server refuses evictions of the pod.
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
