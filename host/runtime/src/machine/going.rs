//! What a Machine says about its own deletion.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::NodeCondition;
use machinist_api::names::{annotations, labels};
use machinist_api::{Machine, compat};
use machinist_core::duration;
use machinist_core::health::{Ailment, READ_ONLY, READY, Status};
use machinist_core::machine::{ConditionKind, DeletionStage, GoingFact, OperationFact, ToldFact};
use machinist_core::phase::{OperationType, Phase};

/// The texts that Go's `strconv.ParseBool` reads as true.
const GO_TRUE: [&str; 6] = ["1", "t", "T", "TRUE", "true", "True"];

pub(super) fn going(machine: &Machine, phase: Phase, operation: Option<OperationFact>) -> GoingFact {
    let label = |key: &str| machine.metadata.labels.as_ref()?.get(key).map(String::as_str);
    let limit = hook_timeout(machine);
    let last = machine.status.as_ref().map(|status| &status.last_operation);
    GoingFact {
        is_forced: label(labels::FORCE_DELETION).is_some_and(is_true),
        pre_drain_hooks: hooks(machine, annotations::PRE_DRAIN_HOOK),
        pre_terminate_hooks: hooks(machine, annotations::PRE_TERMINATE_HOOK),
        pre_terminate_since: annotation(machine, annotations::PRE_TERMINATE_SINCE)
            .and_then(|text| text.parse().ok()),
        bad_hook_timeout: limit.and_then(Result::err),
        is_vm_declared_gone: annotation(machine, annotations::VM_IS_GONE).is_some_and(is_true),
        left_at: left_at(machine, phase, operation),
        left_since: last.and_then(|last| last.last_update_time.as_ref()).map(|time| time.0),
        has_error_code: last.is_some_and(|last| last.error_code.is_some()),
        told: told(machine),
    }
}

/// The Machine's own limit for hooks, or what is wrong with it.
pub(super) fn hook_timeout(machine: &Machine) -> Option<Result<SignedDuration, String>> {
    let key = annotations::DELETION_HOOK_TIMEOUT;
    let text = annotation(machine, key)?;
    Some(match duration::parse(text) {
        Ok(limit) => Ok(limit.max(SignedDuration::ZERO)),
        Err(error) => Err(format!("annotation {key} is no duration, so that the flag's counts: {error}")),
    })
}

fn annotation<'a>(machine: &'a Machine, key: &str) -> Option<&'a str> {
    machine.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn is_true(text: &str) -> bool {
    GO_TRUE.contains(&text)
}

fn hooks(machine: &Machine, prefix: &str) -> Vec<String> {
    let keys = machine.metadata.annotations.iter().flat_map(|all| all.keys());
    keys.filter(|key| key.strip_prefix(prefix).is_some_and(|name| !name.is_empty())).cloned().collect()
}

/// How far somebody had come, by the one text that is read: it tells that the removal of a VM has begun, which no object of
/// a cluster does. Any text but a deletion's says nothing.
fn left_at(machine: &Machine, phase: Phase, operation: Option<OperationFact>) -> Option<DeletionStage> {
    let is_deletion = operation.is_some_and(|last| last.kind == OperationType::Delete);
    let description = machine.status.as_ref()?.last_operation.description.as_deref()?;
    (phase == Phase::Terminating && is_deletion).then(|| compat::stage_left_at(description))
}

fn told(machine: &Machine) -> Option<ToldFact> {
    let own = machine.status.as_ref()?.machinist.as_ref()?;
    let kind = ConditionKind::Drained.as_str();
    let condition = own.conditions.iter().find(|condition| condition.type_ == kind)?;
    let at = own.drain.as_ref().and_then(|drain| drain.told_at.as_ref());
    Some(ToldFact {
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        at: at.map(|time| time.0),
    })
}

/// What speaks of a Node whose pods cannot end by themselves.
pub(super) fn ailment(conditions: &[NodeCondition]) -> Ailment {
    let since = |kind: &str, healthy: Status| -> Option<Timestamp> {
        let condition = conditions.iter().find(|condition| condition.type_ == kind)?;
        let is_ailing = Status::parse(&condition.status) != healthy;
        condition.last_transition_time.as_ref().filter(|_| is_ailing).map(|time| time.0)
    };
    Ailment { not_ready_since: since(READY, Status::True), read_only_since: since(READ_ONLY, Status::False) }
}
