//! The life of a Machine whose VM is there: its Node joins, carries what it should, and is healthy or not.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::gate::{EffectKind, permits};
use crate::health::{self, NodeConditionFact, Verdict};
use crate::node_sync::{self, Wanted};
use crate::phase::{OperationState, OperationType, Phase};

use super::conclusion::{Conclusion, Note, Reason, StatusChange, Step, Wake, elapsed};
use super::effect::{Effect, Progress};
use super::step::{operation, rest, write_failed};
use super::view::{MachineFact, MachineView, NodeFact, NodePresence, TargetFact};

pub(super) fn step(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    let machine = &view.machine;
    if machine.phase == Phase::Failed && machine.provider_id.is_none() {
        return rest(
            Reason::Failed,
            "creation failed for good: delete the Machine to try anew",
            Wake::Resync,
        );
    }
    match &view.target {
        TargetFact::None => {
            rest(Reason::VmCreated, "the VM is created, and there is no cluster to join", Wake::Resync)
        }
        TargetFact::Cluster(NodePresence::Absent) => without_node(view, now),
        TargetFact::Cluster(NodePresence::Foreign(id)) => {
            let message = format!("Node {} belongs to VM {id}: waiting until it is gone", node_name(machine));
            timed(view, now, Reason::NodeNameTaken, message)
        }
        TargetFact::Cluster(NodePresence::Present(node)) => with_node(view, node, progress, now),
    }
}

fn with_node(view: &MachineView, node: &NodeFact, progress: &Progress, now: Timestamp) -> Step {
    if !node.is_deleting && permits(view.gate, EffectKind::NodeWrite) {
        let machine = &view.machine;
        let wanted = Wanted { template: &machine.template, own_labels: &machine.own_node_labels };
        let change = node_sync::merge(&node.meta, wanted, node.last_applied.as_ref());
        if !change.is_empty() {
            match &progress.sync_node {
                None => {
                    return act_with_token(view, node, Effect::SyncNode { node: node.name.clone(), change });
                }
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    return write_failed(Reason::WriteFailed, "bring the Node in line", error);
                }
            }
        }
    }
    match health::verdict(&node.conditions, &view.settings.must_be_false) {
        Verdict::Healthy => healthy(view, node, progress),
        verdict @ Verdict::Unhealthy { .. } => unhealthy(view, node, &verdict.to_string(), now),
    }
}

/// The token is of no use once the Node is healthy for the first time, so it goes together with the Node's first write.
fn act_with_token(view: &MachineView, node: &NodeFact, sync: Effect) -> Step {
    let is_joining = joins_for_the_first_time(&view.machine)
        && health::verdict(&node.conditions, &view.settings.must_be_false) == Verdict::Healthy;
    Step::Act(if is_joining { vec![sync, Effect::ForgetToken] } else { vec![sync] })
}

fn joins_for_the_first_time(machine: &MachineFact) -> bool {
    machine
        .operation
        .is_none_or(|last| last.kind == OperationType::Create && last.state != OperationState::Successful)
}

fn healthy(view: &MachineView, node: &NodeFact, progress: &Progress) -> Step {
    let machine = &view.machine;
    let mut status = copied_conditions(machine, node);
    if machine.phase == Phase::Running {
        return Step::Finish(Conclusion {
            status,
            reason: Reason::NodeHealthy,
            message: "the Node is healthy".into(),
            wake: Wake::Resync,
        });
    }
    if machine.phase == Phase::Pending && node.has_critical_taint {
        let message = "the Node is healthy and still carries the taint critical-components-not-ready";
        return Step::Finish(Conclusion {
            status,
            reason: Reason::WaitingForNode,
            message: message.into(),
            wake: Wake::Resync,
        });
    }
    let is_first = joins_for_the_first_time(machine);
    if is_first {
        match &progress.forget_token {
            None => return Step::act(Effect::ForgetToken),
            Some(Ok(())) => {}
            Some(Err(error)) => {
                return write_failed(Reason::BootstrapTokenFailed, "delete the bootstrap token", error);
            }
        }
    }
    status.phase = Some(Phase::Running);
    status.timeout_active = Some(false);
    status.operation = if is_first {
        let took = node_joined_after(machine, node);
        operation(OperationType::Create, OperationState::Successful, Note::Joined { took })
    } else {
        operation(OperationType::HealthCheck, OperationState::Successful, Note::Rejoined)
    };
    Step::Finish(Conclusion {
        status,
        reason: Reason::NodeHealthy,
        message: "the Node is healthy".into(),
        wake: Wake::Resync,
    })
}

/// By the time at which the Node became Ready, which is exact however late this pass is.
fn node_joined_after(machine: &MachineFact, node: &NodeFact) -> SignedDuration {
    node.ready_since.map_or(SignedDuration::ZERO, |ready| elapsed(machine.created, ready))
}

