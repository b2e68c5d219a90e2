//! A Machine whose Node is missing, has no known name, or is not known to be its own.

use jiff::{SignedDuration, Timestamp};

use crate::driver::error::CallError;
use crate::scheduling::gate::{EffectKind, permits};
use crate::value::id::{NodeName, ObjectKey, ProviderId};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{MachineReason, MachineStep, OperationNote, Requeue, StatusChange, elapsed};
use super::super::effect::{MachineEffect, MachineProgress};
use super::super::step::{conclude, operation, rest};
use super::permit::{self, HealthAction, Obstacle};
use super::timers::{self, NodeWait, thawed, timed};
use crate::machine::creation::create::{FoundVm, found_in};
use crate::machine::facts::{DriverFact, MachineFact, MachineView};
use crate::machine::ownership::conflict::NodeNameHolder;

/// The reason why there is none.
#[derive(Clone, Copy)]
pub(super) enum Absence<'a> {
    /// There is no such Node.
    Gone,
    /// A Node with that name belongs to another VM, which counts as none.
    Foreign(&'a ProviderId),
    /// Other Machines name it as well.
    Contested(&'a [ObjectKey]),
}

impl Absence<'_> {
    fn reason(self, otherwise: MachineReason) -> MachineReason {
        match self {
            Self::Gone => otherwise,
            Self::Foreign(_) => MachineReason::NodeNameTaken,
            Self::Contested(_) => MachineReason::NodeContested,
        }
    }

    fn message(self, name: &str, is_anothers: bool, otherwise: String) -> String {
        match self {
            Self::Gone => otherwise,
            Self::Foreign(id) => format!("Node {name} belongs to VM {id}: waiting until it is gone"),
            Self::Contested(others) if is_anothers => {
                format!(
                    "Node {name} is claimed by {} as well, and its label names another Machine: waiting until it is gone",
                    names(others)
                )
            }
            Self::Contested(others) => {
                let others = names(others);
                format!(
                    "Node {name} is claimed by {others} as well, and neither provider id nor label tell whose it is: \
                     delete the Machine that should not be there"
                )
            }
        }
    }
}

pub(super) fn step(
    view: &MachineView,
    progress: &MachineProgress,
    absence: Absence<'_>,
    now: Timestamp,
) -> MachineStep {
    let machine = &view.machine;
    let name = node_name(machine);
    let is_anothers = view.conflict.name_holder.is_some();
    let gone = || absence.message(name, is_anothers, format!("Node {name} is gone"));
    if let Some(step) = thawed(view).or_else(|| taken(view, progress, absence, now)) {
        return step;
    }
    match (machine.phase, absence) {
        // It may be this Machine's and healthy, so that nothing follows.
        (
            Phase::Running
            | Phase::Unknown
            | Phase::InPlaceUpdating
            | Phase::InPlaceUpdateSuccessful
            | Phase::InPlaceUpdateFailed,
            Absence::Contested(_),
        ) => rest(MachineReason::NodeContested, gone(), Requeue::Resync),
        (Phase::Running | Phase::InPlaceUpdateSuccessful, Absence::Gone | Absence::Foreign(_)) => {
            let status = StatusChange {
                phase: Some(Phase::Unknown),
                timeout_active: Some(true),
                operation: operation(
                    OperationType::HealthCheck,
                    OperationState::Processing,
                    OperationNote::NodeMissing,
                ),
                ..StatusChange::default()
            };
            let reason = absence.reason(MachineReason::NodeMissing);
            conclude(status, reason, gone(), Requeue::Now)
        }
        (Phase::Failed, _) => {
            rest(MachineReason::Failed, "failed, and its Node is not there", Requeue::Resync)
        }
        (Phase::Unknown | Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed, _) => {
            let wait = NodeWait {
                reason: absence.reason(MachineReason::NodeMissing),
                what: gone(),
                because: &gone(),
            };
            timed(view, progress, &wait, now)
        }
        (
            Phase::New | Phase::CrashLoopBackOff | Phase::Pending | Phase::Available | Phase::Terminating,
            _,
        ) => {
            let otherwise = format!("the VM is created, Node {name} has not joined yet");
            let message = absence.message(name, is_anothers, otherwise);
            let wait = NodeWait {
                reason: absence.reason(MachineReason::WaitingForNode),
                what: message.clone(),
                because: &message,
            };
            timed(view, progress, &wait, now)
        }
    }
}

