//! Points of a Machine's life that a reconcile has reached, for metrics and Events.

use jiff::{SignedDuration, Timestamp};
use machinist_api::names;
use machinist_core::driver::Creation;
use machinist_core::machine::node::health::ConditionStatus;
use machinist_core::machine::{MachineConclusion, MachineConditionKind, MachineOutcome, OperationNote};
use machinist_core::value::phase::Phase;

use crate::metrics::{Milestone, Pool, deployment_of};

use crate::controllers::facts::machine::observe::ObservedMachine;

/// By the outcome of an effect that took so long.
pub(super) fn of_outcome(
    observed: &ObservedMachine,
    outcome: &MachineOutcome,
    took: SignedDuration,
    now: Timestamp,
) -> Option<Milestone> {
    let machine = &observed.view.machine;
    if let MachineOutcome::CreateVm(Ok(Creation::Created(_))) = outcome {
        return Some(Milestone::Created(now.duration_since(machine.created)));
    }
    if let MachineOutcome::InitializeVm(Ok(_)) = outcome {
        return Some(Milestone::Initialized(took));
    }
    if let (MachineOutcome::ReleaseFinalizer(Ok(())), Some(since)) = (outcome, machine.deletion) {
        return Some(Milestone::Deleted(now.duration_since(since)));
    }
    None
}

/// Returns the milestones of a conclusion.
pub(super) fn of_conclusion(
    observed: &ObservedMachine,
    conclusion: &MachineConclusion,
    now: Timestamp,
) -> Vec<Milestone> {
    let mut reached = Vec::new();
    let note = conclusion.status.operation.as_ref().map(|operation| &operation.note);
    if let Some(OperationNote::Joined { took }) = note {
        reached.push(Milestone::Joined(*took));
    }
    if let Some(OperationNote::JoinTimedOut { .. } | OperationNote::NodeNameTaken) = note
        && conclusion.status.phase == Some(Phase::Failed)
        && observed.view.machine.phase != Phase::Failed
    {
        reached.push(Milestone::JoinTimedOut);
    }
    let is_drained = |kind, status| kind == MachineConditionKind::Drained && status == ConditionStatus::True;
    let conditions = &conclusion.status.conditions;
    if conditions.iter().any(|condition| is_drained(condition.kind, condition.status)) {
        reached.extend(drain_began(observed).map(|since| Milestone::Drained(now.duration_since(since))));
    }
    reached
}

/// Returns the beginning of a drain that has ended, unless an earlier reconcile has seen its end.
fn drain_began(observed: &ObservedMachine) -> Option<Timestamp> {
    let own = observed.machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let kind = MachineConditionKind::Drained.as_str();
    match own.and_then(|own| own.conditions.iter().find(|condition| condition.type_ == kind)) {
        Some(condition) if condition.status == "True" => None,
        Some(condition) => Some(condition.last_transition_time.0),
        None => observed.view.machine.deletion,
    }
}

/// The Machines that this one is compared with; `None` when it belongs to no MachineDeployment.
pub(super) fn pool(observed: &ObservedMachine) -> Option<Pool> {
    let deployment = deployment_of(&observed.view.machine.key, &observed.machine)?;
    let template = observed.class.as_ref().and_then(|class| class.node_template.as_ref());
    let instance_type = template.and_then(|template| template.instance_type.clone());
    let zone = observed.view.machine.template.labels.get(names::labels::ZONE).cloned();
    Some(Pool {
        namespace: deployment.namespace,
        machine_deployment: deployment.machine_deployment,
        instance_type: instance_type.unwrap_or_default(),
        zone: zone.unwrap_or_default(),
    })
}
