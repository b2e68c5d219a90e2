//! Which Machine goes first when there are too many.

use std::cmp::{Ordering, Reverse};

use jiff::Timestamp;

use crate::phase::Phase;
use crate::preservation::AUTO_PRESERVED;

use super::view::ChildFact;

/// Of Machines that say nothing, or nothing that can be read.
const DEFAULT_PRIORITY: i64 = 3;

/// Of Machines that go first, and at once where the autoscaler has chosen them.
pub(super) const FIRST_PRIORITY: i64 = 1;

/// The smaller, the sooner it goes.
pub(super) fn priority(machine: &ChildFact) -> i64 {
    let number = machine.priority.as_deref().and_then(|text| text.trim().parse().ok());
    number.unwrap_or(DEFAULT_PRIORITY)
}

/// It is kept at the moment.
pub(super) fn is_preserved(machine: &ChildFact, now: Timestamp) -> bool {
    machine.preserved_until.is_some_and(|until| until > now)
}

/// Who is less goes sooner. No two Machines are equal.
pub(super) fn sooner(a: &ChildFact, b: &ChildFact, now: Timestamp) -> Ordering {
    let are_preserved = (is_preserved(a, now), is_preserved(b, now));
    let by_preservation = are_preserved.0.cmp(&are_preserved.1);
    let among_preserved = || match are_preserved {
        (true, true) => {
            // Whom somebody asked to keep is kept longest.
            is_auto(b).cmp(&is_auto(a)).then_with(|| a.preserved_until.cmp(&b.preserved_until))
        }
        (false, _) | (_, false) => Ordering::Equal,
    };
    by_preservation
        .then_with(among_preserved)
        .then_with(|| priority(a).cmp(&priority(b)))
        .then_with(|| Reverse(a.marked_at.is_some()).cmp(&Reverse(b.marked_at.is_some())))
        .then_with(|| a.marked_at.cmp(&b.marked_at))
        .then_with(|| rank(a.phase).cmp(&rank(b.phase)))
        .then_with(|| a.created.cmp(&b.created))
        .then_with(|| a.name.cmp(&b.name))
}

fn is_auto(machine: &ChildFact) -> bool {
    machine.preserve_wish.as_deref() == Some(AUTO_PRESERVED)
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
