//! Machines that are too old.

use jiff::Timestamp;

use crate::disruption::maintenance::left;
use crate::disruption::node_age::{self, Aged};

use super::ledger::Ledger;
use super::{DisruptionPlan, is_marked, listed};
use crate::machine_deployment::facts::{DeploymentView, OwnedMachineFact};
use crate::machine_deployment::rollout::strategy::RolloutBounds;
use crate::machine_deployment::rollout::window;
use crate::machine_deployment::sets::group::{Tally, is_available, size};
use crate::value::id::Name;

fn aged(machine: &OwnedMachineFact) -> Aged {
    Aged { name: machine.name.clone(), uid: machine.uid.clone(), created: machine.created }
}

pub(super) fn is_expired(ledger: &Ledger<'_>, machine: &OwnedMachineFact, now: Timestamp) -> bool {
    !machine.is_preserved(now)
        && ledger.requests.max_age.is_some_and(|age| node_age::expires(&aged(machine), age) <= now)
}

/// Returns the Machines that are too old, and neither being replaced nor preserved, the first expired first. Sets when
/// the next one expires.
fn expired<'a>(
    new: &Tally<'a>,
    ledger: &Ledger<'_>,
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) -> Vec<&'a OwnedMachineFact> {
    let Some(age) = ledger.requests.max_age else { return Vec::new() };
    let machines: Vec<&OwnedMachineFact> = new
        .set
        .machines
        .iter()
        .filter(|machine| is_available(machine) && !ledger.is_replacing(machine))
        // Other Machines would be deleted instead.
        .filter(|machine| !machine.is_preserved(now) && !machine.is_unreadable)
        .collect();
    let all: Vec<Aged> = machines.iter().map(|machine| aged(machine)).collect();
    let expiry = node_age::expiry(&all, age, now);
    disruptions.requeue_after(expiry.next.map(|next| left(next, now)));
    let of = |name: &Name| machines.iter().copied().find(|machine| machine.name == *name);
    expiry.expired.iter().filter_map(of).collect()
}

/// Returns whether a replacement may begin: nothing else is under way, and neither window nor budget blocks it.
fn may_begin(
    view: &DeploymentView,
    expired: &[&OwnedMachineFact],
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) -> bool {
    if expired.is_empty() || view.deployment.spec.is_paused || disruptions.reported.is_some() {
        return false;
    }
    let Some(held) = window::held(view, now) else { return true };
    disruptions.requeue_after(held.left);
    let names = listed(expired.iter().map(|machine| &machine.name));
    disruptions.report(
        None,
        &format!("Machines have reached their age, and {}: {names}", held.why("their replacement")),
    );
    false
}

/// Returns whether the replacement is created first: one Machine more is allowed.
fn comes_first(bounds: RolloutBounds, ledger: &Ledger<'_>) -> bool {
    bounds.surge > 0 || ledger.requests.replace_first.is_some()
}

/// Begins to replace Machines that are too old, as many at a time as the bounds allow.
pub(super) fn begin(
    view: &DeploymentView,
    new: &Tally<'_>,
    (bounds, room): (RolloutBounds, u32),
    ledger: &mut Ledger<'_>,
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) {
    let expired = expired(new, ledger, disruptions, now);
    if !comes_first(bounds, ledger) || !may_begin(view, &expired, disruptions, now) {
        return;
    }
    // Missing Machines must be available before another one is removed.
    let on_the_way = ledger.replacing().len();
    let is_whole = new.available >= bounds.desired.min(new.wanted);
    let places = if is_whole { size(room).saturating_sub(on_the_way) } else { 0 };
    let mut waiting = expired.into_iter();
    for machine in waiting.by_ref().take(places) {
        if !ledger.replace(machine) {
            let what = format!("Machines have reached their age and wait: {}", machine.name);
            ledger.report_budget(view, &what, None, disruptions);
            return;
        }
    }
}

/// Deletes Machines that are too old first and replaces them then, where no surge is allowed: as many at a time as may
/// be unavailable. Returns how many fewer are wanted for it.
pub(super) fn take_at_once(
    view: &DeploymentView,
    new: &Tally<'_>,
    bounds: RolloutBounds,
    ledger: &mut Ledger<'_>,
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) -> u32 {
    if comes_first(bounds, ledger) || new.wanted != bounds.desired {
        return 0;
    }
    let expired = expired(new, ledger, disruptions, now);
    if !may_begin(view, &expired, disruptions, now) {
        return 0;
    }
    let fewest = bounds.desired.saturating_sub(bounds.unavailable.max(1));
    let spare = new.available.saturating_sub(fewest);
    let mut fewer = 0;
    for machine in expired.into_iter().take(size(spare)) {
        if ledger.was_taken(machine) && is_marked(machine) {
            fewer += 1;
        } else if ledger.take(machine) {
            disruptions.mark(machine, now);
        } else {
            let what = format!("Machines have reached their age and wait: {}", machine.name);
            ledger.report_budget(view, &what, None, disruptions);
            break;
        }
    }
    fewer
}
