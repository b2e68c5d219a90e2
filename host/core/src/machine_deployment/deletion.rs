//! Deletes a deployment: its sets first, whatever its spec.

use crate::machine::Requeue;

use super::conclusion::DeploymentReason;
use super::effect::{DeploymentChange, DeploymentEffect};
use super::facts::{DeploymentView, OwnedSetFact, SetOwner};
use super::plan::{self, Plan};
use super::sets::group::count;

pub(super) fn plan(view: &DeploymentView) -> Plan {
    let owned: Vec<&OwnedSetFact> = view.sets.iter().filter(|set| set.owner == SetOwner::This).collect();
    if owned.is_empty() && !view.unreadable_sets.is_empty() {
        return Plan::waiting(DeploymentReason::Deleting, plan::unreadable(view));
    }
    if owned.is_empty() {
        let mut plan = Plan::waiting(DeploymentReason::Deleted, "all its sets are gone");
        plan.wake = Requeue::Gone;
        if !view.deployment.has_finalizer {
            return plan;
        }
        let change = DeploymentChange { finalizer: Some(false), ..DeploymentChange::default() };
        return plan.then(vec![DeploymentEffect::WriteDeployment(change)], true);
    }
    if view.deployment.leaves_sets {
        let message = format!(
            "waits until the garbage collector has let go of {} of its sets, which stay (it is deleted with orphans)",
            owned.len()
        );
        return Plan::waiting(DeploymentReason::Deleting, message);
    }
    let machines = count(owned.iter().flat_map(|set| &set.machines));
    let message = format!(
        "waits until {} of its sets with {machines} Machines are gone; what is applied to it meanwhile goes with it: apply it \
         again once it is gone",
        owned.len()
    );
    let going = owned.into_iter().filter(|set| !set.is_deleting);
    Plan::waiting(DeploymentReason::Deleting, message)
        .then(going.map(|set| DeploymentEffect::DeleteSet(set.into())).collect(), false)
}
