//! Adapts the numbers of sets to Machines that have changed their set.
//!
//! The old set may not create them again: its label blocks creation until it wants fewer. The new set does not count
//! them: their label prevents that until it wants more. This comes first in every rollout.

use super::targets::Targets;
use crate::machine_deployment::effect::MachineChange;
use crate::machine_deployment::facts::OwnedMachineFact;
use crate::machine_deployment::sets::group::{SetGroup, count};

/// How many Machines lose the label in one reconcile.
const MACHINES_PER_PASS: usize = 100;

/// Adapts the numbers, and then removes the labels from Machines.
pub(crate) fn adapt<'a>(
    group: &SetGroup<'a>,
    targets: &mut Targets,
) -> Vec<(&'a OwnedMachineFact, MachineChange)> {
    let mut counted = Vec::new();
    for tally in group.staying() {
        if tally.set.is_scale_up_disabled && tally.has_observed() {
            let has = tally.live.max(tally.set.status.replicas.saturating_sub(tally.deleting));
            targets.set(tally, tally.wanted.min(has));
        }
        let machines = tally.set.machines.iter();
        let labelled: Vec<&OwnedMachineFact> = machines
            .filter(|machine| {
                machine.is_updated_in_place && !machine.is_terminating() && !machine.is_unreadable
            })
            .collect();
        let excess = tally.live.saturating_sub(tally.wanted);
        match excess.min(count(labelled.iter())) {
            0 => counted.extend(labelled.into_iter().map(|machine| (machine, MachineChange::Unlabel))),
            more => targets.raise(tally, more),
        }
    }
    counted.truncate(MACHINES_PER_PASS);
    counted
}
