//! The life of a Machine whose VM is there: its Node joins, carries what it should, and is healthy or not.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::act_error::ActError;
use crate::gate::{EffectKind, permits};
use crate::health::{self, NodeConditionFact, Verdict};
use crate::id::ProviderId;
use crate::node_sync::{self, NodeChange, Wanted};
use crate::phase::{OperationState, OperationType, Phase};

use super::conclusion::{Conclusion, Note, Reason, StatusChange, Step, Wake, elapsed};
use super::effect::{Effect, Progress};
use super::step::{PREREQUISITE, operation, rest, retry_write, write_failed};
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
        TargetFact::None if machine.phase == Phase::Failed => {
            rest(Reason::Failed, "failed, and there is no cluster to recover in", Wake::Resync)
        }
        TargetFact::None => {
            rest(Reason::VmCreated, "the VM is created, and there is no cluster to join", Wake::Resync)
        }
        TargetFact::Cluster(NodePresence::Absent) => without_node(view, None, now),
        TargetFact::Cluster(NodePresence::Foreign(id)) => without_node(view, Some(id), now),
        TargetFact::Cluster(NodePresence::Present(node)) => with_node(view, node, progress, now),
    }
}

fn with_node(view: &MachineView, node: &NodeFact, progress: &Progress, now: Timestamp) -> Step {
    let is_writable = !node.is_deleting && permits(view.gate, EffectKind::NodeWrite);
    let refused = match (is_writable.then(|| difference(view, node)).flatten(), &progress.sync_node) {
        (Some(change), None) => {
            let sync = Effect::SyncNode { node: node.name.clone(), change };
            // The token is of no use once the Node has joined, so it goes together with the Node's first write.
            return Step::Act(if joins(view, node) { vec![sync, Effect::ForgetToken] } else { vec![sync] });
        }
        (Some(_), Some(Err(error))) => Some(error),
        (Some(_), Some(Ok(()))) | (None, _) => None,
    };
    let judged = match verdict(view, node) {
        Verdict::Healthy => healthy(view, node, progress, now),
        unhealthy @ Verdict::Unhealthy { .. } => without_health(view, node, &unhealthy.to_string(), now),
    };
    match refused {
        Some(error) => out_of_line(judged, error),
        None => judged,
    }
}

fn verdict(view: &MachineView, node: &NodeFact) -> Verdict {
    health::verdict(&node.conditions, &view.settings.must_be_false)
}

/// What the Node is to carry and does not.
fn difference(view: &MachineView, node: &NodeFact) -> Option<NodeChange> {
    let machine = &view.machine;
    let wanted = Wanted { template: &machine.template, own_labels: &machine.own_node_labels };
    Some(node_sync::merge(&node.meta, wanted, node.last_applied.as_ref())).filter(|change| !change.is_empty())
}

/// A Node that cannot be written is judged all the same, or a label that the API server refuses would keep its Machine from
/// ever joining and from ever failing. Only the writing is tried again sooner.
fn out_of_line(judged: Step, error: &ActError) -> Step {
    let Step::Finish(mut conclusion) = judged else { return judged };
    if conclusion.wake == Wake::Now {
        return Step::Finish(conclusion);
    }
    conclusion.wake = retry_write(error);
    let is_news = conclusion.status.phase.is_none() && !matches!(error, ActError::Conflict | ActError::Gone);
    if is_news {
        conclusion.reason = Reason::WriteFailed;
        conclusion.message = format!("{}; failed to bring the Node in line: {error}", conclusion.message);
    }
    Step::Finish(conclusion)
}

/// This pass is the one in which the Machine's Node joins.
fn joins(view: &MachineView, node: &NodeFact) -> bool {
    view.machine.phase != Phase::Running
        && joins_for_the_first_time(&view.machine)
        && verdict(view, node) == Verdict::Healthy
        && !is_held(&view.machine, node)
}

/// Pods that every Node needs are not there yet.
fn is_held(machine: &MachineFact, node: &NodeFact) -> bool {
    machine.phase == Phase::Pending && node.has_critical_taint
}

fn joins_for_the_first_time(machine: &MachineFact) -> bool {
    machine
        .operation
        .is_none_or(|last| last.kind == OperationType::Create && last.state != OperationState::Successful)
}

