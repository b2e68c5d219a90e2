//! Whether what can wait has to wait for a maintenance window, or until somebody mends what holds it.

use jiff::{SignedDuration, Timestamp};

use crate::disruption::maintenance::{Opening, left};
use crate::disruption::requests::DisruptionRequests;

use crate::machine_deployment::conclusion::DeploymentReason;
use crate::machine_deployment::facts::{DeploymentView, WindowsFact};

/// A rollout that has to wait.
pub(crate) struct WaitingRollout {
    /// For what.
    why: String,
    /// The same in a word.
    pub reason: DeploymentReason,
    /// For how long, where that is known.
    pub left: Option<SignedDuration>,
}

impl WaitingRollout {
    /// What waits, and for what.
    pub(crate) fn why(&self, what: &str) -> String {
        format!("{what} {}", self.why)
    }
}

pub(crate) fn held(view: &DeploymentView, now: Timestamp) -> Option<WaitingRollout> {
    let wishes = DisruptionRequests::read(&view.deployment.annotations, view.names.disruption);
    if wishes.has_unknown_budget {
        let why = "is held since its disruption budget cannot be understood".to_owned();
        return Some(WaitingRollout { why, reason: DeploymentReason::InvalidOption, left: None });
    }
    match &view.deployment.spec.windows {
        WindowsFact::None => None,
        WindowsFact::Given(windows) => match windows.opening(now) {
            Opening::Open { .. } => None,
            Opening::Closed { until } => Some(WaitingRollout {
                why: format!("waits for its maintenance window, which opens at {until}"),
                reason: DeploymentReason::WaitingForWindow,
                left: Some(left(until, now)),
            }),
        },
        // Whoever writes windows does not want a rollout at any time.
        WindowsFact::Invalid(error) => Some(WaitingRollout {
            why: format!("is held since {error}: mend it or remove it"),
            reason: DeploymentReason::WaitingForWindow,
            left: None,
        }),
    }
}
