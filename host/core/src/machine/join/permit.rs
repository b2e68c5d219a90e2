//! Before a Machine is failed because of its health: are enough of the others there, and is its zone to be believed?

use jiff::SignedDuration;

use crate::driver::{DriverFacts, VmState, is_not_found};
use crate::driver_error::Code;
use crate::safety::meltdown::{Limit, Permit, ZoneState};

use super::super::conclusion::{Reason, Step, Wake};
use super::super::effect::{Effect, Progress};
use super::super::step::{rest, write_failed};
use super::super::view::{DriverFact, MachineView};

/// How long to wait for another Machine's replacement. Its end wakes those who wait; this is for when that is missed.
const TURN: SignedDuration = SignedDuration::from_mins(1);

/// How long to leave a silent zone alone before its cloud is asked again.
const ZONE: SignedDuration = SignedDuration::from_mins(2);

/// `Ok` when the Machine may be failed, else what is to be done or said instead. `message` says what is wrong with it.
pub(super) fn obtained(view: &MachineView, progress: &Progress, message: &str) -> Result<(), Box<Step>> {
    let stop = |step| Err(Box::new(step));
    match &progress.permit {
        None => stop(Step::act(Effect::AskPermit(view.settings.replacement_limit))),
        Some(Err(error)) => {
            stop(write_failed(Reason::ReplacementHeld, "ask whether the Machine may be failed", error))
        }
        Some(Ok(Permit::Busy { limit })) => stop(busy(view, *limit, message)),
        Some(Ok(Permit::Granted { zone: None })) => Ok(()),
        Some(Ok(Permit::Granted { zone: Some(zone) })) => zone_agrees(view, progress, zone, message),
    }
}

fn busy(view: &MachineView, limit: Limit, message: &str) -> Step {
    let why = match limit {
        Limit::Machines(0) | Limit::Percent(0) => "its limit says that none is".to_owned(),
        Limit::Machines(_) | Limit::Percent(_) => {
            format!("others of its deployment are being replaced, and {limit} may be at a time")
        }
    };
    let bad = view.settings.bad_replacement_limit.as_ref();
    let bad = bad.map_or_else(String::new, |error| format!("; its own limit is not heeded: {error}"));
    let message = format!("{message}; it is not failed yet: {why}{bad}");
    rest(Reason::ReplacementHeld, message, Wake::After(TURN))
}

/// A cloud is asked before a second Machine of a zone is failed, and before one is whose zone has gone silent. While the VM is
/// alive, a silent zone is a broken network, and new Machines in it would be as silent.
fn zone_agrees(
    view: &MachineView,
    progress: &Progress,
    zone: &ZoneState,
    message: &str,
) -> Result<(), Box<Step>> {
    let name = &zone.name;
    let held = |why: String| {
        let message = format!("{message}; it is not failed: {why}");
        Err(Box::new(rest(Reason::ZoneHeld, message, Wake::After(ZONE))))
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
        None => Err(Box::new(Step::act(Effect::ProbeVm))),
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

/// What follows for a VM that is alive.
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