fn healthy(view: &MachineView, node: &NodeFact, progress: &Progress, now: Timestamp) -> Step {
    let machine = &view.machine;
    let mut status = copied_conditions(machine, node);
    // How an update in place ends is told by who makes it, not by the Node's health.
    if matches!(machine.phase, Phase::Running | Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed) {
        return Step::Finish(Conclusion {
            status,
            reason: Reason::NodeHealthy,
            message: "the Node is healthy".into(),
            wake: Wake::Resync,
        });
    }
    if is_held(machine, node) {
        let message = "the Node is healthy and still carries the taint critical-components-not-ready";
        return with_conditions(
            status.copies_conditions,
            timed(view, now, Reason::WaitingForNode, message.into()),
        );
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

fn without_health(view: &MachineView, node: &NodeFact, because: &str, now: Timestamp) -> Step {
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
        Phase::Pending | Phase::Available | Phase::New | Phase::CrashLoopBackOff => with_conditions(
            status.copies_conditions,
            timed(view, now, Reason::NodeNotReady, format!("the Node is not ready yet: {because}")),
        ),
        Phase::Unknown => {
            let message = format!("the Node is not healthy: {because}");
            with_conditions(
                status.copies_conditions,
                timed_because(view, now, Reason::NodeUnhealthy, message, because),
            )
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

/// The Machine's Node is not there; `taken_by`: another VM's has its name, which is as good as none.
fn without_node(view: &MachineView, taken_by: Option<&ProviderId>, now: Timestamp) -> Step {
    let machine = &view.machine;
    let name = node_name(machine);
    let taken = taken_by.map(|id| format!("Node {name} belongs to VM {id}: waiting until it is gone"));
    let reason = |otherwise| if taken_by.is_some() { Reason::NodeNameTaken } else { otherwise };
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
            let message = taken.unwrap_or_else(|| format!("Node {name} is gone"));
            Step::Finish(Conclusion { status, reason: reason(Reason::NodeMissing), message, wake: Wake::Now })
        }
        Phase::Failed => rest(Reason::Failed, "failed, and its Node is not there", Wake::Resync),
        Phase::Unknown => {
            let message = taken.unwrap_or_else(|| format!("Node {name} is gone"));
            timed(view, now, reason(Reason::NodeMissing), message)
        }
        Phase::New
        | Phase::CrashLoopBackOff
        | Phase::Pending
        | Phase::Available
        | Phase::Terminating
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => {
            let message =
                taken.unwrap_or_else(|| format!("the VM is created, Node {name} has not joined yet"));
            timed(view, now, reason(Reason::WaitingForNode), message)
        }
    }
}

fn node_name(machine: &MachineFact) -> &str {
    machine.node_name.as_ref().map_or("(no name yet)", crate::id::NodeName::as_str)
}

fn timed(view: &MachineView, now: Timestamp, reason: Reason, message: String) -> Step {
    let because = message.clone();
    timed_because(view, now, reason, message, &because)
}

/// The clocks of Pending and Unknown. Says until when it waits, and fails the Machine when the time is over. `because` is
/// what speaks against the Node, in words that stand alone.
fn timed_because(view: &MachineView, now: Timestamp, reason: Reason, message: String, because: &str) -> Step {
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
        let wake = Wake::Retry { policy: PREREQUISITE, hint: None };
        return rest(Reason::Frozen, format!("{message}; failing it is held"), wake);
    }
    time_over(machine, limit, &message, because)
}

fn time_over(machine: &MachineFact, limit: SignedDuration, message: &str, because: &str) -> Step {
    let (reason, kind, note) = if machine.phase == Phase::Pending {
        (Reason::JoinTimedOut, OperationType::Create, Note::JoinTimedOut { limit })
    } else {
        let note = Note::HealthTimedOut { limit, because: because.to_owned() };
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

fn with_conditions(copies_conditions: bool, step: Step) -> Step {
    match step {
        Step::Finish(mut conclusion) => {
            conclusion.status.copies_conditions = copies_conditions;
            Step::Finish(conclusion)
        }
        act @ Step::Act(_) => act,
    }
}
