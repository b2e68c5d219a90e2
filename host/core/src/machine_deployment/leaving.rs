//! Which Machines a set deletes first when it is to have fewer.
//!
//! The set decides; its deployment has to know, or it could not say what a smaller set costs.

use jiff::Timestamp;

use crate::phase::Phase;

use super::view::MachineFact;

/// Machines of a set that its number is about, those first that it deletes first.
///
/// Left out are those that are being deleted, and those that were updated in place and that the set does not count yet.
pub(super) fn in_order(machines: &[MachineFact], now: Timestamp) -> Vec<&MachineFact> {
    let counted = |machine: &&MachineFact| !machine.is_deleting && !machine.is_labelled_updated;
    let mut machines: Vec<&MachineFact> = machines.iter().filter(counted).collect();
    machines.sort_by_cached_key(|machine| key(machine, now));
    machines
}

type Key = ((bool, bool, Option<Timestamp>), i64, (bool, Option<Timestamp>), u8, Timestamp, crate::id::Name);

fn key(machine: &MachineFact, now: Timestamp) -> Key {
    let preserved = machine.preserved.filter(|preserved| preserved.until > now);
    let keeping = match preserved {
        None => (false, false, None),
        Some(preserved) => (true, !preserved.is_automatic, Some(preserved.until)),
    };
    let mark = (machine.marked_at.is_none(), machine.marked_at);
    (keeping, machine.priority, mark, rank(machine.phase), machine.created, machine.name.clone())
}

fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::New
        | Phase::Terminating
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
