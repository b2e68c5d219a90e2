//! Names by which the API server knows this program.

use machinist_api::names::annotations;
use machinist_core::disruption::requests as disruption;

/// What the owner of a deployment wishes about taking Machines away, and what is noted about it.
pub(crate) static DISRUPTION: disruption::Annotations = disruption::Annotations {
    budget: annotations::DISRUPTION_BUDGET,
    max_age: annotations::MAX_NODE_AGE,
    replace_first: annotations::REPLACE_BEFORE_DRAIN,
    remediates_in_windows: annotations::REMEDIATE_IN_WINDOWS,
    taken: annotations::DISRUPTIONS,
    replacing: annotations::REPLACING,
};

/// Field manager of all writes.
pub const FIELD_MANAGER: &str = "machinist";

/// User agent of all requests.
pub const USER_AGENT: &str = concat!("machinist/", env!("CARGO_PKG_VERSION"));

/// Annotation on a Machine: when a create was last begun in a cloud that keeps no idempotency keys.
pub const CREATE_INTENT: &str = "machinist.dev/create-intent";

/// Annotation on a Machine: which process has begun that create.
pub const CREATE_INTENT_BY: &str = "machinist.dev/create-intent-by";

/// Annotation on a Machine: when its VM was started anew because a policy asked for it, or was about to be. Times, separated by
/// commas.
pub const REBOOTS: &str = "machinist.dev/reboots";

/// Annotation on a Machine: until when its bootstrap token is valid.
pub const TOKEN_UNTIL: &str = "machinist.dev/bootstrap-token-until";

/// Annotation on a plugin's ConfigMap: what has become of it.
pub const PLUGIN_STATUS: &str = "machinist.dev/status";

/// Annotation on a bootstrap token: the uid of the Machine that it is for.
pub const TOKEN_OWNER: &str = "machinist.dev/machine-uid";

/// Annotation on a Lease: when whoever held it before had renewed it last.
pub const LED_UNTIL: &str = "machinist.dev/led-until";

/// Name of objects that do not exist, asked for to see whether an API server answers.
pub const PROBE_NAME: &str = "machinist-probe";
