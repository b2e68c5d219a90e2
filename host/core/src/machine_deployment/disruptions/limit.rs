//! Limits a rollout to the budget.

use jiff::Timestamp;

use super::ledger::Ledger;
use super::{DisruptionPlan, RolloutNumbers, is_in_use};
use crate::machine_deployment::facts::{DeploymentView, OwnedMachineFact};
use crate::machine_deployment::rollout::strategy::Strategy;
use crate::machine_deployment::sets::group::{SetGroup, Tally, count, in_deletion_order, size};

/// Reduces the numbers to those that the budget allows.
///
/// The order of removal decides which Machines are deleted. Machines without a Node cost nothing.
pub(super) fn limit<'a>(
    view: &DeploymentView,
    (group, strategy): (&SetGroup<'a>, Strategy),
    numbers: &mut RolloutNumbers<'a, '_>,
    ledger: &mut Ledger<'_>,
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) {
    if ledger.requests.budget.is_none() {
        return;
    }
    let mut is_short = false;
    if strategy == Strategy::Recreate {
        if let Err(waiting) = all_or_none(group, numbers, ledger, now) {
            disruptions.holds_rollout = true;
            ledger.report_room_for(view, &waiting, disruptions);
        }
    } else {
        for old in &group.old {
            let target = numbers.targets.get(old);
            let deleting = deleting(old, target, now);
            let allowed = deleting.iter().take_while(|machine| !is_in_use(machine) || ledger.take(machine));
            let refused = count(deleting.iter()).saturating_sub(count(allowed));
            is_short |= refused > 0;
            numbers.targets.set(old, target.saturating_add(refused));
        }
    }
    let old = || group.old.iter().flat_map(|tally| &tally.set.machines);
    numbers.selected.retain(|node| {
        let is_its =
            |machine: &&OwnedMachineFact| machine.node.as_ref().is_some_and(|own| own.name == node.name);
        let may_go = old().find(is_its).is_none_or(|machine| ledger.take(machine));
        is_short |= !may_go;
        may_go
    });
    if is_short {
        disruptions.holds_rollout = true;
        ledger.report_budget(view, "the rollout waits", None, disruptions);
    }
}

/// Returns the Machines that this target deletes and that would stay otherwise.
fn deleting<'a>(old: &Tally<'a>, target: u32, now: Timestamp) -> Vec<&'a OwnedMachineFact> {
    let in_order = in_deletion_order(&old.set.machines, now);
    let (gone, all) =
        (in_order.len().saturating_sub(size(old.wanted)), in_order.len().saturating_sub(size(target)));
    in_order.into_iter().take(all).skip(gone).collect()
}

/// Deletes all at once, as Recreate does, or none: returns those that wait.
fn all_or_none<'a>(
    group: &SetGroup<'a>,
    numbers: &mut RolloutNumbers<'_, '_>,
    ledger: &mut Ledger<'_>,
    now: Timestamp,
) -> Result<(), Vec<&'a OwnedMachineFact>> {
    let machines: Vec<&OwnedMachineFact> = group
        .old
        .iter()
        .flat_map(|old| deleting(old, numbers.targets.get(old), now))
        .filter(|machine| is_in_use(machine))
        .collect();
    if !ledger.has_room_for(&machines) {
        group.old.iter().for_each(|old| numbers.targets.set(old, old.wanted));
        return Err(machines);
    }
    let are_taken = machines.iter().all(|machine| ledger.take(machine));
    if are_taken { Ok(()) } else { Err(machines) }
}
