//! The state of the gate, which pauses destructive actions.

use jiff::Timestamp;
use machinist_core::scheduling::gate::Gate;
use tokio::time::Instant;

/// The gate, and since when this process has watched the API servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GateState {
    /// The check before every effect.
    pub gate: Gate,
    /// The last opening of the gate after a freeze.
    pub thawed_at: Option<Timestamp>,
    /// Since when this process has led and probed the API servers.
    pub watched_since: Option<Timestamp>,
    /// The same on the monotonic clock. All calls of the process that led before had ended by then.
    pub leads_from: Option<Instant>,
    /// True once all API servers were probed since this process began to lead. No reconcile starts before that.
    pub is_known: bool,
}
