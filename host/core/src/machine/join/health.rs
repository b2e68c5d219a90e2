//! Decides the phase from the health of the Node.

use jiff::{SignedDuration, Timestamp};

use crate::health_policy::{Health, Judgement};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{MachineReason, MachineStep, OperationNote, Requeue, elapsed};
use super::super::effect::MachineProgress;
use super::super::step::{conclude, operation};
use super::timers::{NodeWait, thawed, timed};
use super::{copied_conditions, with_conditions};
use crate::machine::facts::{MachineFact, MachineView, NodeFact};

/// Returns the step that follows from the health of the Node.
pub(super) fn step(
    view: &MachineView,
    node: &NodeFact,
    judgement: &Judgement,
    progress: &MachineProgress,
    now: Timestamp,
) -> MachineStep {
    match &judgement.health {
        Health::Healthy => healthy(view, node, progress, now),
        Health::Unhealthy { because, action: _ } => without_health(view, node, because, progress, now),
        Health::Undecided { because } => undecided(view, node, because),
    }
}

/// Returns whether the Machine's Node joins in this reconcile.
pub(super) fn joins(view: &MachineView, node: &NodeFact, judgement: &Judgement) -> bool {
    view.machine.phase != Phase::Running
        && joins_for_the_first_time(&view.machine)
        && judgement.health == Health::Healthy
        && !is_held(&view.machine, node)
}

/// Returns whether pods that every Node needs are still missing.
fn is_held(machine: &MachineFact, node: &NodeFact) -> bool {
    machine.phase == Phase::Pending && node.has_critical_taint
}

fn joins_for_the_first_time(machine: &MachineFact) -> bool {
    machine
        .operation
        .is_none_or(|last| last.kind == OperationType::Create && last.state != OperationState::Successful)
}

/// The Machine stays as it is, and no timeout ends.
fn undecided(view: &MachineView, node: &NodeFact, because: &str) -> MachineStep {
    conclude(
        copied_conditions(&view.machine, node),
        MachineReason::NodeUnhealthy,
        format!("it is not decided whether the Node is healthy: {because}"),
        Requeue::Resync,
    )
}

fn healthy(view: &MachineView, node: &NodeFact, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let machine = &view.machine;
    let mut status = copied_conditions(machine, node);
    if machine.phase == Phase::Running {
        return conclude(status, MachineReason::NodeHealthy, "the Node is healthy", Requeue::Resync);
    }
    if is_held(machine, node) {
        let because = "the Node is healthy and still carries the taint critical-components-not-ready";
        let wait = NodeWait { reason: MachineReason::WaitingForNode, what: because.to_owned(), because };
        return with_conditions(status.copies_conditions, timed(view, progress, &wait, now));
    }
    let is_first = joins_for_the_first_time(machine);
    status.phase = Some(Phase::Running);
    status.timeout_active = Some(false);
    status.operation = if is_first {
        let took = node_joined_after(machine, node);
        operation(OperationType::Create, OperationState::Successful, OperationNote::Joined { took })
    } else {
        operation(OperationType::HealthCheck, OperationState::Successful, OperationNote::Rejoined)
    };
    conclude(status, MachineReason::NodeHealthy, "the Node is healthy", Requeue::Resync)
}

/// Returns the time until the Node became Ready, which is exact however late this reconcile is.
fn node_joined_after(machine: &MachineFact, node: &NodeFact) -> SignedDuration {
    node.ready_since.map_or(SignedDuration::ZERO, |ready| elapsed(machine.created, ready))
}

fn without_health(
    view: &MachineView,
    node: &NodeFact,
    because: &str,
    progress: &MachineProgress,
    now: Timestamp,
) -> MachineStep {
    let machine = &view.machine;
    let mut status = copied_conditions(machine, node);
    let copies_conditions = status.copies_conditions;
    if let Some(step) = thawed(view) {
        return with_conditions(copies_conditions, step);
    }
    let message = format!("the Node is not healthy: {because}");
    match machine.phase {
        Phase::Running | Phase::InPlaceUpdateSuccessful => {
            status.phase = Some(Phase::Unknown);
            status.timeout_active = Some(true);
            let note = OperationNote::Unhealthy { because: because.to_owned() };
            status.operation = operation(OperationType::HealthCheck, OperationState::Processing, note);
            conclude(status, MachineReason::NodeUnhealthy, message, Requeue::Now)
        }
        Phase::Pending | Phase::Available | Phase::New | Phase::CrashLoopBackOff => {
            let message = format!("the Node is not ready yet: {because}");
            let wait =
                NodeWait { reason: MachineReason::NodeNotReady, what: message.clone(), because: &message };
            with_conditions(copies_conditions, timed(view, progress, &wait, now))
        }
        Phase::Unknown | Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed => {
            let wait = NodeWait { reason: MachineReason::NodeUnhealthy, what: message, because };
            with_conditions(copies_conditions, timed(view, progress, &wait, now))
        }
        Phase::Failed => {
            conclude(status, MachineReason::Failed, format!("failed: {because}"), Requeue::Resync)
        }
        Phase::Terminating => conclude(status, MachineReason::NodeUnhealthy, message, Requeue::Resync),
    }
}
