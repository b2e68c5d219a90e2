//! The prerequisites of a VM's creation. Nothing here ever fails: each wait ends with a change of another object.

use crate::machine::{DriverFact, Requeue};
use crate::scheduling::retry::RetryPolicy;

use super::conclusion::{InfraConclusion, InfraReason};
use super::facts::{BootstrapFact, ClusterFact, IdentityFact, InfraMachineView, OwnerFact};

/// Returns what must come before any request about a new VM, in the order in which Cluster API provides it.
pub(super) fn of_creation(view: &InfraMachineView) -> Option<InfraConclusion> {
    of_owner(view)
        .or_else(|| of_cluster(view))
        .or_else(|| of_mark(view))
        .or_else(|| of_identity(view))
        .or_else(|| of_placement(view))
}

/// The finalizer waits for the owner, too: a MachineSet edits its new objects once more, and an early write of others
/// makes that fail.
fn of_owner(view: &InfraMachineView) -> Option<InfraConclusion> {
    match view.owner {
        OwnerFact::Present => None,
        OwnerFact::Missing => {
            let message =
                "no Machine of Cluster API owns this object yet: its controller sets the owner reference";
            Some(waits(view, InfraReason::WaitingForMachine, message.into()))
        }
    }
}

fn of_cluster(view: &InfraMachineView) -> Option<InfraConclusion> {
    let message = match &view.cluster {
        ClusterFact::Ready => return None,
        ClusterFact::NotNamed => {
            format!("the Machine has no label {}, so that its Cluster is unknown", view.names.cluster)
        }
        ClusterFact::Missing(name) => format!("Cluster {name} does not exist: create it"),
        ClusterFact::WithoutInfrastructure(name) => {
            let message = format!("the infrastructure of Cluster {name} is not provided yet");
            return Some(waits(view, InfraReason::WaitingForClusterInfrastructure, message));
        }
    };
    Some(waits(view, InfraReason::WaitingForCluster, message))
}

/// VMs with the mark of this host's own Machines are deleted when none of those has them, for example after a move of
/// their objects to another management cluster.
fn of_mark(view: &InfraMachineView) -> Option<InfraConclusion> {
    let mark = view.reserved_mark.as_ref()?;
    let message = format!(
        "{mark} is the mark of VMs of machine-controller-manager's Machines, given by --cluster-id: set another clusterID in \
         the spec of the infrastructure cluster"
    );
    Some(waits(view, InfraReason::InvalidSpec, message))
}

/// Returns what a call of the driver waits for, also one that deletes.
pub(super) fn of_identity(view: &InfraMachineView) -> Option<InfraConclusion> {
    match &view.identity {
        IdentityFact::Ready | IdentityFact::NotNamed => None,
        IdentityFact::Missing(problem) => Some(waits(view, InfraReason::CredentialsMissing, problem.clone())),
        IdentityFact::Refused(problem) => Some(waits(view, InfraReason::CredentialsRefused, problem.clone())),
    }
}

/// A machine in another failure domain than asked for would be worse than none: control planes count on it. A driver
/// that is not there yet is awaited like every other.
pub(super) fn of_placement(view: &InfraMachineView) -> Option<InfraConclusion> {
    let wanted = view.failure_domain.as_ref()?;
    let is_there = matches!(view.machine.driver, DriverFact::Ready(_));
    if !is_there || view.honours_failure_domain() {
        return None;
    }
    let message = format!(
        "the Machine asks for failure domain {wanted}, and its driver puts VMs into none that is asked for: take \
         spec.failureDomain off the Machine, or use a driver with the interface placement"
    );
    Some(waits(view, InfraReason::FailureDomainUnsupported, message))
}

/// Returns what the first boot of a VM waits for.
pub(super) fn of_boot(view: &InfraMachineView) -> Option<InfraConclusion> {
    let message = match &view.bootstrap {
        BootstrapFact::Ready => return None,
        BootstrapFact::NotNamed => "the Machine has no bootstrap data yet".to_owned(),
        BootstrapFact::Missing(name) => {
            format!("Secret {name} with the Machine's bootstrap data does not exist: create it again")
        }
        BootstrapFact::WithoutValue(name) => {
            format!("Secret {name} with the Machine's bootstrap data has no key value: set it")
        }
    };
    Some(waits(view, InfraReason::WaitingForBootstrapData, message))
}

fn waits(view: &InfraMachineView, reason: InfraReason, message: String) -> InfraConclusion {
    let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
    InfraConclusion::waiting(view, reason, message, wake)
}
