//! Machines whose replacement comes first.

use jiff::Timestamp;

use crate::disruption::maintenance::left;

use super::super::conclusion::DeploymentReason;
use super::ledger::Ledger;
use super::{DisruptionPlan, aged, failed, is_in_use, is_marked, listed, most_beyond, staying};
use crate::machine_deployment::facts::{DeploymentView, OwnedMachineFact};
use crate::machine_deployment::rollout::strategy::RolloutBounds;
use crate::machine_deployment::sets::group::{Tally, size};

/// Returns the number for the set. `base` is the number without replacements.
///
/// Assumes that there is no other set.
pub(super) fn step(
    view: &DeploymentView,
    new: &Tally<'_>,
    (bounds, base): (RolloutBounds, u32),
    ledger: &mut Ledger<'_>,
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) -> u32 {
    let base = base.min(bounds.desired);
    // It is deleted as soon as its set wants one Machine less.
    let taken = ledger.taken_before();
    let is_leaving =
        |machine: &OwnedMachineFact| taken.contains(&machine.name) && is_marked(machine) && new.live > base;
    drop_those_who_recovered(ledger, now);
    give_up_waiting(ledger, disruptions, now);
    let before = new.wanted.saturating_sub(bounds.desired).min(most_beyond(bounds));
    if !new.has_observed() {
        // The set has not observed its number: it stays.
        let awaited = ledger.replacing().iter().filter(|(machine, _)| !is_leaving(machine)).count();
        let extra = u32::try_from(awaited).unwrap_or(u32::MAX).min(before);
        return if base < bounds.desired { base } else { base.saturating_add(extra) };
    }
    // The set still moves to the number that its owner wants.
    if base < bounds.desired {
        return base;
    }
    let beyond = most_beyond(bounds);
    let condemned = {
        let replacing = ledger.replacing();
        let condemned = replacing.iter().filter(|(machine, _)| is_leaving(machine)).count();
        u32::try_from(condemned).unwrap_or(u32::MAX)
    };
    let room = beyond.saturating_sub(new.deleting).saturating_sub(condemned);
    aged::begin(view, new, (bounds, room), ledger, disruptions, now);
    let awaited: Vec<&OwnedMachineFact> = ledger
        .replacing()
        .into_iter()
        .map(|(machine, _)| machine)
        .filter(|machine| !is_leaving(machine))
        .collect();
    let extra = u32::try_from(awaited.len()).unwrap_or(u32::MAX);
    let ready = staying(new, ledger).saturating_add(extra).saturating_sub(bounds.desired);
    for machine in awaited.iter().take(size(ready)) {
        if ledger.take_replaced(machine) {
            disruptions.mark(machine, now);
        }
    }
    if extra > 0 {
        let names = listed(awaited.iter().map(|machine| &machine.name));
        let message =
            format!("Machines are being replaced, which go when their replacements are there: {names}");
        disruptions.report(Some(DeploymentReason::Replacing), &message);
    }
    // An additional Machine stays until it is not needed: Machines that are deleted for other reasons do not use it.
    let fewer = aged::take_at_once(view, new, bounds, ledger, disruptions, now);
    base.saturating_add(extra.min(room.max(before))).saturating_sub(fewer)
}

fn drop_those_who_recovered(ledger: &mut Ledger<'_>, now: Timestamp) {
    for (machine, _) in ledger.replacing() {
        let has_failed = ledger.requests.replace_first.is_some() && failed::is_given_up(machine, now);
        let is_due = (has_failed && is_in_use(machine)) || aged::is_expired(ledger, machine, now);
        if !is_due {
            ledger.ends_replacing_of(machine);
        }
    }
}

/// Deletes a failed Machine whose replacement does not come. One that is only old stays.
fn give_up_waiting(ledger: &mut Ledger<'_>, disruptions: &mut DisruptionPlan, now: Timestamp) {
    let Some(timeout) = ledger.requests.replace_first else { return };
    for (machine, since) in ledger.replacing() {
        if !failed::is_given_up(machine, now) {
            continue;
        }
        let end = since.checked_add(timeout).unwrap_or(Timestamp::MAX);
        if end <= now {
            if ledger.take_replaced(machine) {
                ledger.ends_replacing_of(machine);
            }
        } else {
            disruptions.requeue_after(Some(left(end, now)));
        }
    }
}
