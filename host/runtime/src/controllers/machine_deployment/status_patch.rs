//! The status that a conclusion asks for, as a merge patch of the differences.

use jiff::Timestamp;
use machinist_api::machine_set::MachineSummary;
use machinist_core::machine_deployment::{
    DeploymentConclusion, DeploymentCondition, DeploymentEvent, DeploymentEventKind, DeploymentReason,
    DeploymentStatus,
};
use serde_json::{Map, Value, json};

use crate::controllers::objects::conditions::{self, MESSAGE_BYTES, READY};

use crate::controllers::facts::machine_deployment::observe::ObservedDeployment;
use crate::controllers::facts::machine_deployment::status::kind;

/// Our condition on the last wish for an earlier template.
const ROLLED_BACK: &str = "RolledBack";

/// `None` without differences. Times alone are no difference.
pub(super) fn of(
    observed: &ObservedDeployment,
    conclusion: &DeploymentConclusion,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let (before, wanted) = (&observed.view.deployment.status, &conclusion.status);
    let mut patch = Map::new();
    if numbers(before) != numbers(wanted) {
        patch.extend(numbers(wanted));
    }
    let are_conditions_same = before.conditions.len() == wanted.conditions.len()
        && before.conditions.iter().zip(&wanted.conditions).all(|(before, wanted)| is_same(before, wanted));
    if !are_conditions_same {
        patch.insert("conditions".to_owned(), all_conditions(observed, wanted));
    }
    let failed = failed_machines(observed, wanted);
    let reported = observed.deployment.status.as_ref().map(|status| status.failed_machines.as_slice());
    if without_times(reported.unwrap_or_default()) != without_times(&failed) {
        patch.insert("failedMachines".to_owned(), json!(failed));
    }
    if let Some(own) = own(observed, conclusion, now) {
        patch.insert("machinist".to_owned(), own);
    }
    (!patch.is_empty()).then_some(patch)
}

fn numbers(status: &DeploymentStatus) -> Map<String, Value> {
    let mut numbers = Map::new();
    let mut put = |field: &str, value: Value| drop(numbers.insert(field.to_owned(), value));
    put("replicas", json!(status.replicas));
    put("updatedReplicas", json!(status.updated));
    put("readyReplicas", json!(status.ready));
    put("availableReplicas", json!(status.available));
    put("preservedFailedReplicas", json!(status.preserved_failed));
    put("unavailableReplicas", json!(status.unavailable));
    // An unknown field stays as it is.
    if let Some(generation) = status.observed_generation {
        put("observedGeneration", json!(generation));
    }
    if let Some(count) = status.collision_count {
        put("collisionCount", json!(count));
    }
    numbers
}

fn is_same(before: &DeploymentCondition, wanted: &DeploymentCondition) -> bool {
    (before.kind, before.status, &before.reason) == (wanted.kind, wanted.status, &wanted.reason)
        && before.message == crate::events::clip(&wanted.message, MESSAGE_BYTES)
}

/// The list is written whole: those of others stand first, as they are.
fn all_conditions(observed: &ObservedDeployment, wanted: &DeploymentStatus) -> Value {
    let reported = observed.deployment.status.iter().flat_map(|status| &status.conditions);
    let of_others =
        reported.filter(|condition| kind(&condition.type_).is_none()).map(|condition| json!(condition));
    let ours = wanted.conditions.iter().map(|condition| {
        json!({
            "type": condition.kind.as_str(),
            "status": condition.status.to_string(),
            "reason": condition.reason,
            "message": crate::events::clip(&condition.message, MESSAGE_BYTES),
            "lastUpdateTime": condition.updated.map(machinist_api::value::time),
            "lastTransitionTime": condition.since.map(machinist_api::value::time),
        })
    });
    Value::Array(of_others.chain(ours).collect())
}

/// As their sets show them.
fn failed_machines(observed: &ObservedDeployment, wanted: &DeploymentStatus) -> Vec<MachineSummary> {
    let shown = wanted.failed_machines.iter().filter_map(|failed| {
        let set = observed.sets.get(&failed.set)?.status.as_ref()?;
        let is_it = |machine: &&MachineSummary| machine.name.as_deref() == Some(failed.machine.as_str());
        let summary = set.failed_machines.iter().find(is_it)?.clone();
        Some(MachineSummary { owner_ref: Some(failed.set.to_string()), ..summary })
    });
    shown.collect()
}

fn without_times(machines: &[MachineSummary]) -> Vec<MachineSummary> {
    let mut machines = machines.to_vec();
    for machine in &mut machines {
        machine.last_operation.last_update_time = None;
    }
    machines
}

/// `status.machinist`: why it is as it is, and for which generation.
fn own(observed: &ObservedDeployment, conclusion: &DeploymentConclusion, now: Timestamp) -> Option<Value> {
    let status = observed.deployment.status.as_ref();
    let own = status.and_then(|status| status.machinist.as_ref());
    let old = own.map(|own| own.conditions.as_slice()).unwrap_or_default();
    let generation = observed.deployment.metadata.generation;
    let is_ready = if conclusion.reason == DeploymentReason::Complete { "True" } else { "False" };
    let reason_and_message = (conclusion.reason.as_str(), conclusion.message.as_str());
    let ready = conditions::condition(old, (READY, is_ready), reason_and_message, generation, now);
    let rolled_back = rolled_back(conclusion).map(|(status, note)| {
        let reason_and_message = (note.kind.as_str(), note.message.as_str());
        conditions::condition(old, (ROLLED_BACK, status), reason_and_message, generation, now)
    });
    let reported: Vec<_> = [Some(ready), rolled_back].into_iter().flatten().collect();
    conditions::own_status(own, &reported, generation)
}

/// The result of the last `spec.rollbackTo`, which is removed by then. The condition shows it until the next one.
fn rolled_back(conclusion: &DeploymentConclusion) -> Option<(&'static str, &DeploymentEvent)> {
    conclusion.notes.iter().find_map(|note| match note.kind {
        DeploymentEventKind::Rollback => Some(("True", note)),
        DeploymentEventKind::RollbackRevisionNotFound | DeploymentEventKind::RollbackTemplateUnchanged => {
            Some(("False", note))
        }
        DeploymentEventKind::ScalingSet
        | DeploymentEventKind::TriggerIgnored
        | DeploymentEventKind::SetClaimed => None,
    })
}
