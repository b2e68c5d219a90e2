//! The results of tasks beside health, which are added to the conclusion.

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

#[expect(clippy::large_enum_variant, reason = "a few a pass, none of them kept")]
pub(super) enum TaskResult {
    Act(Vec<MachineEffect>),
    /// Nothing is left to do in this reconcile.
    Report(ConclusionPart),
}

impl TaskResult {
    pub(super) fn act(effect: MachineEffect) -> Self {
        Self::Act(vec![effect])
    }

    pub(super) fn nothing() -> Self {
        Self::Report(ConclusionPart::default())
    }

    /// Returns a result that only reports a failed write.
    pub(super) fn written(what: &'static str, result: &Result<(), ActError>) -> Self {
        let write_failure = result.as_ref().err().map(|error| WriteFailure { what, error: error.clone() });
        Self::Report(ConclusionPart { write_failure, ..ConclusionPart::default() })
    }

    /// The same for an optional write. It is retried seldom, not at all where this account lacks the right, and does
    /// not change the report of the Machine.
    pub(super) fn beside(result: &Result<(), ActError>) -> Self {
        let slight = result.as_ref().err().cloned();
        Self::Report(ConclusionPart { slight, ..ConclusionPart::default() })
    }
}

/// An addition to the conclusion.
#[derive(Default)]
pub(super) struct ConclusionPart {
    pub(super) condition: Option<MachineCondition>,
    pub(super) write_failure: Option<WriteFailure>,
    /// The failure of an optional write.
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
    /// Adds itself to the conclusion. A failed write does not stop the health check, or a label that the API server
    /// refuses would keep a Machine from ever joining and from ever failing. Only the write is retried sooner.
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
        let Some(WriteFailure { what, error }) = self.write_failure else { return conclusion };
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

/// Retries at growing intervals, and not later than the next reconcile.
fn beside(error: &ActError, mut conclusion: MachineConclusion) -> MachineConclusion {
    let longest = match conclusion.wake {
        Requeue::After(after) => after.min(RetryPolicy::LONG.cap),
        Requeue::Resync => RetryPolicy::LONG.cap,
        Requeue::Now | Requeue::Check(_) | Requeue::Retry { .. } | Requeue::Gone => return conclusion,
    };
    match error {
        // The permissions of this account must change, and an Event says so.
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

/// Returns the earlier of two; the requeue of a failure stays.
fn sooner(one: Requeue, other: Requeue) -> Requeue {
    match (one, other) {
        (Requeue::Gone | Requeue::Now | Requeue::Check(_) | Requeue::Retry { .. }, _) => one,
        (Requeue::After(one), Requeue::After(other)) => Requeue::After(one.min(other)),
        (Requeue::Resync | Requeue::After(_), other) => other,
    }
}

/// Shortly after this time.
pub(crate) fn wake_at(at: Timestamp, now: Timestamp) -> Requeue {
    Requeue::After(at.duration_since(now).max(SignedDuration::ZERO) + SignedDuration::from_secs(1))
}
