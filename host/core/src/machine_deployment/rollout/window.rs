//! Decides whether a rollout must wait for a maintenance window, or until an invalid setting is fixed.

use jiff::{SignedDuration, Timestamp};

use crate::disruption::maintenance::{Opening, left};
use crate::disruption::requests::DisruptionRequests;

use crate::machine_deployment::conclusion::DeploymentReason;
use crate::machine_deployment::facts::{DeploymentView, WindowsFact};

/// A rollout that waits for a window or a fixed setting.
pub(crate) struct WaitingRollout {
    why: String,
    /// The same in a word.
    pub reason: DeploymentReason,
    /// The rest of the wait, if known.
    pub left: Option<SignedDuration>,
}

impl WaitingRollout {
    /// Returns the text: the waiting work, and the reason.
    pub(crate) fn why(&self, what: &str) -> String {
        format!("{what} {}", self.why)
    }
}

pub(crate) fn held(view: &DeploymentView, now: Timestamp) -> Option<WaitingRollout> {
    let requests = DisruptionRequests::read(&view.deployment.annotations, view.names.disruption);
    if requests.has_unknown_budget {
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
        // An owner who writes windows does not want a rollout at any time.
        WindowsFact::Invalid(error) => Some(WaitingRollout {
            why: format!("is held since {error}: fix or remove it"),
            reason: DeploymentReason::WaitingForWindow,
            left: None,
        }),
    }
}
