//! Questions to the driver that reach no cloud: in which class a VM is made so that it is in its failure domain, which
//! id its Node has, and whether the cloud may take it away at any time. The first two come before effects on the VM,
//! the last one before its status.

use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Creation, Vm};
use crate::machine::{DriverFact, EffectTrait, MachineEffect, MachineProgress, MachineReason, Requeue};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::step::Step;

use super::InfraStep;
use super::conclusion::{InfraConclusion, InfraReason};
use super::facts::InfraMachineView;
use super::prerequisites;

/// Returns these effects, or what has to be known before them.
pub(super) fn before(
    view: &InfraMachineView,
    progress: &MachineProgress,
    effects: Vec<MachineEffect>,
) -> InfraStep {
    if effects.iter().any(|effect| effect.is(EffectTrait::CallsDriver))
        && let Some(step) = placement(view, progress)
    {
        return step;
    }
    if effects.iter().any(|effect| matches!(effect, MachineEffect::RecordVm { .. }))
        && let Some(step) = node_id(view, progress)
    {
        return step;
    }
    Step::Act(effects)
}

/// Every call is about the class in its failure domain: a cloud may keep VMs by zone, and a look at another zone finds
/// nothing. `None` once that class is known, or where it is not needed.
fn placement(view: &InfraMachineView, progress: &MachineProgress) -> Option<InfraStep> {
    let wanted = view.failure_domain.as_ref()?;
    if !view.honours_failure_domain() {
        // An id leads to its VM, wherever that is. Without an id a look elsewhere would prove nothing.
        return match view.machine.machine.provider_id {
            Some(_) => None,
            None => prerequisites::of_placement(view).map(Step::Finish),
        };
    }
    match &progress.placement {
        None => Some(Step::act(MachineEffect::PlaceVm { failure_domain: wanted.clone() })),
        Some(Ok(_)) => None,
        Some(Err(error)) => {
            let message = format!("the driver has no class in failure domain {wanted}: {error}");
            Some(failed(view, InfraReason::FailureDomainUnsupported, message, error))
        }
    }
}

/// The VM is stored once, with the id that Cluster API compares with its Node's. `None` once that is known, or where it
/// is the driver's own id. Nobody waits for the Node of a VM that is being deleted.
fn node_id(view: &InfraMachineView, progress: &MachineProgress) -> Option<InfraStep> {
    let DriverFact::Ready(driver) = &view.machine.driver else { return None };
    if !driver.capabilities.node_id || view.machine.machine.deletion.is_some() {
        return None;
    }
    match &progress.node_id {
        None => Some(match (found(progress), &progress.initialize) {
            (Some(vm), _) => Step::act(MachineEffect::NameNode(Box::new(vm.clone()))),
            // A look that finds the second step missing names the VM and does not show it.
            (None, None) => Step::act(MachineEffect::InitializeVm),
            (None, Some(Ok(_))) => return None,
            (None, Some(Err(error))) => {
                let message = format!("failed to complete the VM: {error}");
                failed(view, InfraReason::Machine(MachineReason::InitializationFailed), message, error)
            }
        }),
        Some(Ok(_)) => None,
        Some(Err(error)) => {
            let message = format!("the driver does not say which id the VM's Node has: {error}");
            Some(failed(view, InfraReason::NodeIdUnknown, message, error))
        }
    }
}

/// Returns the question whether the cloud may take the VM away, before a status that says that the VM is provided. It
/// is asked until the status has the answer, and a failure holds nothing up: the next look at the VM asks again.
/// Without capability `status` there are no looks, and each reconcile asks.
pub(super) fn interruption(
    view: &InfraMachineView,
    progress: &MachineProgress,
    end: &InfraConclusion,
) -> Option<InfraStep> {
    let DriverFact::Ready(driver) = &view.machine.driver else { return None };
    let has_looked = found(progress).is_some() || !driver.capabilities.status;
    let is_due = view.interruptible.is_none() && end.status.is_provisioned && has_looked;
    let asks = is_due && driver.capabilities.interruption && progress.interruption.is_none();
    asks.then(|| Step::act(MachineEffect::AskInterruptible))
}

/// The VM, as the driver has returned it last in this reconcile.
fn found(progress: &MachineProgress) -> Option<&Vm> {
    let initialized = progress.initialize.as_ref().and_then(|answer| answer.as_ref().ok());
    let created = progress.create.as_ref().and_then(|answer| match answer {
        Ok(Creation::Created(vm)) => Some(vm),
        Ok(Creation::InProgress(_)) | Err(_) => None,
    });
    let probed = progress.probe.as_ref().and_then(|answer| answer.as_ref().ok());
    initialized.or(created).or(probed)
}

/// A driver that is absent or broken is not the object's fault.
fn failed(view: &InfraMachineView, guest: InfraReason, message: String, error: &CallError) -> InfraStep {
    let reason = match error {
        CallError::Guest(DriverError { code: Code::Internal | Code::Unknown, .. }) | CallError::Broken(_) => {
            InfraReason::Machine(MachineReason::DriverBroken)
        }
        CallError::Guest(_) => guest,
        CallError::Refused(_) => InfraReason::Machine(MachineReason::DriverNotReady),
    };
    let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: error.retry_after() };
    Step::Finish(InfraConclusion::waiting(view, reason, message, wake))
}
