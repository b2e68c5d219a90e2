//! What a PodDisruptionBudget says.

use crate::id::ObjectKey;

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
