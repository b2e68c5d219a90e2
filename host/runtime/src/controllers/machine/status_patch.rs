//! The status that a conclusion asks for, as a merge patch of the differences.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::MachineStatus;
use machinist_api::own_status::OwnMachineStatus;
use machinist_core::machine::{
    MachineConclusion, MachineCondition, MachineConditionKind, MachineReason, Requeue, Severity,
    StatusChange, in_place, preserve,
};
use machinist_core::scheduling::retry;
use machinist_core::value::phase::Phase;
use serde_json::{Map, Value, json};

use crate::controllers::objects::conditions::{
    MESSAGE_BYTES, READY, condition, is_same, is_same_text, merged,
};
use crate::machine_query::ReadyCondition;

use super::status_message::status_message;
use super::status_parts::{drain_memory, drain_status, vm_status};
use crate::controllers::facts::machine::observe::ObservedMachine;

/// `None` without differences. Times alone are no difference.
pub(super) fn of(
    observed: &ObservedMachine,
    conclusion: &MachineConclusion,
    now: Timestamp,
    jitter: f64,
) -> Option<Map<String, Value>> {
    let empty = MachineStatus::default();
    let current = observed.machine.status.as_ref().unwrap_or(&empty);
    let change = &conclusion.status;
    let mut patch = Map::new();
    let mut put = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            patch.insert(field.to_owned(), value);
        }
    };
    put("currentStatus", current_status(current, observed.view.machine.phase, change, now));
    put("lastOperation", last_operation(observed, current, conclusion, now));
    put("conditions", conditions(observed, change));
    put(
        "lastKnownState",
        changed_text(current.last_known_state.as_deref(), change.last_known_state.as_deref()),
    );
    put("addresses", addresses(observed, change));
    put("machinist", own(observed, current, conclusion, now, jitter));
    (!patch.is_empty()).then_some(patch)
}

fn current_status(
    current: &MachineStatus,
    phase: Phase,
    change: &StatusChange,
    now: Timestamp,
) -> Option<Value> {
    let differs = change.phase.is_some_and(|new| new != phase);
    let timeout =
        change.timeout_active.filter(|active| current.current_status.timeout_active != Some(*active));
    // Clocks start at this time. Where another program left none, they start with the first write.
    let has_no_clock = phase != Phase::New && current.current_status.last_update_time.is_none();
    let until = current.current_status.preserve_expiry_time.as_ref().map(|time| time.0.as_second());
    // Objects store whole seconds.
    let preserve = change.preserve_until.filter(|new| new.map(Timestamp::as_second) != until);
    if !differs && timeout.is_none() && !has_no_clock && preserve.is_none() {
        return None;
    }
    let mut value = Map::new();
    if has_no_clock {
        value.insert("lastUpdateTime".into(), time(now));
    }
    if let Some(phase) = change.phase.filter(|_| differs) {
        value.insert("phase".into(), json!(phase.as_str()));
        value.insert("lastUpdateTime".into(), time(now));
        if phase == Phase::Terminating {
            value.insert("preserveExpiryTime".into(), Value::Null);
        }
    }
    if let Some(active) = timeout {
        value.insert("timeoutActive".into(), json!(active));
    }
    if let Some(until) = preserve {
        // The drain of a preserved Machine counts from here.
        if until.is_some() {
            value.insert("lastUpdateTime".into(), time(now));
        }
        value.insert("preserveExpiryTime".into(), until.map_or(Value::Null, time));
    }
    Some(Value::Object(value))
}

fn last_operation(
    observed: &ObservedMachine,
    current: &MachineStatus,
    conclusion: &MachineConclusion,
    now: Timestamp,
) -> Option<Value> {
    let operation = conclusion.status.operation.as_ref()?;
    let description = status_message(&operation.note, observed.view.machine.key.name.as_str());
    let code = operation.code.map(machinist_core::driver::error::Code::name);
    let last = &current.last_operation;
    let current_description = last.description.as_deref().unwrap_or_default();
    let is_same = is_same_text(current_description, &description, repeats(observed, conclusion))
        && last.error_code.as_deref() == code
        && observed
            .view
            .machine
            .operation
            .is_some_and(|last| (last.kind, last.state) == (operation.kind, operation.state));
    if is_same {
        return None;
    }
    Some(json!({
        "type": operation.kind.as_str(),
        "state": operation.state.as_str(),
        "description": description,
        "errorCode": code,
        "lastUpdateTime": time(now),
    }))
}

/// Something was tried, has failed, and is tried again: in this reconcile, or in one before whose end it awaits.
pub(super) fn repeats(observed: &ObservedMachine, conclusion: &MachineConclusion) -> bool {
    match conclusion.wake {
        Requeue::Retry { .. } => true,
        Requeue::Check(_) => observed.view.failures > 0,
        Requeue::Resync | Requeue::Now | Requeue::After(_) | Requeue::Gone => false,
    }
}

/// Verbatim copies of the Node's conditions.
fn conditions(observed: &ObservedMachine, change: &StatusChange) -> Option<Value> {
    if !change.copies_conditions {
        return None;
    }
    let conditions = observed.node.as_ref()?.status.as_ref()?.conditions.as_ref()?;
    serde_json::to_value(conditions).ok()
}

fn changed_text(current: Option<&str>, wanted: Option<&str>) -> Option<Value> {
    wanted.filter(|wanted| current.unwrap_or_default() != *wanted).map(|wanted| json!(wanted))
}