fn unhealthy(view: &MachineView, node: &NodeFact, because: &str, now: Timestamp) -> Step {
    let machine = &view.machine;
    let mut status = copied_conditions(machine, node);
    match machine.phase {
        Phase::Running => {
            status.phase = Some(Phase::Unknown);
            status.timeout_active = Some(true);
            let note = Note::Unhealthy { because: because.to_owned() };
            status.operation = operation(OperationType::HealthCheck, OperationState::Processing, note);
            let message = format!("the Node is not healthy: {because}");
            Step::Finish(Conclusion { status, reason: Reason::NodeUnhealthy, message, wake: Wake::Now })
        }
        Phase::Pending | Phase::Available | Phase::New | Phase::CrashLoopBackOff => with_status(
            status,
            timed(view, now, Reason::NodeNotReady, format!("the Node is not ready yet: {because}")),
        ),
        Phase::Unknown => {
            let message = format!("the Node is not healthy: {because}");
            with_status(status, timed(view, now, Reason::NodeUnhealthy, message))
        }
        Phase::Failed => Step::Finish(Conclusion {
            status,
            reason: Reason::Failed,
            message: format!("failed: {because}"),
            wake: Wake::Resync,
        }),
        Phase::Terminating
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => Step::Finish(Conclusion {
            status,
            reason: Reason::NodeUnhealthy,
            message: format!("the Node is not healthy: {because}"),
            wake: Wake::Resync,
        }),
    }
}

fn without_node(view: &MachineView, now: Timestamp) -> Step {
    let machine = &view.machine;
    match machine.phase {
        Phase::Running => {
            let status = StatusChange {
                phase: Some(Phase::Unknown),
                timeout_active: Some(true),
                operation: operation(
                    OperationType::HealthCheck,
                    OperationState::Processing,
                    Note::NodeMissing,
                ),
                ..StatusChange::default()
            };
            let message = format!("Node {} is gone", node_name(machine));
            Step::Finish(Conclusion { status, reason: Reason::NodeMissing, message, wake: Wake::Now })
        }
        Phase::Failed => rest(Reason::Failed, "failed, and its Node is not there", Wake::Resync),
        Phase::Unknown => {
            timed(view, now, Reason::NodeMissing, format!("Node {} is gone", node_name(machine)))
        }
        Phase::New
        | Phase::CrashLoopBackOff
        | Phase::Pending
        | Phase::Available
        | Phase::Terminating
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => {
            let message = format!("the VM is created, Node {} has not joined yet", node_name(machine));
            timed(view, now, Reason::WaitingForNode, message)
        }
    }
}

fn node_name(machine: &MachineFact) -> &str {
    machine.node_name.as_ref().map_or("(no name yet)", crate::id::NodeName::as_str)
}

/// The clocks of Pending and Unknown. Says until when it waits, and fails the Machine when the time is over.
fn timed(view: &MachineView, now: Timestamp, reason: Reason, message: String) -> Step {
    let machine = &view.machine;
    let (from, limit) = match machine.phase {
        Phase::Pending => (machine.created, Some(view.settings.creation_timeout)),
        Phase::Unknown => (machine.phase_since.unwrap_or(now), view.settings.health_timeout),
        Phase::New
        | Phase::CrashLoopBackOff
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Failed
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => (now, None),
    };
    let Some(limit) = limit else { return rest(reason, message, Wake::Resync) };
    let waited = elapsed(from, now);
    if waited <= limit {
        // One second more, so that the clock has passed the limit when the pass comes.
        return rest(reason, message, Wake::After(limit - waited + SignedDuration::from_secs(1)));
    }
    if !permits(view.gate, EffectKind::FailMachine) {
        return rest(Reason::Frozen, format!("{message}; failing it is held"), Wake::Resync);
    }
    time_over(machine, limit, &message)
}

fn time_over(machine: &MachineFact, limit: SignedDuration, message: &str) -> Step {
    let (reason, kind, note) = if machine.phase == Phase::Pending {
        (Reason::JoinTimedOut, OperationType::Create, Note::JoinTimedOut { limit })
    } else {
        let note = Note::HealthTimedOut { limit, because: message.to_owned() };
        (Reason::HealthTimedOut, OperationType::HealthCheck, note)
    };
    let status = StatusChange {
        phase: Some(Phase::Failed),
        timeout_active: Some(false),
        operation: operation(kind, OperationState::Failed, note),
        ..StatusChange::default()
    };
    Step::Finish(Conclusion {
        status,
        reason,
        message: format!("{message}, for longer than {}", crate::duration::format(limit)),
        wake: Wake::Resync,
    })
}

/// True when a type came or went or a status changed. Heartbeats and the order of the list do not count.
pub fn conditions_differ(one: &[NodeConditionFact], other: &[NodeConditionFact]) -> bool {
    let set = |conditions: &[NodeConditionFact]| conditions.iter().cloned().collect::<BTreeSet<_>>();
    set(one) != set(other)
}

fn copied_conditions(machine: &MachineFact, node: &NodeFact) -> StatusChange {
    let copies_conditions = conditions_differ(&machine.conditions, &node.conditions);
    StatusChange { copies_conditions, ..StatusChange::default() }
}

fn with_status(copied: StatusChange, step: Step) -> Step {
    match step {
        Step::Finish(mut conclusion) => {
            conclusion.status.copies_conditions = copied.copies_conditions;
            Step::Finish(conclusion)
        }
        act @ Step::Act(_) => act,
    }
}
