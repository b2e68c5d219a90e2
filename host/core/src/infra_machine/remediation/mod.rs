//! The remediation of an unhealthy machine for Cluster API: the driver reboots its VM, and if that does not help, the
//! owner of the Machine replaces it.
//!
//! A MachineHealthCheck of Cluster API makes a remediation for an unhealthy Machine and deletes it once the Machine is
//! healthy again. This program never deletes the Machine: a condition of the Machine asks its owner for that, so that
//! MachineSets and control planes keep their own limits.
//!
//! | module | what it does |
//! | --- | --- |
//! | `facts` | facts of one reconcile |
//! | `conclusion` | the end of a reconcile, and its reasons |

mod conclusion;
mod facts;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::driver::DriverResult;
use crate::driver::error::{CallError, Code};
use crate::driver::write_error::ActError;
use crate::infra_machine::facts::IdentityFact;
use crate::machine::{DriverFact, Requeue, retry_write};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::step::Step;
use crate::value::id::FailureDomain;

pub use conclusion::{RebootsDone, RemediationConclusion, RemediationReason};
pub use facts::{RebootStrategy, RemediatedMachine, RemediatedVm, RemediationView};

/// An effect of a remediation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemediationEffect {
    /// Write the reboots on the remediation, the next one included: a process that starts again knows of it.
    NoteReboot(RebootsDone),
    /// Ask the driver for the class in the failure domain of the VM.
    PlaceVm { failure_domain: FailureDomain },
    /// Ask the driver to reboot the VM.
    RebootVm,
    /// Ask the owner of the Machine to replace it, with this text for people.
    AskOwner { message: String },
}

/// The outcomes of a reconcile so far.
#[derive(Clone, Debug, Default)]
pub struct RemediationProgress {
    /// The spec of the class in the failure domain of the VM.
    pub placed: Option<DriverResult<String>>,
    /// The reboots that were noted.
    pub noted: Option<(RebootsDone, Result<(), ActError>)>,
    pub reboot: Option<DriverResult<()>>,
    pub asked: Option<(String, Result<(), ActError>)>,
}

pub type RemediationStep = Step<RemediationEffect, RemediationConclusion>;

/// Returns the next step of a remediation. Pure: the same arguments give the same step.
pub fn step(view: &RemediationView, progress: &RemediationProgress, now: Timestamp) -> RemediationStep {
    use RemediationReason as Reason;
    let waits = |reason, message: &str| ends(view, reason, message, Requeue::Resync);
    if view.is_deleting {
        return waits(Reason::Ended, "the remediation is being deleted");
    }
    if let Some(cause) = &view.paused {
        return ends(view, Reason::Paused, cause.message(), Requeue::Resync);
    }
    let problem = match &view.machine {
        RemediatedMachine::Missing => {
            let message = "no Machine owns this object: a MachineHealthCheck makes it with one";
            return waits(Reason::WaitingForMachine, message);
        }
        RemediatedMachine::Deleting => return waits(Reason::Ended, "the Machine is being deleted"),
        RemediatedMachine::Healthy => return waits(Reason::Healthy, "the Machine is healthy"),
        RemediatedMachine::OwnerReplaces => {
            return waits(Reason::OwnerReplaces, "the owner of the Machine replaces it");
        }
        RemediatedMachine::Unhealthy { problem } => problem,
    };
    if let Some((message, asked)) = &progress.asked {
        return match asked {
            Ok(()) => ends(view, Reason::OwnerReplaces, message, Requeue::Resync),
            Err(error) => write_failed(view, "ask the Machine's owner to replace it", error),
        };
    }
    if let Some(answer) = &progress.reboot {
        let done = progress.noted.as_ref().map_or(view.done, |(done, _)| *done);
        return rebooted(view, done, answer, now);
    }
    if let Some(why) = cannot_help(view, problem) {
        return ask_owner(why);
    }
    if let RemediatedVm::Unclear(why) = &view.vm {
        return ends(view, Reason::VmUnclear, why, again(None));
    }
    let timeout = view.strategy.timeout;
    let until = view.done.last.map(|last| last.duration_since(now).saturating_add(timeout));
    if let Some(left) = until.filter(SignedDuration::is_positive) {
        let message = "the VM was rebooted: its Machine has time to become healthy";
        return ends(view, Reason::Rebooted, message, Requeue::After(left.min(timeout)));
    }
    if view.done.count >= view.strategy.limit {
        let message = match view.done.count {
            0 => "the strategy asks for no reboot".to_owned(),
            1 => format!("one reboot has not helped within {} s", timeout.as_secs()),
            count => format!("{count} reboots have not helped, each within {} s", timeout.as_secs()),
        };
        return ask_owner(message);
    }
    reboot(view, progress, now)
}

