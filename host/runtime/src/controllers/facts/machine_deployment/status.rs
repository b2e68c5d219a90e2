//! The status of a deployment, as the core has it.

use machinist_api::MachineDeploymentStatus;
use machinist_api::machine_set::MachineSummary;
use machinist_core::machine::node::health;
use machinist_core::machine_deployment::{
    DeploymentCondition, DeploymentConditionKind, DeploymentStatus, FailedMachine,
};

/// Reads it. Conditions of others are none of the core's.
pub(crate) fn fact(status: Option<&MachineDeploymentStatus>) -> DeploymentStatus {
    let Some(status) = status else { return DeploymentStatus::default() };
    let mut conditions: Vec<DeploymentCondition> = status
        .conditions
        .iter()
        .filter_map(|condition| {
            Some(DeploymentCondition {
                kind: kind(&condition.type_)?,
                status: health::ConditionStatus::parse(&condition.status),
                reason: condition.reason.clone().unwrap_or_default(),
                message: condition.message.clone().unwrap_or_default(),
                updated: condition.last_update_time.as_ref().map(|time| time.0),
                since: condition.last_transition_time.as_ref().map(|time| time.0),
            })
        })
        .collect();
    conditions.sort_by_key(|condition| condition.kind);
    conditions.dedup_by_key(|condition| condition.kind);
    let mut failed_machines: Vec<FailedMachine> = status.failed_machines.iter().map(failed).collect();
    failed_machines.sort();
    DeploymentStatus {
        observed_generation: status.observed_generation,
        replicas: number(status.replicas),
        updated: number(status.updated_replicas),
        ready: number(status.ready_replicas),
        available: number(status.available_replicas),
        preserved_failed: number(status.preserved_failed_replicas),
        unavailable: number(status.unavailable_replicas),
        conditions,
        collision_count: status.collision_count.and_then(|count| u32::try_from(count).ok()),
        failed_machines,
    }
}

/// A number of Machines. Absent and negative ones are none.
pub(crate) fn number(number: Option<i32>) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
}

/// Which condition of the core's it is.
pub(crate) fn kind(text: &str) -> Option<DeploymentConditionKind> {
    const KINDS: [DeploymentConditionKind; 4] = [
        DeploymentConditionKind::Available,
        DeploymentConditionKind::Frozen,
        DeploymentConditionKind::Progressing,
        DeploymentConditionKind::ReplicaFailure,
    ];
    KINDS.into_iter().find(|kind| kind.as_str() == text)
}

fn failed(machine: &MachineSummary) -> FailedMachine {
    FailedMachine {
        set: machine.owner_ref.as_deref().unwrap_or_default().into(),
        machine: machine.name.as_deref().unwrap_or_default().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_is_read_without_what_others_say_and_without_what_makes_no_sense() {
        let status: MachineDeploymentStatus = serde_json::from_value(json!({
            "observedGeneration": 3, "replicas": 2, "readyReplicas": -1, "collisionCount": 1,
            "conditions": [
                { "type": "Progressing", "status": "True", "reason": "MachineSetUpdated" },
                { "type": "Theirs", "status": "True" },
                { "type": "Available", "status": "False" },
                { "type": "Available", "status": "True" },
            ],
            "failedMachines": [{ "name": "m", "ownerRef": "s" }],
        }))
        .unwrap();
        let fact = fact(Some(&status));
        let kinds: Vec<DeploymentConditionKind> =
            fact.conditions.iter().map(|condition| condition.kind).collect();
        assert_eq!(kinds, [DeploymentConditionKind::Available, DeploymentConditionKind::Progressing]);
        assert_eq!((fact.replicas, fact.ready, fact.collision_count), (2, 0, Some(1)));
        assert_eq!(fact.failed_machines, [FailedMachine { set: "s".into(), machine: "m".into() }]);
    }
}
