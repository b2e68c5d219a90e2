//! The order in which a set deletes Machines when it is scaled down.

use jiff::Timestamp;

use crate::machine_deployment::facts::OwnedMachineFact;

/// Returns the Machines that a set's number counts, in the order of deletion.
///
/// Without Machines in deletion, those updated in place that the set does not count yet, and those that cannot be
/// decoded, which the set counts but does not delete.
pub(crate) fn in_order(machines: &[OwnedMachineFact], now: Timestamp) -> Vec<&OwnedMachineFact> {
    let counted = |machine: &&OwnedMachineFact| {
        !machine.is_terminating() && !machine.is_updated_in_place && !machine.is_unreadable
    };
    let mut machines: Vec<&OwnedMachineFact> = machines.iter().filter(counted).collect();
    machines.sort_by_cached_key(|machine| machine.deletion_rank(now));
    machines
}
