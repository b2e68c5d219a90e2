//! Whether a rollout has to wait for a maintenance window.

use jiff::{SignedDuration, Timestamp};

use crate::maintenance::{Opening, left};

use super::view::{DeploymentView, WindowsFact};

/// A rollout that has to wait.
pub(super) struct Held {
    /// For what.
    pub message: String,
    /// For how long, where that is known.
    pub left: Option<SignedDuration>,
}

pub(super) fn held(view: &DeploymentView, now: Timestamp) -> Option<Held> {
    match &view.deployment.spec.windows {
        WindowsFact::None => None,
        WindowsFact::Given(windows) => match windows.opening(now) {
            Opening::Open { .. } => None,
            Opening::Closed { until } => Some(Held {
                message: format!("the rollout waits for its maintenance window, which opens at {until}"),
                left: Some(left(until, now)),
            }),
        },
        // Whoever writes windows does not want a rollout at any time.
        WindowsFact::Invalid(error) => Some(Held {
            message: format!("the rollout is held since {error}: mend it or remove it"),
            left: None,
        }),
    }
}
