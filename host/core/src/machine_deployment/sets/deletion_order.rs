//! The order in which a set deletes Machines when it is scaled down.

use jiff::Timestamp;

use crate::machine_set::removal::ranking::RemovalCandidate;

use crate::machine_deployment::facts::OwnedMachineFact;

/// Returns the Machines that a set's number counts, in the order of deletion.
///
/// Without Machines in deletion, those updated in place that the set does not count yet, and those that cannot be
/// decoded, which the set counts but does not delete.
pub(crate) fn in_order(machines: &[OwnedMachineFact], now: Timestamp) -> Vec<&OwnedMachineFact> {
    let counted = |machine: &&OwnedMachineFact| {
        !machine.is_deleting && !machine.is_labelled_updated && !machine.is_unreadable
    };
    let mut machines: Vec<&OwnedMachineFact> = machines.iter().filter(counted).collect();
    machines.sort_by_cached_key(|machine| candidate(machine, now).place());
    machines
}

fn candidate(machine: &OwnedMachineFact, now: Timestamp) -> RemovalCandidate<'_> {
    let preserved = machine.preserved.filter(|preserved| preserved.until > now);
    RemovalCandidate {
        kept: preserved.map(|preserved| (preserved.until, preserved.is_automatic)),
        priority: machine.priority,
        marked_at: machine.marked_at,
        phase: machine.phase,
        created: machine.created,
        name: &machine.name,
    }
}