/// Returns why a reboot cannot help, if so.
fn cannot_help(view: &RemediationView, problem: &str) -> Option<String> {
    if problem == facts::NODE_DELETED {
        return Some("its Node was deleted, which no reboot brings back".to_owned());
    }
    match &view.vm {
        RemediatedVm::NotOurs => Some("its infrastructure is no MachinistMachine".to_owned()),
        RemediatedVm::NeverCreated => Some("its VM was never created".to_owned()),
        RemediatedVm::Gone => Some("its VM is gone".to_owned()),
        RemediatedVm::Unclear(_) | RemediatedVm::There => None,
    }
}

/// Notes the reboot, then asks for it.
fn reboot(view: &RemediationView, progress: &RemediationProgress, now: Timestamp) -> RemediationStep {
    match &view.driver {
        DriverFact::Ready(driver) if !driver.capabilities.reboot => {
            return ask_owner("its driver cannot reboot".to_owned());
        }
        DriverFact::Ready(_) => {}
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => {
            let message = "no driver serves the provider yet: see its ConfigMap, or `machinist plugin list`";
            return ends(view, RemediationReason::WaitingForDriver, message, again(None));
        }
    }
    match &view.identity {
        IdentityFact::Ready | IdentityFact::NotNamed => {}
        IdentityFact::Missing(problem) | IdentityFact::Refused(problem) => {
            return ends(view, RemediationReason::WaitingForCredentials, problem, again(None));
        }
    }
    match (&view.placed_in, &progress.placed) {
        (Some(domain), None) => {
            return Step::act(RemediationEffect::PlaceVm { failure_domain: domain.clone() });
        }
        (Some(domain), Some(Err(error))) => {
            let message = format!("the driver has no class in failure domain {domain}: {error}");
            return ends(view, RemediationReason::RebootFailed, message, again(error.retry_after()));
        }
        (Some(_), Some(Ok(_))) | (None, _) => {}
    }
    match &progress.noted {
        None => {
            let done = RebootsDone { count: view.done.count.saturating_add(1), last: Some(now) };
            Step::act(RemediationEffect::NoteReboot(done))
        }
        Some((_, Ok(()))) => Step::act(RemediationEffect::RebootVm),
        Some((_, Err(error))) => write_failed(view, "note the reboot", error),
    }
}

/// Ends with the driver's answer. A reboot that was certainly not done does not count.
fn rebooted(
    view: &RemediationView,
    done: RebootsDone,
    answer: &DriverResult<()>,
    now: Timestamp,
) -> RemediationStep {
    let error = match answer {
        Ok(()) => {
            let message = format!("reboot {} of at most {} is requested", done.count, view.strategy.limit);
            return counted(done, message, view.strategy.timeout);
        }
        Err(error) if error.may_have_happened() => {
            let message = format!("reboot {} may have been requested: {error}", done.count);
            return counted(done, message, view.strategy.timeout);
        }
        Err(error) => error,
    };
    if is_hopeless(error) || (is_fault_of_driver(error) && view.has_waited(now)) {
        return ask_owner(format!("the driver cannot reboot its VM: {error}"));
    }
    let message = format!("the driver cannot reboot the VM now, and is asked again: {error}");
    ends(view, RemediationReason::RebootFailed, message, again(error.retry_after()))
}

/// No later attempt will be answered otherwise.
fn is_hopeless(error: &CallError) -> bool {
    let never = matches!(
        error.code(),
        Code::NotFound | Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented
    );
    never || error.is_terminal()
}

/// The driver itself is at fault, perhaps for ever. An outage or refused credentials are no such fault: they would
/// keep the replacement from being made, too.
fn is_fault_of_driver(error: &CallError) -> bool {
    matches!(error.code(), Code::Internal | Code::Unknown | Code::DataLoss | Code::AlreadyExists)
}

fn again(hint: Option<SignedDuration>) -> Requeue {
    Requeue::Retry { policy: RetryPolicy::LONG, hint }
}

fn ask_owner(message: String) -> RemediationStep {
    Step::act(RemediationEffect::AskOwner { message })
}

fn counted(done: RebootsDone, message: String, timeout: SignedDuration) -> RemediationStep {
    let reason = RemediationReason::Rebooted;
    Step::Finish(RemediationConclusion { reason, message, wake: Requeue::After(timeout), done })
}

fn ends(
    view: &RemediationView,
    reason: RemediationReason,
    message: impl Into<String>,
    wake: Requeue,
) -> RemediationStep {
    Step::Finish(RemediationConclusion { reason, message: message.into(), wake, done: view.done })
}

fn write_failed(view: &RemediationView, what: &str, error: &ActError) -> RemediationStep {
    let message = format!("failed to {what}: {error}");
    ends(view, RemediationReason::WriteFailed, message, retry_write(error))
}
