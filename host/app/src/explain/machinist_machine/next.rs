//! The next steps of a MachinistMachine. Pure.

use jiff::Timestamp;
use machinist_api::infrastructure::names::{annotations, finalizers};
use machinist_core::infra_machine::InfraReason;
use machinist_core::machine::MachineReason;
use machinist_runtime::machine_query::MachineDetails;

use super::gather::InfraFacts;
use super::owner::{CoreStage, stage};
use super::reasons::{Names, paused, step};
use super::remediation;
use crate::explain::explanation::ConditionLine;
use crate::explain::read::Lookup;
use crate::explain::turn::turn;

/// Its conditions, as far as steps depend on them.
pub(super) struct Reported<'a> {
    pub(super) ready: Option<&'a ConditionLine>,
    /// Set while nothing is done to it.
    pub(super) paused: Option<&'a ConditionLine>,
}

/// Returns the next steps in order.
pub(super) fn next(
    facts: &InfraFacts,
    reported: &Reported<'_>,
    details: Option<&MachineDetails>,
    now: Timestamp,
) -> Vec<String> {
    let mut next: Vec<String> = details.and_then(|details| turn(details, now)).into_iter().collect();
    let names = names(facts);
    if reported.paused.is_some() {
        next.push(match is_moved(facts) {
            true => "nothing: its VM lives on under the copy of this object in another management cluster"
                .to_owned(),
            false => paused(&names.cluster),
        });
        return next;
    }
    if facts.machine.metadata.deletion_timestamp.is_some() {
        next.extend(obstacle(reported, &names));
        next.extend(deletion(facts, &names));
        return next;
    }
    match facts.owner.found().map(stage) {
        None | Some(CoreStage::Stays) => {}
        Some(stage) => {
            next.extend(stage.sentence());
            next.push(format!("then it deletes this object, and the host deletes {}", names.vm));
            return next;
        }
    }
    next.extend(of_reason(reported.ready, &names));
    next.extend(remediation::next(facts.remediation.found(), &names));
    if facts.machine.is_provisioned()
        && facts.owner.found().is_some_and(|owner| owner.status.node_ref.name.is_empty())
    {
        let id = facts.machine.provider_id().unwrap_or_default();
        next.push(format!(
            "Cluster API's core waits for a Node whose spec.providerID is {id}: check the kubelet and the cloud controller \
             manager of the workload cluster"
        ));
    }
    next
}

fn of_reason(ready: Option<&ConditionLine>, names: &Names) -> Option<String> {
    let ready = ready?;
    Some(match InfraReason::parse(&ready.reason) {
        Some(reason) => step(reason, names),
        None => format!(
            "{} is a reason of another version of the host: its message says what to do",
            ready.reason
        ),
    })
}

/// Returns the step for a reason that does not belong to every deletion.
fn obstacle(reported: &Reported<'_>, names: &Names) -> Option<String> {
    let reason = InfraReason::parse(&reported.ready?.reason)?;
    let is_expected = matches!(
        reason,
        InfraReason::Machine(MachineReason::Deleting | MachineReason::VmTerminating | MachineReason::Deleted)
            | InfraReason::InstanceRunning
            | InfraReason::InstancePending
            | InfraReason::WaitingForMachine
            | InfraReason::WaitingForCluster
            | InfraReason::WaitingForClusterInfrastructure
            | InfraReason::WaitingForBootstrapData
    );
    (!is_expected).then(|| step(reason, names))
}

/// The remaining steps of a deletion.
fn deletion(facts: &InfraFacts, names: &Names) -> Vec<String> {
    let mut next = Vec::new();
    let finalizers = facts.machine.metadata.finalizers.as_deref().unwrap_or_default();
    if finalizers.iter().any(|name| name == finalizers::MACHINE) {
        if has_key(facts) || facts.machine.provider_id().is_some() {
            next.push(format!("{} is deleted, and a look must show that it is gone", names.vm));
        }
        next.push("the finalizer is taken off".to_owned());
    }
    let foreign: Vec<&str> =
        finalizers.iter().map(String::as_str).filter(|name| *name != finalizers::MACHINE).collect();
    if !foreign.is_empty() {
        next.push(format!("then it stays until others take their finalizers off: {}", foreign.join(", ")));
    } else if facts.owner.found().is_some_and(|owner| owner.metadata.deletion_timestamp.is_some()) {
        next.push(format!("the object is gone, and Cluster API's core goes on with {}", names.owner));
    } else {
        next.push("the object is gone".to_owned());
    }
    next
}

fn is_moved(facts: &InfraFacts) -> bool {
    annotation(facts, annotations::DELETE_FOR_MOVE).is_some()
}

fn has_key(facts: &InfraFacts) -> bool {
    annotation(facts, annotations::MACHINE_KEY).is_some()
}

/// Returns an annotation of the object.
pub(super) fn annotation<'a>(facts: &'a InfraFacts, name: &str) -> Option<&'a str> {
    let all = facts.machine.metadata.annotations.as_ref();
    all.and_then(|all| all.get(name)).map(String::as_str)
}

fn names(facts: &InfraFacts) -> Names {
    let named = |kind: &str, name: Option<&str>| match name {
        Some(name) => format!("{kind} {name}"),
        None => format!("its {kind}"),
    };
    let owner = facts.owner.found().and_then(|owner| owner.metadata.name.as_deref());
    let cluster = match &facts.cluster {
        Lookup::Found(cluster) => cluster.metadata.name.as_deref(),
        Lookup::Missing(name) => Some(name.as_str()),
        Lookup::NotNamed | Lookup::Unreadable(_) => None,
    };
    let infra_cluster = facts.infra_cluster.found().and_then(|cluster| cluster.metadata.name.as_deref());
    Names {
        cluster: named("Cluster", cluster),
        infra_cluster: named("MachinistCluster", infra_cluster),
        owner: named("Machine", owner),
        vm: facts.machine.provider_id().map_or_else(|| "its VM".to_owned(), |id| format!("VM {id}")),
        namespace: facts.machine.metadata.namespace.clone().unwrap_or_default(),
    }
}
