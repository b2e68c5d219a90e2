//! The one status write of a pass, and only when the status says something else than before.

use jiff::Timestamp;
use machinist_api::MachineDeployment;
use machinist_api::machine_set::MachineSummary;
use machinist_api::own_status::OwnStatus;
use machinist_core::machine::Wake;
use machinist_core::machine_deployment::{Conclusion, Condition, Note, NoteKind, Reason, Status};
use machinist_core::scheduling::gate::{EffectKind, permits};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::controllers::objects::conditions;
use crate::controllers::objects::conditions::{MESSAGE_BYTES, READY};
use crate::controllers::objects::status_write::{Published, StatusTarget, send};

use super::observe::ObservedDeployment;
use super::status::kind;

/// Our condition on the last wish for an earlier template.
const ROLLED_BACK: &str = "RolledBack";

/// `written` is the version that the pass itself has written last.
pub(super) async fn publish(
    context: &Context,
    observed: &ObservedDeployment,
    conclusion: &Conclusion,
    written: Option<&str>,
) -> Published {
    if conclusion.wake == Wake::Gone || !*context.leads.borrow() {
        return Published::Nothing;
    }
    if !permits(context.gate_state.borrow().gate, EffectKind::StatusWrite) {
        return Published::Frozen;
    }
    let is_kept =
        |object: &MachineDeployment| object.status.as_ref().is_some_and(|status| status.machinist.is_some());
    if is_kept(&observed.deployment) {
        context.own_deployment_status.was_seen();
    }
    let status = status_patch(observed, conclusion, context.clock.now());
    if status.is_empty() {
        return Published::Nothing;
    }
    let meta = &observed.deployment.metadata;
    let api = super::act::deployments(context, observed);
    let version = written.or(meta.resource_version.as_deref());
    let object = StatusTarget {
        own_status: &context.own_deployment_status,
        api: &api,
        seen: meta,
        version,
        keeps: is_kept,
    };
    send(object, status, conclusion.wake).await
}

/// A merge patch of what differs, empty when nothing does. Times alone are no difference.
fn status_patch(
    observed: &ObservedDeployment,
    conclusion: &Conclusion,
    now: Timestamp,
) -> Map<String, Value> {
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
    patch
}

fn numbers(status: &Status) -> Map<String, Value> {
    let mut numbers = Map::new();
    let mut put = |field: &str, value: Value| drop(numbers.insert(field.to_owned(), value));
    put("replicas", json!(status.replicas));
    put("updatedReplicas", json!(status.updated));
    put("readyReplicas", json!(status.ready));
    put("availableReplicas", json!(status.available));
    put("preservedFailedReplicas", json!(status.preserved_failed));
    put("unavailableReplicas", json!(status.unavailable));
    // What is not known yet is left as it is.
    if let Some(generation) = status.observed_generation {
        put("observedGeneration", json!(generation));
    }
    if let Some(count) = status.collision_count {
        put("collisionCount", json!(count));
    }
    numbers
}

fn is_same(before: &Condition, wanted: &Condition) -> bool {
    (before.kind, before.status, &before.reason) == (wanted.kind, wanted.status, &wanted.reason)
        && before.message == crate::events::clip(&wanted.message, MESSAGE_BYTES)
}

/// The list is written whole: those of others stand first, as they are.
fn all_conditions(observed: &ObservedDeployment, wanted: &Status) -> Value {
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
fn failed_machines(observed: &ObservedDeployment, wanted: &Status) -> Vec<MachineSummary> {
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
fn own(observed: &ObservedDeployment, conclusion: &Conclusion, now: Timestamp) -> Option<Value> {
    let empty = OwnStatus::default();
    let status = observed.deployment.status.as_ref();
    let old = status.and_then(|status| status.machinist.as_ref()).unwrap_or(&empty);
    let generation = observed.deployment.metadata.generation;
    let is_ready = if conclusion.reason == Reason::Complete { "True" } else { "False" };
    let reason_and_message = (conclusion.reason.as_str(), conclusion.message.as_str());
    let ready =
        conditions::condition(&old.conditions, (READY, is_ready), reason_and_message, generation, now);
    let rolled_back = rolled_back(conclusion).map(|(status, note)| {
        let reason_and_message = (note.kind.as_str(), note.message.as_str());
        conditions::condition(&old.conditions, (ROLLED_BACK, status), reason_and_message, generation, now)
    });
    let reported: Vec<_> = [Some(ready), rolled_back].into_iter().flatten().collect();
    if conditions::are_unchanged(&old.conditions, &reported) && old.observed_generation == generation {
        return None;
    }
    let conditions = conditions::merged(&old.conditions, &reported);
    Some(json!({ "conditions": conditions, "observedGeneration": generation }))
}

/// What became of `spec.rollbackTo`, which is gone by then. It is told until there is another one.
fn rolled_back(conclusion: &Conclusion) -> Option<(&'static str, &Note)> {
    conclusion.notes.iter().find_map(|note| match note.kind {
        NoteKind::Rollback => Some(("True", note)),
        NoteKind::RollbackRevisionNotFound | NoteKind::RollbackTemplateUnchanged => Some(("False", note)),
        NoteKind::ScalingSet | NoteKind::TriggerIgnored | NoteKind::SetClaimed => None,
    })
}
