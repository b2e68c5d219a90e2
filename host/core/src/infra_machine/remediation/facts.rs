//! Facts of one reconcile of a remediation.

use jiff::{SignedDuration, Timestamp};

use crate::infra_machine::facts::{IdentityFact, PauseCause};
use crate::machine::DriverFact;
use crate::value::id::FailureDomain;

use super::conclusion::RebootsDone;

/// The reason of Cluster API's condition `HealthCheckSucceeded` for a Machine whose Node was deleted.
pub(super) const NODE_DELETED: &str = "NodeDeleted";

/// All facts of one reconcile.
#[derive(Clone, Debug)]
pub struct RemediationView {
    pub is_deleting: bool,
    /// Why nothing may be done, if so.
    pub paused: Option<PauseCause>,
    pub created: Timestamp,
    pub strategy: RebootStrategy,
    /// The reboots that its status counts.
    pub done: RebootsDone,
    pub machine: RemediatedMachine,
    pub vm: RemediatedVm,
    /// The failure domain in which the driver finds the VM, where it keeps VMs apart by it.
    pub placed_in: Option<FailureDomain>,
    pub driver: DriverFact,
    /// The credentials of the cloud.
    pub identity: IdentityFact,
}

/// How often a VM is rebooted, and how long each reboot may take to help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebootStrategy {
    pub limit: u32,
    pub timeout: SignedDuration,
}

/// The Machine of Cluster API that is remediated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemediatedMachine {
    Missing,
    Deleting,
    /// Its health check succeeds, or none has failed yet.
    Healthy,
    /// Its owner is asked to replace it.
    OwnerReplaces,
    /// Its health check fails, for this reason of the condition.
    Unhealthy {
        problem: String,
    },
}

/// The VM of that Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemediatedVm {
    /// Another provider makes it.
    NotOurs,
    NeverCreated,
    Gone,
    /// It is not certain which VM it is, as this sentence says.
    Unclear(String),
    There,
}

impl RemediationView {
    /// Returns true if the time of one reboot has passed without any.
    pub(super) fn has_waited(&self, now: Timestamp) -> bool {
        let since = self.done.last.unwrap_or(self.created);
        now.duration_since(since) >= self.strategy.timeout
    }
}
