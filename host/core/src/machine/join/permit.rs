//! Asks before a Machine is failed or rebooted because of its health: are enough others there, and is its zone silent?

use jiff::SignedDuration;

use crate::driver::error::Code;
use crate::driver::write_error::ActError;
use crate::driver::{DriverFacts, VmState, is_not_found};
use crate::safety::meltdown::{Permit, PermitRequest, ReplacementLimit, ZoneState};

use super::super::conclusion::{MachineReason, MachineStep, Requeue};
use super::super::effect::{MachineEffect, MachineProgress};
use super::super::step::{rest, write_failed};
use crate::machine::facts::{DriverFact, MachineView};

/// How long to wait for another Machine's replacement. Its end requeues those that wait; the timer is for a missed
/// event.
const TURN: SignedDuration = SignedDuration::from_mins(1);

/// The pause before the cloud is asked again about a silent zone.
const ZONE: SignedDuration = SignedDuration::from_mins(2);

/// The action on an unhealthy Machine. All take it away from its deployment, so that all are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum HealthAction {
    /// Fail it, so that it is replaced.
    Fail,
    /// Fail one that never joined. It takes nothing from its deployment, so that it needs no permit of its group; but a
    /// replacement in an unreachable zone would not join either.
    GiveUp,
    /// Fail one whose Node cannot join, since its name is taken.
    GiveWay,
    Reboot,
}

impl HealthAction {
    fn held(self) -> MachineReason {
        match self {
            Self::Fail | Self::GiveUp | Self::GiveWay => MachineReason::ReplacementHeld,
            Self::Reboot => MachineReason::RebootHeld,
        }
    }

    fn is_not_done(self) -> &'static str {
        match self {
            Self::Fail | Self::GiveUp | Self::GiveWay => "it is not failed",
            Self::Reboot => "it is not rebooted",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Fail | Self::GiveUp | Self::GiveWay => "ask whether the Machine may be failed",
            Self::Reboot => "ask whether the VM may be rebooted",
        }
    }

    fn asks(self, limit: ReplacementLimit) -> PermitRequest {
        match self {
            Self::Fail | Self::Reboot => PermitRequest::Turn(limit),
            Self::GiveUp => PermitRequest::ZoneOnly,
            Self::GiveWay => PermitRequest::NameTaken,
        }
    }
}

#[derive(Clone, Debug)]
pub(in crate::machine) enum Obstacle {
    /// This effect must come first.
    Ask(MachineEffect),
    /// It has no permit, or its zone is silent.
    Blocked {
        reason: MachineReason,
        message: String,
        after: SignedDuration,
    },
    Unknown(ActError, HealthAction),
}

impl Obstacle {
    /// Ends a reconcile that has nothing else to report.
    pub(in crate::machine) fn into_step(self) -> MachineStep {
        match self {
            Self::Ask(effect) => MachineStep::act(effect),
            Self::Blocked { reason, message, after } => rest(reason, message, Requeue::After(after)),
            Self::Unknown(error, action) => write_failed(action.held(), action.question(), &error),
        }
    }
}

/// Returns `Ok` when the action is permitted, else the obstacle. `message` is the Machine's problem.
pub(in crate::machine) fn obtained(
    view: &MachineView,
    progress: &MachineProgress,
    action: HealthAction,
    message: &str,
) -> Result<(), Box<Obstacle>> {
    let stop = |obstacle| Err(Box::new(obstacle));
    match &progress.permit {
        None => stop(Obstacle::Ask(MachineEffect::AskPermit(action.asks(view.settings.replacement_limit)))),
        Some(Err(error)) => stop(Obstacle::Unknown(error.clone(), action)),
        Some(Ok(Permit::Busy { limit })) => stop(busy(view, *limit, action, message)),
        Some(Ok(Permit::Later { after })) => stop(Obstacle::Blocked {
            reason: action.held(),
            message: format!(
                "{message}; {} yet: another one was, for the same, not long ago",
                action.is_not_done()
            ),
            after: *after,
        }),
        Some(Ok(Permit::Granted { zone: None })) => Ok(()),
        Some(Ok(Permit::Granted { zone: Some(zone) })) => zone_agrees(view, progress, zone, action, message),
    }
}

fn busy(view: &MachineView, limit: ReplacementLimit, action: HealthAction, message: &str) -> Obstacle {
    let is_not_done = action.is_not_done();
    let why = match limit {
        ReplacementLimit::Machines(0) | ReplacementLimit::Percent(0) => {
            format!("{is_not_done}: by its limit none of its deployment is replaced or rebooted")
        }
        ReplacementLimit::Machines(_) | ReplacementLimit::Percent(_) => {
            format!(
                "{is_not_done} yet: others of its deployment are being replaced or rebooted, and {limit} may be at a time"
            )
        }
    };
    let bad = view.settings.bad_replacement_limit.as_ref();
    let bad = bad.map_or_else(String::new, |error| format!("; its own limit is ignored: {error}"));
    Obstacle::Blocked { reason: action.held(), message: format!("{message}; {why}{bad}"), after: TURN }
}

/// Asks the cloud before a second Machine of a zone is failed or rebooted, and before one in a silent zone is. While
/// the VM is alive, a silent zone is a broken network: new Machines in it would be silent too, and a reboot would stop
/// pods that work.
fn zone_agrees(
    view: &MachineView,
    progress: &MachineProgress,
    zone: &ZoneState,
    action: HealthAction,
    message: &str,
) -> Result<(), Box<Obstacle>> {
    let name = &zone.name;
    let held = |why: String| {
        let message = format!("{message}; {}: {why}", action.is_not_done());
        Err(Box::new(Obstacle::Blocked { reason: MachineReason::ZoneHeld, message, after: ZONE }))
    };
    let Some(driver) = driver(view) else {
        return held(format!(
            "others of zone {name} are in trouble, and no driver serves that could tell how the VM is"
        ));
    };
    if !driver.capabilities.status {
        return Ok(());
    }
    match &progress.probe {
        None => Err(Box::new(Obstacle::Ask(MachineEffect::ProbeVm))),
        Some(Ok(vm)) => match vm.state {
            VmState::Stopping | VmState::Stopped => Ok(()),
            VmState::Pending | VmState::Running | VmState::Unknown => is_alive(zone).or_else(held),
        },
        Some(Err(error)) if is_not_found(error) || error.code() == Code::Unimplemented => Ok(()),
        Some(Err(error)) if error.code() == Code::Uninitialized => is_alive(zone).or_else(held),
        Some(Err(error)) => held(format!(
            "others of zone {name} are in trouble, and the cloud does not tell how the VM is: {error}"
        )),
    }
}

/// Returns the decision for a VM that is alive.
fn is_alive(zone: &ZoneState) -> Result<(), String> {
    if !zone.is_silent {
        return Ok(());
    }
    let name = &zone.name;
    Err(format!(
        "the Nodes of zone {name} are silent together while the cloud says that the VM is alive, so that the way to \
                 them is believed to be broken; it goes on when they speak again or the VM is gone"
    ))
}

fn driver(view: &MachineView) -> Option<&DriverFacts> {
    match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => Some(driver),
        DriverFact::NotChosen | DriverFact::Refused(_) => None,
    }
}
