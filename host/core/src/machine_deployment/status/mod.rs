//! The status of a deployment.
//!
//! | module | what it does |
//! | --- | --- |
//! | `progress` | counts, conditions, the progress deadline |
//! | `waits` | the reason to wait, as text |

pub(crate) mod progress;
pub(crate) mod waits;

use jiff::Timestamp;

use crate::machine::node::health::ConditionStatus;
use crate::value::id::Name;
use crate::value::words::words;

/// The status of a deployment. Fields that differ from the stored ones are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentStatus {
    /// The generation that it is about.
    pub observed_generation: Option<i64>,
    /// Machines of all sets, with those that are being deleted.
    pub replicas: u32,
    /// Machines of the current template.
    pub updated: u32,
    pub ready: u32,
    pub available: u32,
    pub preserved_failed: u32,
    /// Machines that the sets want and that are not available.
    pub unavailable: u32,
    /// The conditions, sorted by kind.
    pub conditions: Vec<DeploymentCondition>,
    /// How often the name of a set was taken.
    pub collision_count: Option<u32>,
    /// Machines whose last operation failed, with their sets.
    pub failed_machines: Vec<FailedMachine>,
}

/// A Machine whose last operation failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailedMachine {
    pub set: Name,
    pub machine: Name,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DeploymentConditionKind with as_str {
        /// Enough Machines are available.
        Available = "Available",
        /// A set is frozen: it has too many Machines, or its Machines never join.
        Frozen = "Frozen",
        /// The rollout progresses or is done.
        Progressing = "Progressing",
        /// A Machine or set could not be created or deleted.
        ReplicaFailure = "ReplicaFailure",
    }
}

/// One thing that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentCondition {
    pub kind: DeploymentConditionKind,
    pub status: ConditionStatus,
    pub reason: String,
    pub message: String,
    /// When it changed last. For Progressing: the time of the last progress.
    pub updated: Option<Timestamp>,
    /// Since when it has its status.
    pub since: Option<Timestamp>,
}

impl DeploymentStatus {
    pub fn condition(&self, kind: DeploymentConditionKind) -> Option<&DeploymentCondition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}
