//! The end of a deployment: its sets go first, whatever its spec says.

use crate::machine::Wake;

use super::conclusion::Reason;
use super::effect::{DeploymentChange, Effect};
use super::facts::{DeploymentView, Owner, SetFact};
use super::plan::{self, Plan};
use super::sets::group::count;

pub(super) fn plan(view: &DeploymentView) -> Plan {
    let owned: Vec<&SetFact> = view.sets.iter().filter(|set| set.owner == Owner::This).collect();
    if owned.is_empty() && !view.unreadable_sets.is_empty() {
        return Plan::waiting(Reason::Deleting, plan::unreadable(view));
    }
    if owned.is_empty() {
        let mut plan = Plan::waiting(Reason::Deleted, "all its sets are gone");
        plan.wake = Wake::Gone;
        if !view.deployment.has_finalizer {
            return plan;
        }
        let change = DeploymentChange { finalizer: Some(false), ..DeploymentChange::default() };
        return plan.then(vec![Effect::WriteDeployment(change)], true);
    }
    if view.deployment.leaves_sets {
        let message = format!(
            "waits until the garbage collector has let go of {} of its sets, which stay (it is deleted with orphans)",
            owned.len()
        );
        return Plan::waiting(Reason::Deleting, message);
    }
    let machines = count(owned.iter().flat_map(|set| &set.machines));
    let message = format!(
        "waits until {} of its sets with {machines} Machines are gone; what is applied to it meanwhile goes with it: apply it \
         again once it is gone",
        owned.len()
    );
    let going = owned.into_iter().filter(|set| !set.is_deleting);
    Plan::waiting(Reason::Deleting, message)
        .then(going.map(|set| Effect::DeleteSet(set.into())).collect(), false)
}
