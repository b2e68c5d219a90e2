//! Failed Machines that are not to be preserved: their sets replace them when the deployment permits it.

use jiff::Timestamp;

use crate::disruption::maintenance::{Opening, left};

use super::super::conclusion::DeploymentReason;
use super::ledger::Ledger;
use super::{DisruptionPlan, is_in_use, listed};
use crate::machine_deployment::facts::{DeploymentView, OwnedMachineFact, WindowsFact};
use crate::machine_deployment::rollout::strategy::RolloutBounds;
use crate::machine_deployment::sets::group::SetGroup;

/// Returns whether it has failed and is not, or no longer, to be preserved.
pub(super) fn is_given_up(machine: &OwnedMachineFact, now: Timestamp) -> bool {
    let own = machine.preserve_request.as_deref();
    machine.is_given_up(own, now) && !machine.is_terminating() && !machine.is_unreadable
}

/// Permits their deletion, or begins to replace them, as far as windows and budget allow.
pub(super) fn permit_deletions(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    bounds: RolloutBounds,
    ledger: &mut Ledger<'_>,
    disruptions: &mut DisruptionPlan,
    now: Timestamp,
) {
    if !ledger.requests.needs_permits() {
        return;
    }
    let machines = group.staying().flat_map(|tally| &tally.set.machines);
    let mut failed: Vec<&OwnedMachineFact> =
        machines.filter(|machine| is_given_up(machine, now) && is_in_use(machine)).collect();
    failed.retain(|machine| !ledger.is_replacing(machine) && !ledger.is_noted(machine));
    failed.sort_by_key(|machine| (machine.created, machine.name.clone()));
    if failed.is_empty() {
        return;
    }
    let names = |machines: &[&OwnedMachineFact]| listed(machines.iter().map(|machine| &machine.name));
    if ledger.requests.remediates_in_windows
        && let WindowsFact::Given(windows) = &view.deployment.spec.windows
        && let Opening::Closed { until } = windows.opening(now)
    {
        let message = format!(
            "failed Machines wait for the maintenance window, which opens at {until}: {}",
            names(&failed)
        );
        disruptions.report(Some(DeploymentReason::WaitingForWindow), &message);
        disruptions.requeue_after(Some(left(until, now)));
        return;
    }
    let comes_first = ledger.requests.replace_first.is_some() && group.has_only_new() && bounds.desired > 0;
    let is_refused = |machine: &&OwnedMachineFact| {
        let is_deletion_permitted = if comes_first { ledger.replace(machine) } else { ledger.take(machine) };
        !is_deletion_permitted
    };
    let refused: Vec<&OwnedMachineFact> = failed.into_iter().filter(is_refused).collect();
    if !refused.is_empty() {
        let what = format!("failed Machines wait: {}", names(&refused));
        ledger.report_budget(view, &what, Some(DeploymentReason::WaitingForBudget), disruptions);
    }
}
