//! Chooses the next step of an infrastructure machine.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::{self, DriverFact, MachineEffect, MachineProgress, MachineReason, MachineStep, Requeue};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::step::Step;
use crate::value::id::ObjectKey;

use super::InfraStep;
use super::bootstrap_data;
use super::conclusion::{InfraConclusion, InfraReason};
use super::driver_functions;
use super::facts::InfraMachineView;
use super::prerequisites;

/// Returns the next step for an infrastructure machine. Pure: the same arguments give the same step.
///
/// A pause comes before everything else, deletion included: while `clusterctl` moves objects, the copies that it
/// deletes must not take their VMs along.
pub fn step(view: &InfraMachineView, progress: &MachineProgress, now: Timestamp) -> InfraStep {
    if let Some(cause) = &view.paused {
        return Step::Finish(InfraConclusion::paused(view, cause.message()));
    }
    if !view.contested_by.is_empty() {
        return Step::Finish(contested(view, &view.contested_by));
    }
    if view.machine.machine.deletion.is_some() {
        return deletion(view, progress, now);
    }
    if view.machine.machine.provider_id.is_none() {
        if let Some(conclusion) = prerequisites::of_creation(view) {
            return Step::Finish(conclusion);
        }
        // A VM that exists already needs no bootstrap data, and its Secret may be gone.
        if let Some(conclusion) = prerequisites::of_boot(view)
            && let Some(step) = unless_there(view, progress, conclusion)
        {
            return step;
        }
        if let Some(step) = bootstrap_data::before_other(view, progress) {
            return step;
        }
    } else {
        if let Some(step) = finalizer(view, progress) {
            return step;
        }
        if let Some(conclusion) = prerequisites::of_identity(view) {
            return Step::Finish(conclusion);
        }
    }
    vm(view, progress, now)
}

/// Puts back a finalizer that somebody took off: without it a deletion of the object would leave its VM.
fn finalizer(view: &InfraMachineView, progress: &MachineProgress) -> Option<InfraStep> {
    if view.machine.machine.has_finalizer {
        return None;
    }
    match &progress.claim {
        None => Some(Step::act(MachineEffect::AddFinalizer)),
        // Whatever the write has met requeues the object.
        Some(Ok(()) | Err(ActError::Conflict | ActError::Gone)) => None,
        Some(Err(error)) => {
            let message = format!("failed to put the finalizer on it again: {error}");
            let (reason, wake) =
                (InfraReason::Machine(MachineReason::ClaimFailed), machine::retry_write(error));
            Some(Step::Finish(InfraConclusion::waiting(view, reason, message, wake)))
        }
    }
}

/// Looks for the VM of an earlier create before the wait for bootstrap data. `None` when it is there.
fn unless_there(
    view: &InfraMachineView,
    progress: &MachineProgress,
    conclusion: InfraConclusion,
) -> Option<InfraStep> {
    let may_look = match &view.machine.driver {
        DriverFact::Ready(driver) => driver.capabilities.status,
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => false,
    };
    let was_begun = view.machine.machine.has_priority && view.machine.machine.has_finalizer;
    if !was_begun || !may_look {
        return Some(Step::Finish(conclusion));
    }
    match &progress.probe {
        None => Some(driver_functions::before(view, progress, vec![MachineEffect::ProbeVm])),
        Some(Ok(_)) => None,
        Some(Err(_)) => Some(Step::Finish(conclusion)),
    }
}

/// Without a key no VM was ever requested, whoever put our finalizer on the object.
fn deletion(view: &InfraMachineView, progress: &MachineProgress, now: Timestamp) -> InfraStep {
    let facts = &view.machine.machine;
    let ends = |reason: MachineReason, message: String, wake: Requeue| {
        Step::Finish(InfraConclusion::waiting(view, InfraReason::Machine(reason), message, wake))
    };
    if facts.has_finalizer && !facts.has_priority && facts.provider_id.is_none() {
        return match &progress.release {
            None => Step::act(MachineEffect::ReleaseFinalizer),
            Some(Ok(()) | Err(ActError::Gone)) => {
                ends(MachineReason::Deleted, "no VM was ever asked for".to_owned(), Requeue::Gone)
            }
            Some(Err(error)) => {
                let message = format!("failed to take the finalizer off: {error}");
                ends(MachineReason::FinalizerHeld, message, machine::retry_write(error))
            }
        };
    }
    if facts.has_finalizer
        && let Some(conclusion) = prerequisites::of_identity(view)
    {
        return Step::Finish(conclusion);
    }
    vm(view, progress, now)
}

/// Does the part that an infrastructure machine shares with every Machine: one VM, created once and deleted until it is
/// gone.
fn vm(view: &InfraMachineView, progress: &MachineProgress, now: Timestamp) -> InfraStep {
    match machine::step(&view.machine, progress, now) {
        MachineStep::Act(effects) => driver_functions::before(view, progress, effects),
        MachineStep::Finish(conclusion) => {
            let end = InfraConclusion::of(view, progress, conclusion, now);
            driver_functions::interruption(view, progress, &end).unwrap_or(Step::Finish(end))
        }
    }
}

/// Two objects with one key come from a copy or a restore. Nobody knows whose VM it is, so nothing is done for either.
fn contested(view: &InfraMachineView, others: &[ObjectKey]) -> InfraConclusion {
    let names: Vec<String> = others.iter().map(ToString::to_string).collect();
    let message = format!(
        "{} has the same annotation {}: nothing is done to the VM until only one object has it. Take the finalizer {} off \
         the copy, and delete the copy",
        names.join(", "),
        view.names.key,
        view.names.finalizer,
    );
    let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
    InfraConclusion::waiting(view, InfraReason::KeyContested, message, wake)
}
