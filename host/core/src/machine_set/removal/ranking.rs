//! Which Machine of a set goes first when there are too many.
//!
//! The set decides by it; its deployment has to know, or it could not say what a smaller set costs.

use jiff::Timestamp;

use crate::value::id::Name;
use crate::value::phase::Phase;

/// Of Machines that go first, and at once where the autoscaler has chosen them.
pub const FIRST_PRIORITY: i64 = 1;

/// What decides about one Machine.
#[derive(Clone, Copy, Debug)]
pub struct RemovalCandidate<'a> {
    /// Until when it is kept, and whether by itself and not because somebody asked. `None` when it is not kept at the moment.
    pub kept: Option<(Timestamp, bool)>,
    /// A smaller one goes first.
    pub priority: i64,
    /// When it was marked for deletion.
    pub marked_at: Option<Timestamp>,
    /// Where it is in its life.
    pub phase: Phase,
    /// When it was made.
    pub created: Timestamp,
    /// No two have the same.
    pub name: &'a Name,
}

impl RemovalCandidate<'_> {
    /// Who has the least goes first. Whom somebody asked to keep is kept longest; no two Machines are equal.
    pub fn place(&self) -> impl Ord + use<> {
        let keeping = self.kept.map(|(until, is_automatic)| (!is_automatic, until));
        let mark = (self.marked_at.is_none(), self.marked_at);
        (keeping, self.priority, mark, rank(self.phase), self.created, self.name.clone())
    }
}

/// The less a Machine does, the sooner it goes.
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
