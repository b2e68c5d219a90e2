//! Numbers of sets that follow Machines which have changed their set.
//!
//! The set that they have left may not make them again: its label keeps it from that until it wants fewer. The set that they have
//! come to does not count them: their label keeps it from that until it wants more. Whatever has become of the rollout meanwhile,
//! this comes first.

use super::targets::Targets;
use crate::machine_deployment::effect::MachineChange;
use crate::machine_deployment::facts::OwnedMachineFact;
use crate::machine_deployment::sets::group::{SetGroup, count};

/// How many Machines lose the label in one pass.
const MACHINES_PER_PASS: usize = 100;

/// Brings the numbers in line, and then takes the labels off Machines.
pub(crate) fn settle<'a>(
    group: &SetGroup<'a>,
    targets: &mut Targets,
) -> Vec<(&'a OwnedMachineFact, MachineChange)> {
    let mut counted = Vec::new();
    for tally in group.staying() {
        if tally.set.is_scale_up_disabled && tally.is_settled() {
            let has = tally.live.max(tally.set.status.replicas.saturating_sub(tally.going));
            targets.set(tally, tally.wanted.min(has));
        }
        let machines = tally.set.machines.iter();
        let labelled: Vec<&OwnedMachineFact> = machines
            .filter(|machine| machine.is_labelled_updated && !machine.is_deleting && !machine.is_unreadable)
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
