//! A Machine whose Node is not there.

use jiff::Timestamp;

use crate::id::ProviderId;
use crate::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{Conclusion, Note, Reason, StatusChange, Step, Wake};
use super::super::step::{operation, rest};
use super::super::view::{MachineFact, MachineView};
use super::timers::timed;

/// The Machine's Node is not there; `taken_by`: another VM's has its name, which is as good as none.
pub(super) fn without_node(view: &MachineView, taken_by: Option<&ProviderId>, now: Timestamp) -> Step {
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
