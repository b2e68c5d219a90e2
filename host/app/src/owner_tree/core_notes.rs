//! Notes about objects of Cluster API that need attention, from the conditions that its core writes, and about
//! MachinistMachines.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::core_kinds::{CoreCluster, CoreDeployment, CoreMachine, CoreSet};

use super::Note;

/// A status of a condition that is worth a note.
#[derive(Clone, Copy)]
enum Noted {
    True,
    False,
    /// It is false or unknown.
    NotTrue,
}

impl Noted {
    fn is(self, status: &str) -> bool {
        match self {
            Self::True => status == "True",
            Self::False => status == "False",
            Self::NotTrue => status != "True",
        }
    }
}

/// Returns notes from those conditions that have the given status, in the given order.
fn notes(conditions: &[Condition], noted: &[(&str, Noted)]) -> Vec<Note> {
    let of_kind = |(kind, noted): &(&str, Noted)| {
        let found = conditions.iter().find(|condition| condition.type_ == *kind)?;
        noted.is(&found.status).then(|| Note::of(found))
    };
    noted.iter().filter_map(of_kind).collect()
}

pub(crate) fn of_cluster(cluster: &CoreCluster) -> Vec<Note> {
    let noted = [
        ("InfrastructureReady", Noted::NotTrue),
        ("ControlPlaneAvailable", Noted::NotTrue),
        ("TopologyReconciled", Noted::False),
    ];
    notes(&cluster.status.conditions, &noted)
}

pub(crate) fn of_core_deployment(deployment: &CoreDeployment) -> Vec<Note> {
    notes(&deployment.status.conditions, &[("Available", Noted::NotTrue), ("Remediating", Noted::True)])
}

pub(crate) fn of_core_set(set: &CoreSet) -> Vec<Note> {
    notes(&set.status.conditions, &[("Remediating", Noted::True)])
}

/// Notes about a Machine. `has_vm`: its MachinistMachine is shown, and says itself what core repeats.
pub(crate) fn of_core_machine(machine: &CoreMachine, has_vm: bool) -> Vec<Note> {
    let conditions = &machine.status.conditions;
    if machine.metadata.deletion_timestamp.is_some() {
        return notes(conditions, &[("Deleting", Noted::True)]);
    }
    let mut noted = vec![("HealthCheckSucceeded", Noted::False), ("Updating", Noted::True)];
    if machine.spec.provider_id.is_empty() {
        noted.push(("BootstrapConfigReady", Noted::False));
    } else {
        noted.push(("NodeHealthy", Noted::NotTrue));
    }
    if !has_vm {
        noted.push(("InfrastructureReady", Noted::NotTrue));
    }
    notes(conditions, &noted)
}

/// Notes about a MachinistMachine. While it is paused, its condition Ready is old.
pub(crate) fn of_machinist_machine(machine: &MachinistMachine) -> Vec<Note> {
    let conditions = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let paused = notes(conditions, &[("Paused", Noted::True)]);
    if paused.is_empty() { notes(conditions, &[("Ready", Noted::NotTrue)]) } else { paused }
}
