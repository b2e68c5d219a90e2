//! The prerequisites of creation: class, Secret, driver.

use crate::driver::DriverFacts;
use crate::driver::error::{Code, Refusal};
use crate::scheduling::gate::{EffectKind, Gate, permits};

use super::failed::failure;
use crate::machine::conclusion::{MachineReason, MachineStep, OperationNote, Requeue};
use crate::machine::facts::{ClassFact, DriverFact, MachineView, SecretFact};
use crate::machine::step::{PREREQUISITE, rest};

/// Returns the driver's facts, or the end of the reconcile.
pub(crate) fn prerequisites(view: &MachineView) -> Result<&DriverFacts, Box<MachineStep>> {
    let waits = |reason: MachineReason, message: String| Err(Box::new(waiting(view, reason, message)));
    if let Some(problem) = &view.machine.invalid {
        return waits(MachineReason::InvalidMachine, problem.clone());
    }
    match &view.class {
        ClassFact::Ready(_) => {}
        ClassFact::Missing(name) if name.is_empty() => {
            return waits(
                MachineReason::InvalidMachine,
                "spec.class.name is required: name a MachineClass".into(),
            );
        }
        ClassFact::Missing(name) => {
            return waits(
                MachineReason::ClassMissing,
                format!("MachineClass {name} does not exist: create it"),
            );
        }
        ClassFact::Invalid { name, message } => {
            return waits(MachineReason::ClassInvalid, format!("MachineClass {name} is invalid: {message}"));
        }
        ClassFact::Deleting(name) => {
            return waits(
                MachineReason::ClassDeleting,
                format!("MachineClass {name} is being deleted: use another one"),
            );
        }
    }
    match &view.secret {
        SecretFact::Ready => {}
        SecretFact::NotNamed => {
            let message = "the MachineClass names no Secret: set secretRef or credentialsSecretRef";
            return waits(MachineReason::SecretMissing, message.into());
        }
        SecretFact::Missing(key) => {
            return waits(
                MachineReason::SecretMissing,
                format!("Secret {key} of the MachineClass does not exist: create it"),
            );
        }
        SecretFact::Refused(refusal) => return waits(MachineReason::SecretRefused, refusal.to_string()),
        SecretFact::WithoutUserData => {
            let message = "the MachineClass's Secret has no key userData: add what a machine gets at boot";
            return waits(MachineReason::UserDataMissing, message.into());
        }
    }
    let driver = match &view.driver {
        DriverFact::Ready(driver) => driver,
        // Each start of the host loads its drivers: that is no failure of a Machine, and the Machine is requeued at its
        // end.
        DriverFact::Refused(refusal @ Refusal::Loading { .. }) => {
            let wake = Requeue::retry(PREREQUISITE);
            return Err(Box::new(rest(MachineReason::DriverLoading, refusal.to_string(), wake)));
        }
        DriverFact::Refused(refusal) => return waits(MachineReason::DriverNotReady, refusal.to_string()),
        DriverFact::Substitute { why, .. } => return waits(MachineReason::DriverNotReady, why.clone()),
        DriverFact::NotChosen => {
            return waits(MachineReason::DriverNotReady, "no driver is chosen yet".into());
        }
    };
    if let Gate::Frozen { since, reason } = view.gate
        && !permits(view.gate, EffectKind::Create)
    {
        let since = since.round(jiff::Unit::Second).unwrap_or(since);
        return waits(
            MachineReason::Frozen,
            format!("creation is held since {since}: {}", reason.sentence()),
        );
    }
    Ok(driver)
}

/// Ends a reconcile that waits for a change of other objects. Their change requeues the Machine at once; the timer is
/// for changes that cannot be watched.
fn waiting(view: &MachineView, reason: MachineReason, message: String) -> MachineStep {
    let wake = Requeue::retry(PREREQUISITE);
    if reason == MachineReason::Frozen {
        return rest(reason, message, wake);
    }
    // The code that the driver would return for a create with this class, so that readers of codes see the same.
    let code = (reason == MachineReason::ClassInvalid).then_some(Code::InvalidArgument);
    failure(view, reason, OperationNote::CreationWaits { message: message.clone() }, message, code, wake)
}