/// The Node of another VM has the name of this one's, and stays: the VM cannot join, and its replacement will have
/// another name. The Machine waits for an obstacle only as long as it has time to join.
fn taken(
    view: &MachineView,
    progress: &MachineProgress,
    absence: Absence<'_>,
    now: Timestamp,
) -> Option<MachineStep> {
    let machine = &view.machine;
    let stays =
        view.conflict.name_holder == Some(NodeNameHolder::Staying) && !matches!(absence, Absence::Gone);
    if machine.phase != Phase::Pending || !stays || !permits(view.gate, EffectKind::FailMachine) {
        return None;
    }
    let end = timers::clock(view, now)?.end();
    if end < now {
        return None;
    }
    let name = node_name(machine);
    let whose = match absence {
        Absence::Gone => return None,
        Absence::Foreign(id) => format!("VM {id}"),
        Absence::Contested(others) => {
            format!("Machine {}", names(others))
        }
    };
    let message = format!("Node {name} is that of {whose}, so that the VM cannot join under that name");
    match permit::obtained(view, progress, HealthAction::GiveWay, &message) {
        Ok(()) => {}
        Err(obstacle) => match *obstacle {
            Obstacle::Ask(effect) => return Some(MachineStep::act(effect)),
            Obstacle::Blocked { message, after, .. } => {
                let left = elapsed(now, end) + SignedDuration::from_secs(1);
                return Some(rest(MachineReason::NodeNameTaken, message, Requeue::After(after.min(left))));
            }
            Obstacle::Unknown(..) => return None,
        },
    }
    let status = StatusChange {
        phase: Some(Phase::Failed),
        timeout_active: Some(false),
        operation: operation(OperationType::Create, OperationState::Failed, OperationNote::NodeNameTaken),
        ..StatusChange::default()
    };
    Some(conclude(status, MachineReason::NodeNameTaken, message, Requeue::Resync))
}

fn names(others: &[ObjectKey]) -> String {
    let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    names.join(", ")
}

fn node_name(machine: &MachineFact) -> &str {
    machine.node_name.as_ref().map_or("(no name yet)", NodeName::as_str)
}

/// Asks the driver, which names the Node of each VM, for a Machine without the label for its Node, whose Node no other
/// label and no provider id shows. `None`: the name is known, or the driver did not answer.
pub(super) fn name_by_driver(view: &MachineView, progress: &MachineProgress) -> Option<MachineStep> {
    let machine = &view.machine;
    let stored = machine.provider_id.as_ref()?;
    if machine.node_name.is_some() || machine.phase == Phase::Failed || !can_query(view) {
        return None;
    }
    let found = match &progress.probe {
        None => return Some(MachineStep::act(MachineEffect::ProbeVm)),
        Some(Ok(vm)) => FoundVm::of(vm),
        Some(Err(error @ CallError::Guest(_))) => found_in(error)?,
        Some(Err(CallError::Broken(_) | CallError::Refused(_))) => return None,
    };
    let node_name = Some(found.node_name.filter(|_| found.provider_id.names_same_vm(stored))?);
    Some(match &progress.record {
        None => MachineStep::act(MachineEffect::RecordVm {
            provider_id: stored.clone(),
            node_name,
            is_proven: true,
        }),
        Some(Ok(())) => {
            rest(MachineReason::NodeMissing, "label node is stored again, by the driver's word", Requeue::Now)
        }
        // Other missing facts do not stop the health check: the next reconcile tries again.
        Some(Err(_)) => return None,
    })
}

fn can_query(view: &MachineView) -> bool {
    let driver = match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => driver,
        DriverFact::NotChosen | DriverFact::Refused(_) => return false,
    };
    driver.capabilities.status && permits(view.gate, EffectKind::CloudRead)
}
