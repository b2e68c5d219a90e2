//! The infrastructure of a cluster of Cluster API: settings that its machines share.
//!
//! There is nothing to make: it counts as provided once its Cluster owns it. Its finalizer keeps it, and with it the
//! credentials and the mark of its VMs, until none of its machines is left.

#[cfg(test)]
mod tests;

use crate::driver::write_error::ActError;
use crate::infra_machine::PauseCause;
use crate::machine::{Requeue, retry_write};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::step::Step;

/// Facts of one reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfraClusterView {
    /// Why nothing may be done to it, if so.
    pub paused: Option<PauseCause>,
    /// Others provide it, and its status is theirs.
    pub is_managed_elsewhere: bool,
    /// A Cluster owns it.
    pub has_owner: bool,
    pub has_finalizer: bool,
    pub is_deleting: bool,
    /// Names of the machines that need it, a few of them.
    pub machines: Vec<String>,
}

/// An effect on an infrastructure cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfraClusterEffect {
    AddFinalizer,
    ReleaseFinalizer,
}

/// The outcomes of a reconcile so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InfraClusterProgress {
    pub added: Option<Result<(), ActError>>,
    pub released: Option<Result<(), ActError>>,
}

/// The end of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfraClusterConclusion {
    pub reason: InfraClusterReason,
    /// The text for people.
    pub message: String,
    pub wake: Requeue,
}

/// The reason of `Ready`, stable once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfraClusterReason {
    Provisioned,
    WaitingForCluster,
    /// Machines still need it.
    WaitingForMachines,
    WriteFailed,
    Deleted,
    Paused,
    /// Its annotation says that others provide it.
    ManagedElsewhere,
}

impl InfraClusterReason {
    /// The word in conditions and Events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provisioned => "Provisioned",
            Self::WaitingForCluster => "WaitingForCluster",
            Self::WaitingForMachines => "WaitingForMachines",
            Self::WriteFailed => "WriteFailed",
            Self::Deleted => "Deleted",
            Self::Paused => "Paused",
            Self::ManagedElsewhere => "ManagedElsewhere",
        }
    }
}

pub type InfraClusterStep = Step<InfraClusterEffect, InfraClusterConclusion>;

/// Returns the next step for an infrastructure cluster. Pure: the same arguments give the same step.
pub fn step(view: &InfraClusterView, progress: &InfraClusterProgress) -> InfraClusterStep {
    if view.is_managed_elsewhere {
        let message = "an annotation says that others provide it: nothing is done to it";
        return ends(InfraClusterReason::ManagedElsewhere, message.into(), Requeue::Resync);
    }
    if let Some(cause) = &view.paused {
        return ends(InfraClusterReason::Paused, cause.message(), Requeue::Resync);
    }
    if view.is_deleting {
        return deletion(view, progress);
    }
    if !view.has_owner {
        let message = "no Cluster owns this object yet: name it in the infrastructureRef of a Cluster";
        return ends(InfraClusterReason::WaitingForCluster, message.into(), waits());
    }
    if !view.has_finalizer {
        match &progress.added {
            None => return Step::act(InfraClusterEffect::AddFinalizer),
            Some(Ok(())) => {}
            Some(Err(error)) => return failed("put the finalizer on it", error),
        }
    }
    let message = "machines of the cluster can be made".to_owned();
    ends(InfraClusterReason::Provisioned, message, Requeue::Resync)
}

/// Machines need its credentials for their own deletion.
fn deletion(view: &InfraClusterView, progress: &InfraClusterProgress) -> InfraClusterStep {
    if view.has_finalizer && !view.machines.is_empty() {
        let message = format!("machines still need it, such as {}: delete them", view.machines.join(", "));
        return ends(InfraClusterReason::WaitingForMachines, message, waits());
    }
    let gone = || ends(InfraClusterReason::Deleted, "none of its machines is left".to_owned(), Requeue::Gone);
    if !view.has_finalizer {
        return gone();
    }
    match &progress.released {
        None => Step::act(InfraClusterEffect::ReleaseFinalizer),
        Some(Ok(()) | Err(ActError::Gone)) => gone(),
        Some(Err(error)) => failed("take the finalizer off it", error),
    }
}

fn waits() -> Requeue {
    Requeue::Retry { policy: RetryPolicy::LONG, hint: None }
}

fn failed(what: &str, error: &ActError) -> InfraClusterStep {
    ends(InfraClusterReason::WriteFailed, format!("failed to {what}: {error}"), retry_write(error))
}

fn ends(reason: InfraClusterReason, message: String, wake: Requeue) -> InfraClusterStep {
    Step::Finish(InfraClusterConclusion { reason, message, wake })
}
