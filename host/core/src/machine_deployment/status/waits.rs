//! The reason of a deployment to wait, as text.

use jiff::Timestamp;

use crate::machine_deployment::conclusion::DeploymentReason;
use crate::machine_deployment::disruptions::DisruptionPlan;
use crate::machine_deployment::facts::{DeploymentView, OwnedMachineFact};
use crate::machine_deployment::rollout::in_place;
use crate::machine_deployment::rollout::strategy::{Orchestration, RolloutBounds, Strategy};
use crate::machine_deployment::rollout::window::WaitingRollout;
use crate::machine_deployment::sets::freeze;
use crate::machine_deployment::sets::group::{SetGroup, Tally, count, is_available, sum};
use crate::machine_deployment::validity::ValidSpec;

/// How many names are reported.
const NAMES: usize = 3;

pub(crate) struct WaitReport {
    pub reason: DeploymentReason,
    pub message: String,
    /// The progress deadline applies to it.
    pub can_be_late: bool,
}

pub(crate) fn report(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    (valid, bounds): (ValidSpec, RolloutBounds),
    window: Option<&WaitingRollout>,
    now: Timestamp,
) -> WaitReport {
    let (reason, what) = match window {
        Some(held) if !view.deployment.spec.is_paused => (held.reason, held.why("the rollout")),
        Some(_) | None => what(view, group, valid, bounds, now),
    };
    let made = group.new.as_ref().map_or(0, |new| new.available);
    let head = format!("{made} of {} Machines are available and of the current template", bounds.desired);
    let can_be_late = !matches!(
        reason,
        DeploymentReason::Complete
            | DeploymentReason::Paused
            | DeploymentReason::WaitingForWindow
            | DeploymentReason::InvalidOption
            | DeploymentReason::WaitingForSelection
    );
    let message = if what.is_empty() { head } else { format!("{head}; {what}") };
    WaitReport { reason, message, can_be_late }
}

/// Adds the report about Machines that are replaced one by one. Its reason counts if nothing else is reported.
pub(crate) fn with_disruptions(
    mut reported: WaitReport,
    disruptions: &DisruptionPlan,
    is_all: bool,
) -> WaitReport {
    if disruptions.message.is_empty() {
        return reported;
    }
    reported.message = format!("{}; {}", reported.message, disruptions.message);
    let is_plain = matches!(
        reported.reason,
        DeploymentReason::Complete
            | DeploymentReason::WaitingForMachines
            | DeploymentReason::WaitingForDeletion
            | DeploymentReason::WaitingForSet
    );
    let reason =
        disruptions.reported.or(disruptions.holds_rollout.then_some(DeploymentReason::WaitingForBudget));
    if let Some(reason) = reason.filter(|_| is_plain && is_all) {
        reported.reason = reason;
        reported.can_be_late = false;
    }
    reported
}

fn what(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    valid: ValidSpec,
    bounds: RolloutBounds,
    now: Timestamp,
) -> (DeploymentReason, String) {
    if let Some(why) = freeze::why(view) {
        let message = format!("{why}; set the annotation {} on the deployment to go on", view.names.unfreeze);
        return (DeploymentReason::SetFrozen, message);
    }
    if view.deployment.spec.is_paused {
        let rest = if group.has_only_new() { "" } else { ": set spec.paused to false to go on" };
        return (DeploymentReason::Paused, format!("the rollout is paused{rest}"));
    }
    if let Some(set) = group.unobserved() {
        let message = format!("waits for MachineSet {} to take note of its change", set.set.name);
        return (DeploymentReason::WaitingForSet, message);
    }
    if let Some(new) = group.new.as_ref().filter(|_| group.has_only_new()) {
        return if new.available >= bounds.desired && new.occupied == bounds.desired {
            (DeploymentReason::Complete, String::new())
        } else {
            alone(new, bounds)
        };
    }
    if let Strategy::InPlaceUpdate(_, orchestration) = valid.strategy
        && let Some(reported) = updating(view, group, bounds, orchestration)
    {
        return reported;
    }
    rolling(group, bounds, now)
}

fn alone(new: &Tally<'_>, bounds: RolloutBounds) -> (DeploymentReason, String) {
    if new.available < bounds.desired {
        return (DeploymentReason::WaitingForMachines, unavailable(new));
    }
    let deleting = names(new, |machine| machine.is_terminating());
    (
        DeploymentReason::WaitingForDeletion,
        leaving(&deleting, new.live.saturating_sub(new.wanted.min(bounds.desired))),
    )
}

