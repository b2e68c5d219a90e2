//! Decides which Machine of a set is deleted first when there are too many.
//!
//! The set decides by it; its deployment needs it to know the cost of a smaller set.

use jiff::Timestamp;

use crate::value::id::Name;
use crate::value::phase::Phase;

/// The priority of Machines that are deleted first, and at once if the autoscaler has marked them.
pub const FIRST_PRIORITY: i64 = 1;

/// The facts that rank one Machine.
#[derive(Clone, Copy, Debug)]
pub struct RemovalCandidate<'a> {
    /// Until when it is preserved, and whether automatically. `None` when it is not preserved now.
    pub kept: Option<(Timestamp, bool)>,
    /// A lower one is deleted first.
    pub priority: i64,
    /// When it was marked for deletion.
    pub marked_at: Option<Timestamp>,
    pub phase: Phase,
    /// When it was made.
    pub created: Timestamp,
    /// No two have the same.
    pub name: &'a Name,
}

impl RemovalCandidate<'_> {
    /// Returns the rank: the least is deleted first. Machines that are preserved by request stay longest; no two
    /// Machines are equal.
    pub fn place(&self) -> impl Ord + use<> {
        let keeping = self.kept.map(|(until, is_automatic)| (!is_automatic, until));
        let mark = (self.marked_at.is_none(), self.marked_at);
        (keeping, self.priority, mark, rank(self.phase), self.created, self.name.clone())
    }
}

/// Ranks by phase: the less a Machine is in use, the sooner it is deleted.
fn rank(phase: Phase) -> u8 {
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
