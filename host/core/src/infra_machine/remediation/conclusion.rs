//! The end of a reconcile of a remediation.

use jiff::Timestamp;

use crate::machine::Requeue;
use crate::machine::node::health::ConditionStatus;
use crate::value::words::reasons;

/// The end of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemediationConclusion {
    pub reason: RemediationReason,
    /// The text for people.
    pub message: String,
    pub wake: Requeue,
    /// The reboots that the status counts from now on.
    pub done: RebootsDone,
}

/// The reboots of a VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebootsDone {
    pub count: u32,
    /// When the last one was requested.
    pub last: Option<Timestamp>,
}

reasons! {
    /// The reason of condition `Remediated`, stable once released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RemediationReason {
        /// The Machine is healthy: its MachineHealthCheck deletes the remediation.
        Healthy = Normal "Healthy",
        /// A reboot was requested, and has time to help.
        Rebooted = Normal "Rebooted",
        /// The driver cannot reboot the VM now.
        RebootFailed = Warning "RebootFailed",
        /// The owner of the Machine is asked to replace it.
        OwnerReplaces = Warning "OwnerReplaces",
        /// The Machine or the remediation is being deleted.
        Ended = Normal "Ended",
        WaitingForMachine = Normal "WaitingForMachine",
        /// It is not certain which VM is the Machine's.
        VmUnclear = Warning "VmUnclear",
        WaitingForDriver = Warning "WaitingForDriver",
        WaitingForCredentials = Warning "WaitingForCredentials",
        Paused = Normal "Paused",
        WriteFailed = Warning "WriteFailed",
    }
}

impl RemediationReason {
    /// Parses the word of a condition or an Event.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The status of condition `Remediated`.
    pub fn status(self) -> ConditionStatus {
        match self {
            Self::Healthy => ConditionStatus::True,
            _ => ConditionStatus::False,
        }
    }
}
