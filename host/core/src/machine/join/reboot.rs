//! Reboots a VM because a policy requests it, and reports while that must wait.
//!
//! The order is gate, driver, time since the last reboot, permit, note, call. An obstacle is reported, and everything
//! else about the Machine continues, except the health timeout.

use jiff::{SignedDuration, Timestamp};

use crate::health_policy::{RebootStep, Reboots};
use crate::scheduling::gate::{EffectKind, permits};

use super::permit::{self, HealthAction, Obstacle};
use super::policies::{instead, sooner, without_clock};
use crate::machine::conclusion::{MachineReason, MachineStep, elapsed};
use crate::machine::effect::{MachineEffect, MachineProgress};
use crate::machine::facts::{DriverFact, MachineView};
use crate::machine::step::write_failed;

/// Returns the next step. `because` names the policy and its reason.
pub(crate) fn step(
    view: &MachineView,
    because: &str,
    progress: &MachineProgress,
    now: Timestamp,
) -> MachineStep {
    let request = format!("the VM is to be rebooted ({because})");
    let ends = |reason, message| instead(without_clock(view, progress, now), reason, message);
    if !permits(view.gate, EffectKind::Reboot) {
        return ends(
            MachineReason::PolicyHolds,
            format!("{request}, and that is held while the host is frozen"),
        );
    }
    if !can_reboot(view) {
        return ends(MachineReason::PolicyHolds, format!("{request}, and its driver cannot do that"));
    }
    match &progress.note_reboot {
        None => match view.policies.reboots.next(now) {
            RebootStep::NotBefore(time) => {
                let at = time.round(jiff::Unit::Second).unwrap_or(time);
                let message = format!("{request}, and was rebooted not long ago: not again before {at}");
                sooner(
                    ends(MachineReason::PolicyHolds, message),
                    elapsed(now, time) + SignedDuration::from_secs(1),
                )
            }
            RebootStep::Reboot(reboots) => noted(view, reboots, &request, progress, now),
        },
        Some(Err(error)) => {
            write_failed(MachineReason::RebootFailed, "write down that the VM is rebooted", error)
        }
        Some(Ok(())) => match &progress.reboot {
            None => MachineStep::act(MachineEffect::RebootVm),
            Some(Ok(())) => ends(MachineReason::VmRebooted, format!("the VM was rebooted: {because}")),
            Some(Err(error)) => {
                let message = format!("failed to reboot the VM ({because}): {error}");
                ends(MachineReason::RebootFailed, message)
            }
        },
    }
}

/// Writes the reboot on the Machine, once it has a permit.
fn noted(
    view: &MachineView,
    reboots: Reboots,
    request: &str,
    progress: &MachineProgress,
    now: Timestamp,
) -> MachineStep {
    let Err(obstacle) = permit::obtained(view, progress, HealthAction::Reboot, request) else {
        return MachineStep::act(MachineEffect::NoteReboot(reboots));
    };
    match *obstacle {
        Obstacle::Blocked { reason, message, after } => {
            sooner(instead(without_clock(view, progress, now), reason, message), after)
        }
        obstacle @ (Obstacle::Ask(_) | Obstacle::Unknown(..)) => obstacle.into_step(),
    }
}

/// Returns whether the driver can reboot VMs.
fn can_reboot(view: &MachineView) -> bool {
    match &view.driver {
        DriverFact::Ready(facts) => facts.capabilities.reboot,
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => false,
    }
}
