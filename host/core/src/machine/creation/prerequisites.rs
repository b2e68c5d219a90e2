//! What creation cannot begin without.

use crate::driver::DriverFacts;
use crate::driver::error::{Code, Refusal};
use crate::scheduling::gate::{EffectKind, Gate, permits};

use super::failed::failure;
use crate::machine::conclusion::{Note, Reason, Step, Wake};
use crate::machine::facts::{ClassFact, DriverFact, MachineView, SecretFact};
use crate::machine::step::{PREREQUISITE, rest};

/// The driver's facts, or how the pass ends.
pub(crate) fn prerequisites(view: &MachineView) -> Result<&DriverFacts, Box<Step>> {
    let waits = |reason: Reason, message: String| Err(Box::new(waiting(view, reason, message)));
    if let Some(problem) = &view.machine.invalid {
        return waits(Reason::InvalidMachine, problem.clone());
    }
    match &view.class {
        ClassFact::Ready(_) => {}
        ClassFact::Missing(name) if name.is_empty() => {
            return waits(Reason::InvalidMachine, "spec.class.name is required: name a MachineClass".into());
        }
        ClassFact::Missing(name) => {
            return waits(Reason::ClassMissing, format!("MachineClass {name} does not exist: create it"));
        }
        ClassFact::Invalid { name, message } => {
            return waits(Reason::ClassInvalid, format!("MachineClass {name} is invalid: {message}"));
        }
        ClassFact::Deleting(name) => {
            return waits(
                Reason::ClassDeleting,
                format!("MachineClass {name} is being deleted: use another one"),
            );
        }
    }
    match &view.secret {
        SecretFact::Ready => {}
        SecretFact::NotNamed => {
            let message = "the MachineClass names no Secret: set secretRef or credentialsSecretRef";
            return waits(Reason::SecretMissing, message.into());
        }
        SecretFact::Missing(key) => {
            return waits(
                Reason::SecretMissing,
                format!("Secret {key} of the MachineClass does not exist: create it"),
            );
        }
        SecretFact::Refused(refusal) => return waits(Reason::SecretRefused, refusal.to_string()),
        SecretFact::WithoutUserData => {
            let message = "the MachineClass's Secret has no key userData: add what a machine gets at boot";
            return waits(Reason::UserDataMissing, message.into());
        }
    }
    let driver = match &view.driver {
        DriverFact::Ready(driver) => driver,
        // Each start loads its drivers: that is no failure of a Machine, and its end wakes it.
        DriverFact::Refused(refusal @ Refusal::Loading { .. }) => {
            let wake = Wake::Retry { policy: PREREQUISITE, hint: None };
            return Err(Box::new(rest(Reason::DriverLoading, refusal.to_string(), wake)));
        }
        DriverFact::Refused(refusal) => return waits(Reason::DriverNotReady, refusal.to_string()),
        DriverFact::Substitute { why, .. } => return waits(Reason::DriverNotReady, why.clone()),
        DriverFact::NotChosen => return waits(Reason::DriverNotReady, "no driver is chosen yet".into()),
    };
    if let Gate::Frozen { since, reason } = view.gate
        && !permits(view.gate, EffectKind::Create)
    {
        let since = since.round(jiff::Unit::Second).unwrap_or(since);
        return waits(Reason::Frozen, format!("creation is held since {since}: {}", reason.sentence()));
    }
    Ok(driver)
}

/// Something outside must change first. Its change wakes the Machine at once; the timer is for what cannot be watched.
fn waiting(view: &MachineView, reason: Reason, message: String) -> Step {
    let wake = Wake::Retry { policy: PREREQUISITE, hint: None };
    if reason == Reason::Frozen {
        return rest(reason, message, wake);
    }
    // What the driver would answer to a create with this class, so that whoever reads codes sees the same.
    let code = (reason == Reason::ClassInvalid).then_some(Code::InvalidArgument);
    failure(view, reason, Note::CreationWaits { message: message.clone() }, message, code, wake)
}
