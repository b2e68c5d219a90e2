//! The status that a conclusion asks for, as a merge patch of the differences.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::machine::LastOperation;
use machinist_api::machine_set::{MachineSetCondition, MachineSummary};
use machinist_api::{Machine, MachineSetStatus};
use machinist_core::machine_set::{SetConclusion, SetConditionKind, SetReason, SetStatus};
use machinist_core::value::id::Uid;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::controllers::objects::conditions::{READY, condition, own_status};

use crate::controllers::facts::machine_set::observe::ObservedSet;

/// `None` without differences. Times alone are no difference.
pub(super) fn of(
    observed: &ObservedSet,
    machines: &BTreeMap<Uid, Arc<Machine>>,
    conclusion: &SetConclusion,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let empty = MachineSetStatus::default();
    let current = observed.set.status.as_ref().unwrap_or(&empty);
    let status = &conclusion.status;
    let mut patch = Map::new();
    let mut count = |field: &str, stored: Option<i32>, wanted: usize| {
        let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
        if stored.unwrap_or_default() != wanted {
            patch.insert(field.to_owned(), json!(wanted));
        }
    };
    count("replicas", current.replicas, status.replicas);
    count("fullyLabeledReplicas", current.fully_labeled_replicas, status.fully_labeled);
    count("readyReplicas", current.ready_replicas, status.ready);
    count("availableReplicas", current.available_replicas, status.available);
    count("preservedFailedReplicas", current.preserved_failed_replicas, status.preserved_failed);
    count(
        "autoPreserveFailedMachineCount",
        current.auto_preserve_failed_machine_count,
        status.auto_preserved,
    );
    let mut put = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            patch.insert(field.to_owned(), value);
        }
    };
    // A status that was never written says 0 of all, and that is said once.
    put("replicas", (current.replicas.is_none()).then(|| json!(status.replicas)));
    let generation = status.observed_generation.filter(|new| current.observed_generation != Some(*new));
    put("observedGeneration", generation.map(|generation| json!(generation)));
    put("machineSetCondition", conditions(&current.conditions, status, now));
    put("lastOperation", last_operation(current, conclusion, now));
    put("failedMachines", failed_machines(observed, machines, current, status));
    put("machinist", own(observed, current, conclusion, now));
    (!patch.is_empty()).then_some(patch)
}

/// Conditions that others count; those of kinds that we do not know stay.
fn conditions(old: &[MachineSetCondition], status: &SetStatus, now: Timestamp) -> Option<Value> {
    let kinds = [SetConditionKind::ReplicaFailure, SetConditionKind::Frozen];
    let is_ours =
        |condition: &&MachineSetCondition| kinds.iter().any(|kind| kind.as_str() == condition.type_);
    let wanted = status.conditions.iter().map(|condition| {
        let kind = condition.kind.as_str();
        let stored = old.iter().find(|old| old.type_ == kind && old.status == "True");
        MachineSetCondition {
            type_: kind.to_owned(),
            status: "True".to_owned(),
            last_transition_time: stored
                .and_then(|old| old.last_transition_time.clone())
                .or_else(|| Some(machinist_api::value::time(now))),
            reason: Some(condition.reason.to_owned()),
            message: Some(condition.message.clone()),
        }
    });
    let kept = old.iter().filter(|condition| !is_ours(condition)).cloned();
    let wanted: Vec<MachineSetCondition> = kept.chain(wanted).collect();
    (wanted != old).then(|| listed(&wanted))
}

/// An empty list is taken away.
fn listed<T: Serialize>(items: &[T]) -> Value {
    if items.is_empty() { Value::Null } else { json!(items) }
}

fn last_operation(current: &MachineSetStatus, conclusion: &SetConclusion, now: Timestamp) -> Option<Value> {
    let operation = conclusion.status.operation.as_ref()?;
    let last = &current.last_operation;
    let is_same = last.description.as_deref() == Some(&operation.text)
        && last.type_.as_ref().is_some_and(|kind| *kind == operation.kind)
        && last.state.as_ref().is_some_and(|state| *state == operation.state);
    (!is_same).then(|| {
        json!({
            "type": operation.kind.as_str(),
            "state": operation.state.as_str(),
            "description": operation.text,
            "lastUpdateTime": machinist_api::value::time(now),
        })
    })
}

fn failed_machines(
    observed: &ObservedSet,
    machines: &BTreeMap<Uid, Arc<Machine>>,
    current: &MachineSetStatus,
    status: &SetStatus,
) -> Option<Value> {
    let named = |name: &str| machines.values().find(|machine| machine.metadata.name.as_deref() == Some(name));
    let summary = |machine: &Arc<Machine>| MachineSummary {
        name: machine.metadata.name.clone(),
        provider_id: machine.provider_id().map(str::to_owned),
        last_operation: machine
            .status
            .as_ref()
            .map(|status| status.last_operation.clone())
            .unwrap_or_default(),
        owner_ref: observed.set.metadata.name.clone(),
    };
    let wanted: Vec<MachineSummary> =
        status.failed.iter().filter_map(|name| named(name.as_str()).map(summary)).collect();
    let timeless = |summaries: &[MachineSummary]| -> Vec<MachineSummary> {
        let without = |summary: &MachineSummary| MachineSummary {
            last_operation: LastOperation { last_update_time: None, ..summary.last_operation.clone() },
            ..summary.clone()
        };
        summaries.iter().map(without).collect()
    };
    (timeless(&wanted) != timeless(&current.failed_machines)).then(|| listed(&wanted))
}

/// `status.machinist`: why, and for which generation.
fn own(
    observed: &ObservedSet,
    current: &MachineSetStatus,
    conclusion: &SetConclusion,
    now: Timestamp,
) -> Option<Value> {
    let old: &[Condition] =
        current.machinist.as_ref().map(|own| own.conditions.as_slice()).unwrap_or_default();
    let generation = observed.set.metadata.generation;
    let ready = if conclusion.reason == SetReason::AllAvailable { "True" } else { "False" };
    let mut changed = vec![condition(
        old,
        (READY, ready),
        (conclusion.reason.as_str(), &conclusion.message),
        generation,
        now,
    )];
    changed.extend(conclusion.status.own_conditions.iter().map(|own| {
        let status = own.status.to_string();
        condition(old, (own.kind.as_str(), &status), (own.reason, &own.message), generation, now)
    }));
    own_status(current.machinist.as_ref(), &changed, generation)
}
