//! A Machine as its owners see it: its set and its MachineDeployment decide about it by the same facts.

use jiff::Timestamp;

use crate::machine::node::preservation::{self, AUTO_PRESERVED, NOW, WHEN_FAILED};
use crate::value::id::{Name, Uid};
use crate::value::phase::Phase;

/// The priority of Machines without a valid one.
pub const DEFAULT_PRIORITY: i64 = 3;

/// The priority of Machines that are deleted first, and at once if the autoscaler has marked them.
pub const FIRST_PRIORITY: i64 = 1;

/// A Machine, as its owners see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSummary {
    pub name: Name,
    pub uid: Uid,
    pub created: Timestamp,
    /// Its deletion was requested.
    pub is_deleting: bool,
    pub phase: Phase,
    /// The deletion priority: a lower one is deleted first.
    pub priority: i64,
    /// When it was marked for deletion.
    pub marked_at: Option<Timestamp>,
    /// It has the label of a successful update in place: its set does not count it before its deployment moves it.
    pub is_updated_in_place: bool,
    /// It cannot be decoded: it counts, and nothing is done to it. Its facts may be old.
    pub is_unreadable: bool,
    /// The preservation request of its annotation.
    pub preserve_request: Option<String>,
    /// The preservation request of its Node, empty for none; `None` without a Node.
    pub node_preserve_request: Option<String>,
    /// The Node's request that was applied last.
    pub applied_node_request: Option<String>,
    /// Until when it is preserved.
    pub preserved_until: Option<Timestamp>,
}

impl MachineSummary {
    /// Returns whether it is being deleted, so that it does not count.
    pub fn is_terminating(&self) -> bool {
        self.is_deleting || self.phase == Phase::Terminating
    }

    /// Returns the end of its preservation, while it is preserved.
    pub fn kept_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.preserved_until.filter(|until| *until > now)
    }

    pub fn is_preserved(&self, now: Timestamp) -> bool {
        self.kept_until(now).is_some()
    }

    /// Returns whether a request preserves it when it fails. `own` is the request of its annotation; an invalid request
    /// is none.
    pub fn is_preserve_requested(&self, own: Option<&str>) -> bool {
        let of_node = self.node_preserve_request.as_deref();
        let request = preservation::effective(own, of_node, self.applied_node_request.as_deref());
        matches!(request, Ok(NOW | WHEN_FAILED | AUTO_PRESERVED))
    }

    /// Returns whether it has failed and is not, or no longer, preserved.
    pub fn is_given_up(&self, own: Option<&str>, now: Timestamp) -> bool {
        let is_kept = match self.preserved_until {
            Some(until) => until > now,
            None => self.is_preserve_requested(own),
        };
        self.phase == Phase::Failed && !is_kept
    }

    /// Returns the rank among the Machines of a set: the least is deleted first. Machines that are preserved by request
    /// stay longest; no two Machines are equal.
    pub fn deletion_rank(&self, now: Timestamp) -> impl Ord + use<> {
        let is_automatic = self.preserve_request.as_deref() == Some(AUTO_PRESERVED);
        let keeping = self.kept_until(now).map(|until| (!is_automatic, until));
        let mark = (self.marked_at.is_none(), self.marked_at);
        (keeping, self.priority, mark, use_rank(self.phase), self.created, self.name.clone())
    }
}

/// Ranks by phase: the less a Machine is in use, the sooner it is deleted.
fn use_rank(phase: Phase) -> u8 {
    match phase {
        Phase::Terminating
        | Phase::New
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => 0,
        Phase::Failed => 1,
        Phase::CrashLoopBackOff => 2,
        Phase::Unknown => 3,
        Phase::Pending => 4,
        Phase::Available => 5,
        Phase::Running => 6,
    }
}