fn addresses(observed: &ObservedMachine, change: &StatusChange) -> Option<Value> {
    let wanted = change.addresses.as_ref().filter(|wanted| **wanted != observed.view.machine.addresses)?;
    let one = |address: &machinist_core::driver::Address| json!({ "type": address.kind, "address": address.address });
    Some(Value::Array(wanted.iter().map(one).collect()))
}

/// `status.machinist`: why, for which generation, and until when.
fn own(
    observed: &ObservedMachine,
    current: &MachineStatus,
    conclusion: &MachineConclusion,
    now: Timestamp,
    jitter: f64,
) -> Option<Value> {
    let empty = OwnMachineStatus::default();
    let old = current.machinist.as_ref().unwrap_or(&empty);
    let generation = observed.machine.metadata.generation;
    let mut changed = vec![ready(old, conclusion, generation, now)];
    changed.extend(conclusion.status.conditions.iter().map(|own| own_condition(old, own, generation, now)));
    // This failure comes on top of those before.
    let attempt = match conclusion.wake {
        Requeue::Retry { policy, hint } => {
            Some(retry::attempt(policy, observed.view.failures.saturating_add(1), hint, jitter))
        }
        // No failure, and none is forgotten.
        Requeue::Check(pause) if observed.view.failures > 0 => Some(retry::Attempt {
            number: observed.view.failures,
            after: pause,
            is_news: false,
            is_announced: true,
        }),
        Requeue::Resync | Requeue::Now | Requeue::After(_) | Requeue::Check(_) | Requeue::Gone => None,
    };
    let attempts = attempt.as_ref().and_then(|attempt| i32::try_from(attempt.number).ok());
    let next = attempt.as_ref().filter(|attempt| attempt.is_announced);
    let next = next.and_then(|attempt| now.checked_add(attempt.after).ok());
    let is_counted = match &attempt {
        Some(attempt) => old.attempts.is_some() && !attempt.is_news,
        None => old.attempts.is_none(),
    };
    let domain =
        conclusion.status.failure_domain.as_ref().map(ToString::to_string).or(old.failure_domain.clone());
    let is_reported = |new: &Condition| {
        let repeats = new.type_ == READY && repeats(observed, conclusion);
        old.conditions.iter().any(|old| is_same(old, new, repeats))
    };
    let is_of_drain = |new: &&Condition| {
        new.type_ == MachineConditionKind::Drained.as_str()
            || new.reason == in_place::DRAINING
            || new.reason == preserve::DRAINING
    };
    let reports_drain = changed.iter().filter(is_of_drain).any(|new| !is_reported(new));
    let drain = drain(old, conclusion, reports_drain, now);
    let vm = conclusion.status.vm.as_ref().map(vm_status).or_else(|| old.vm.clone());
    let is_same = changed.iter().all(is_reported)
        && is_counted
        && old.failure_domain == domain
        && old.vm == vm
        && drain.is_none();
    if is_same {
        return None;
    }
    let conditions = merged(&old.conditions, &changed);
    let mut value = json!({
        "conditions": conditions,
        "observedGeneration": generation,
        "attempts": attempts,
        "nextAttempt": next.map(time),
        "failureDomain": domain,
    });
    if let (Some(vm), Some(fields)) = (vm.filter(|vm| old.vm.as_ref() != Some(vm)), value.as_object_mut()) {
        // A list that is left out would stay as it is.
        fields.insert("vm".to_owned(), json!({ "state": vm.state, "conditions": vm.conditions }));
    }
    if let (Some(drain), Some(fields)) = (drain, value.as_object_mut()) {
        fields.insert("drain".to_owned(), drain);
    }
    Some(value)
}

/// Returns the memory of a drain, if this reconcile changes or reports it.
fn drain(
    old: &OwnMachineStatus,
    conclusion: &MachineConclusion,
    is_reported: bool,
    now: Timestamp,
) -> Option<Value> {
    let memory = conclusion.status.drain_memory.as_ref();
    if !is_reported && memory.is_none() {
        return None;
    }
    let known = drain_memory(old);
    let reported_at = old.drain.as_ref().and_then(|drain| drain.reported_at.as_ref()).map(|time| time.0);
    let reported_at = if is_reported { Some(now) } else { reported_at };
    let status = drain_status(memory.unwrap_or(&known), reported_at);
    // A list that is left out would stay as it is.
    Some(json!({ "toldAt": status.reported_at, "volumes": status.volumes }))
}

fn ready(
    old: &OwnMachineStatus,
    conclusion: &MachineConclusion,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    condition(
        &old.conditions,
        (READY, readiness(conclusion.reason)),
        (conclusion.reason.as_str(), &conclusion.message),
        generation,
        now,
    )
}

/// The condition Ready for this reason.
fn readiness(reason: MachineReason) -> &'static str {
    match reason {
        MachineReason::NodeHealthy | MachineReason::VmCreated => "True",
        reason if reason.severity() == Severity::Normal => "False",
        MachineReason::CloudUnreachable => "Unknown",
        _ => "False",
    }
}

/// The condition Ready for who asks this process, also where the CRDs drop it.
pub(super) fn ready_condition(conclusion: &MachineConclusion, now: Timestamp) -> ReadyCondition {
    ReadyCondition {
        status: readiness(conclusion.reason).to_owned(),
        reason: conclusion.reason.as_str().to_owned(),
        message: crate::events::clip(&conclusion.message, MESSAGE_BYTES),
        since: now,
    }
}

fn own_condition(
    old: &OwnMachineStatus,
    own: &MachineCondition,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let status = own.status.to_string();
    condition(&old.conditions, (own.kind.as_str(), &status), (own.reason, &own.message), generation, now)
}

/// As objects store it.
fn time(at: Timestamp) -> Value {
    json!(machinist_api::value::time(at))
}
