//! The question to a policy, as plain values: a policy cannot look anything up.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::value::condition::ConditionStatus;
use crate::value::id::{ClassName, FailureDomain, NodeName, ObjectKey, ProviderId, Uid};
use crate::value::phase::Phase;

/// The shortest validity of a verdict: a policy that never decides must not keep the host busy.
pub const MIN_HOLD: SignedDuration = SignedDuration::from_secs(1);

/// The longest validity of a verdict: an author's mistake must end within the day.
pub const MAX_HOLD: SignedDuration = SignedDuration::from_hours(12);

/// Everything that a policy sees, beside the time. Equal questions get equal answers until the answer expires, so
/// nothing that changes on its own, such as a heartbeat, may be in here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyQuestion {
    pub machine: Subject,
    /// Its Node, if it exists.
    pub node: Option<NodeQuestion>,
    pub history: HistoryFact,
    /// The state of the Machines in its failure domain.
    pub domain: DomainFact,
}

/// The Machine in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub key: ObjectKey,
    pub uid: Uid,
    pub class: ClassName,
    /// The MachineDeployment that it belongs to, if it does.
    pub deployment: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub provider_id: Option<ProviderId>,
    pub created: Timestamp,
    /// The time from unhealthy until it fails. `None`: it never fails for that.
    pub health_timeout: Option<SignedDuration>,
    /// Node conditions that must be False, by the Machine's settings. Sorted.
    pub must_be_false: Vec<String>,
    /// Its driver can reboot its VM.
    pub can_reboot: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeQuestion {
    pub name: NodeName,
    /// When it was registered.
    pub created: Option<Timestamp>,
    pub labels: BTreeMap<String, String>,
    /// It takes no more pods.
    pub is_unschedulable: bool,
    /// Its conditions, sorted by type.
    pub conditions: Vec<ConditionFact>,
}

/// A condition of the Node, without its heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionFact {
    /// Its type, such as `Ready`.
    pub kind: String,
    pub status: ConditionStatus,
    pub reason: String,
    pub message: String,
    /// Since when its status is what it is.
    pub since: Option<Timestamp>,
}

/// The history of the Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryFact {
    pub phase: Phase,
    pub phase_since: Option<Timestamp>,
    /// When its VM was rebooted, or was about to be. Oldest first.
    pub reboots: Vec<Timestamp>,
}

/// The failure domain of the Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainFact {
    /// Its name. `None`: unknown, and all Machines without a known domain count as one.
    pub name: Option<FailureDomain>,
    /// Machines in it that have joined the cluster, this one too.
    pub machines: u32,
    /// Those of them whose Node is gone or not ready.
    pub silent: u32,
}