fn rolling(group: &SetGroup<'_>, bounds: RolloutBounds, now: Timestamp) -> (DeploymentReason, String) {
    let wanted = group.new.as_ref().map_or(0, |new| new.wanted);
    let deleting: Vec<&str> =
        group.all().flat_map(|tally| names(tally, |machine| machine.is_terminating())).collect();
    if wanted < bounds.desired && group.room(bounds) == 0 && group.wanted() < bounds.most() {
        let surplus = sum(group.all().map(|tally| tally.live.saturating_sub(tally.wanted)));
        return (DeploymentReason::WaitingForDeletion, leaving(&deleting, surplus));
    }
    let old = sum(group.old.iter().map(|old| old.wanted));
    let fewest = group.fewest(bounds, now);
    match &group.new {
        Some(new) if new.available < new.wanted => {
            let why = format!("{old} old ones stay until then, since {fewest} must be available");
            let why = if old == 0 { String::new() } else { format!("; {why}") };
            (DeploymentReason::WaitingForMachines, format!("{}{why}", unavailable(new)))
        }
        Some(_) | None if !deleting.is_empty() => {
            (DeploymentReason::WaitingForDeletion, leaving(&deleting, 0))
        }
        Some(_) | None => {
            let message = format!(
                "{} of all Machines are available, of which {fewest} must stay: goes on",
                group.available()
            );
            (DeploymentReason::WaitingForMachines, message)
        }
    }
}

/// Returns the text about Machines in deletion, and how many more will be deleted.
fn leaving(deleting: &[&str], surplus: u32) -> String {
    if deleting.is_empty() {
        format!("waits until {surplus} Machines are deleted that are too much")
    } else {
        format!("waits until Machines are gone: {}", listed(deleting))
    }
}

fn updating(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    bounds: RolloutBounds,
    orchestration: Orchestration,
) -> Option<(DeploymentReason, String)> {
    let undergoing: Vec<&str> =
        group.old.iter().flat_map(|old| names(old, in_place::is_undergoing)).collect();
    if !undergoing.is_empty() {
        let message = format!("waits for updates in place of {}", listed(&undergoing));
        return Some((DeploymentReason::UpdatingInPlace, message));
    }
    let candidates: Vec<&str> = group.old.iter().flat_map(|old| names(old, in_place::waits)).collect();
    let is_needed = group.new.as_ref().is_some_and(|new| new.wanted < bounds.desired);
    if orchestration == Orchestration::Auto || candidates.is_empty() || !is_needed {
        return None;
    }
    let message = format!(
        "waits for somebody to choose: label Nodes with {}=true, {} at a time, of Machines {}",
        view.names.selected_for_update,
        bounds.unavailable.max(1),
        listed(&candidates)
    );
    Some((DeploymentReason::WaitingForSelection, message))
}

fn unavailable(tally: &Tally<'_>) -> String {
    let machines = names(tally, |machine| !machine.is_terminating() && !is_available(machine));
    let missing = tally.wanted.saturating_sub(tally.available);
    let which = if machines.is_empty() {
        let absent = tally.wanted.saturating_sub(count(tally.set.machines.iter()));
        if absent > 0 { format!(", of which {absent} are not there yet") } else { String::new() }
    } else {
        format!(": {}", listed(&machines))
    };
    let failure = tally.set.status.failure.as_ref();
    let failure = failure.map_or(String::new(), |(_, message)| format!(" (the set says: {message})"));
    format!("waits for {missing} Machines of MachineSet {} to be available{which}{failure}", tally.set.name)
}

fn names<'a>(tally: &Tally<'a>, is_such: impl Fn(&OwnedMachineFact) -> bool) -> Vec<&'a str> {
    let set = tally.set;
    let mut names: Vec<&str> =
        set.machines.iter().filter(|machine| is_such(machine)).map(|machine| machine.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Returns the first names, and how many more there are.
pub(crate) fn listed(names: &[&str]) -> String {
    let reported: Vec<&str> = names.iter().take(NAMES).copied().collect();
    let more = names.len().saturating_sub(reported.len());
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{rest}", reported.join(", "))
}
