//! What questions beside health have to say of a pass.

use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::Address;
use crate::driver::write_error::ActError;
use crate::scheduling::retry::RetryPolicy;

use super::super::conclusion::{
    LastOperation, MachineConclusion, MachineCondition, MachineReason, Requeue, VmReport,
};
use super::super::effect::MachineEffect;
use super::super::step::retry_write;

/// A question's answer.
#[expect(clippy::large_enum_variant, reason = "a few a pass, none of them kept")]
pub(super) enum TaskResult {
    /// Do these first.
    Act(Vec<MachineEffect>),
    /// Nothing is left to do in this pass.
    Say(ConclusionPart),
}

impl TaskResult {
    pub(super) fn act(effect: MachineEffect) -> Self {
        Self::Act(vec![effect])
    }

    pub(super) fn nothing() -> Self {
        Self::Say(ConclusionPart::default())
    }

    /// Nothing to say unless a write has failed.
    pub(super) fn written(what: &'static str, result: &Result<(), ActError>) -> Self {
        let trouble = result.as_ref().err().map(|error| WriteFailure { what, error: error.clone() });
        Self::Say(ConclusionPart { trouble, ..ConclusionPart::default() })
    }

    /// The same for what the Machine can do without. It is tried again seldom, not at all where this account has no right to it, and does
    /// not change what is said of the Machine.
    pub(super) fn beside(result: &Result<(), ActError>) -> Self {
        let slight = result.as_ref().err().cloned();
        Self::Say(ConclusionPart { slight, ..ConclusionPart::default() })
    }
}

/// What is added to the conclusion.
#[derive(Default)]
pub(super) struct ConclusionPart {
    pub(super) condition: Option<MachineCondition>,
    pub(super) trouble: Option<WriteFailure>,
    /// Of a write that the Machine can do without.
    pub(super) slight: Option<ActError>,
    pub(super) operation: Option<LastOperation>,
    pub(super) drain_memory: Option<drain::DrainMemory>,
    pub(super) wake: Option<Requeue>,
    pub(super) vm: Option<VmReport>,
    pub(super) addresses: Option<Vec<Address>>,
}

/// A write that failed.
pub(super) struct WriteFailure {
    pub(super) what: &'static str,
    pub(super) error: ActError,
}

impl ConclusionPart {
    /// A Machine is judged also when something beside its health could not be written, or a label that the API server refuses
    /// would keep it from ever joining and from ever failing. Only the writing is tried again sooner.
    pub(super) fn add_to(self, mut conclusion: MachineConclusion) -> MachineConclusion {
        conclusion.status.conditions.extend(self.condition);
        if conclusion.status.operation.is_none() {
            conclusion.status.operation = self.operation;
        }
        if self.drain_memory.is_some() {
            conclusion.status.drain_memory = self.drain_memory;
        }
        if self.vm.is_some() {
            conclusion.status.vm = self.vm;
        }
        if self.addresses.is_some() {
            conclusion.status.addresses = self.addresses;
        }
        if let Some(wake) = self.wake {
            conclusion.wake = sooner(conclusion.wake, wake);
        }
        if let Some(error) = self.slight {
            conclusion = beside(&error, conclusion);
        }
        let Some(WriteFailure { what, error }) = self.trouble else { return conclusion };
        if conclusion.wake == Requeue::Now {
            return conclusion;
        }
        conclusion.wake = retry_write(&error);
        let is_news =
            conclusion.status.phase.is_none() && !matches!(error, ActError::Conflict | ActError::Gone);
        if is_news {
            conclusion.reason = MachineReason::WriteFailed;
            conclusion.message = format!("{}; failed to {what}: {error}", conclusion.message);
        }
        conclusion
    }
}

/// Tried again at growing intervals, and not later than the pass would come anyway.
fn beside(error: &ActError, mut conclusion: MachineConclusion) -> MachineConclusion {
    let longest = match conclusion.wake {
        Requeue::After(after) => after.min(RetryPolicy::LONG.cap),
        Requeue::Resync => RetryPolicy::LONG.cap,
        Requeue::Now | Requeue::Look(_) | Requeue::Retry { .. } | Requeue::Gone => return conclusion,
    };
    match error {
        // Somebody would have to change what this account may do, and an Event says so.
        ActError::Denied { .. } | ActError::Invalid { .. } => {}
        ActError::Conflict
        | ActError::Gone
        | ActError::Throttled { .. }
        | ActError::Unreachable { .. }
        | ActError::Ambiguous { .. }
        | ActError::Forbidden { .. } => {
            let policy = RetryPolicy { cap: longest, ..RetryPolicy::LONG };
            conclusion.wake = Requeue::Retry { policy, hint: error.retry_after() };
        }
    }
    conclusion
}

/// The earlier of two; a failure's way of coming back stays.
fn sooner(one: Requeue, other: Requeue) -> Requeue {
    match (one, other) {
        (Requeue::Gone | Requeue::Now | Requeue::Look(_) | Requeue::Retry { .. }, _) => one,
        (Requeue::After(one), Requeue::After(other)) => Requeue::After(one.min(other)),
        (Requeue::Resync | Requeue::After(_), other) => other,
    }
}

/// Shortly after this time.
pub(super) fn wake_at(at: Timestamp, now: Timestamp) -> Requeue {
    Requeue::After(at.duration_since(now).max(SignedDuration::ZERO) + SignedDuration::from_secs(1))
}
