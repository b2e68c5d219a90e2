//! A Machine whose Node is not there, or is not known to be its own.

use jiff::Timestamp;

use crate::id::{NodeName, ObjectKey, ProviderId};
use crate::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{Conclusion, Note, Reason, StatusChange, Step, Wake};
use super::super::effect::Progress;
use super::super::step::{operation, rest};
use super::super::view::{MachineFact, MachineView};
use super::timers::{Wait, thawed, timed};

/// Why there is none.
#[derive(Clone, Copy)]
pub(super) enum Absence<'a> {
    /// There is no such Node.
    Gone,
    /// One with that name belongs to another VM, which is as good as none.
    Foreign(&'a ProviderId),
    /// Others claim it as well.
    Contested(&'a [ObjectKey]),
}

impl Absence<'_> {
    fn reason(self, otherwise: Reason) -> Reason {
        match self {
            Self::Gone => otherwise,
            Self::Foreign(_) => Reason::NodeNameTaken,
            Self::Contested(_) => Reason::NodeContested,
        }
    }

    fn message(self, name: &str, otherwise: String) -> String {
        match self {
            Self::Gone => otherwise,
            Self::Foreign(id) => format!("Node {name} belongs to VM {id}: waiting until it is gone"),
            Self::Contested(others) => {
                let others: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
                let others = others.join(", ");
                format!(
                    "Node {name} is claimed by {others} as well, and neither provider id nor label tell whose it is: \
                     delete the Machine that should not be there"
                )
            }
        }
    }
}

pub(super) fn step(view: &MachineView, progress: &Progress, absence: Absence<'_>, now: Timestamp) -> Step {
    let machine = &view.machine;
    let name = node_name(machine);
    let gone = || absence.message(name, format!("Node {name} is gone"));
    if let Some(step) = thawed(view) {
        return step;
    }
    match (machine.phase, absence) {
        // It may be this one's and in the best of health, so that nothing is concluded.
        (
            Phase::Running
            | Phase::Unknown
            | Phase::InPlaceUpdating
            | Phase::InPlaceUpdateSuccessful
            | Phase::InPlaceUpdateFailed,
            Absence::Contested(_),
        ) => rest(Reason::NodeContested, gone(), Wake::Resync),
        (Phase::Running | Phase::InPlaceUpdateSuccessful, Absence::Gone | Absence::Foreign(_)) => {
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
            let reason = absence.reason(Reason::NodeMissing);
            Step::Finish(Conclusion { status, reason, message: gone(), wake: Wake::Now })
        }
        (Phase::Failed, _) => rest(Reason::Failed, "failed, and its Node is not there", Wake::Resync),
        (Phase::Unknown | Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed, _) => {
            let wait = Wait { reason: absence.reason(Reason::NodeMissing), what: gone(), because: &gone() };
            timed(view, progress, &wait, now)
        }
        (
            Phase::New | Phase::CrashLoopBackOff | Phase::Pending | Phase::Available | Phase::Terminating,
            _,
        ) => {
            let message = absence.message(name, format!("the VM is created, Node {name} has not joined yet"));
            let wait = Wait {
                reason: absence.reason(Reason::WaitingForNode),
                what: message.clone(),
                because: &message,
            };
            timed(view, progress, &wait, now)
        }
    }
}

fn node_name(machine: &MachineFact) -> &str {
    machine.node_name.as_ref().map_or("(no name yet)", NodeName::as_str)
}
