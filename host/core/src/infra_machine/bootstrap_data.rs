//! Bootstrap data that changes while a create may still make a VM.
//!
//! A driver is promised the same user data with a key for as long as its create is unresolved. A digest of the data is
//! noted with the key, before the first create. Other data is sent only when reads of the cloud must show what the
//! create before has made: a VM that they show is the machine's, with the data that it has.

use jiff::SignedDuration;

use crate::driver::error::{CallError, Code};
use crate::driver::is_not_found;
use crate::driver::write_error::ActError;
use crate::machine::{DriverFact, MachineEffect, MachineProgress, MachineReason, Requeue, retry_write};
use crate::scheduling::step::Step;

use super::InfraStep;
use super::conclusion::{InfraConclusion, InfraReason};
use super::driver_functions;
use super::facts::InfraMachineView;

/// The longest pause between two looks for the VM of the create before.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(15);

/// Returns what comes before a create with other data than the one before. `None` once that may be sent, where the data
/// is the same, and where nothing is created in this reconcile anyway.
pub(super) fn before_other(view: &InfraMachineView, progress: &MachineProgress) -> Option<InfraStep> {
    let noticed_ago = view.data_changed?;
    let DriverFact::Ready(driver) = &view.machine.driver else { return None };
    match &progress.probe {
        None if driver.capabilities.status => {
            return Some(driver_functions::before(view, progress, vec![MachineEffect::ProbeVm]));
        }
        Some(Ok(_)) => return None,
        Some(Err(error)) if !shows_nothing(error) => return None,
        None | Some(Err(_)) => {}
    }
    let left = driver.consistency_window.saturating_sub(noticed_ago);
    if left > SignedDuration::ZERO && progress.claim.is_none() {
        let message = "the bootstrap data has changed while an earlier create may have made a VM: the cloud is asked for that \
                       VM until its reads must show it, and then a VM is created with the new data";
        let wake = Requeue::Check(left.min(LOOK_AGAIN));
        let reason = InfraReason::BootstrapDataChanged;
        return Some(Step::Finish(InfraConclusion::waiting(view, reason, message.to_owned(), wake)));
    }
    match &progress.claim {
        None => Some(Step::act(MachineEffect::AddFinalizer)),
        Some(Ok(())) => None,
        Some(Err(error)) => Some(not_noted(view, error)),
    }
}

fn shows_nothing(error: &CallError) -> bool {
    is_not_found(error) || error.code() == Code::Unimplemented
}

fn not_noted(view: &InfraMachineView, error: &ActError) -> InfraStep {
    let message = format!("failed to note the digest of the bootstrap data: {error}");
    let reason = InfraReason::Machine(MachineReason::ClaimFailed);
    Step::Finish(InfraConclusion::waiting(view, reason, message, retry_write(error)))
}
