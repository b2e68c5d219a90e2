//! Facts about the deletion of a Machine, from its own fields.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::NodeCondition;
use machinist_api::names::{annotations, labels};
use machinist_api::{Machine, compat};
use machinist_core::machine::node::health::{ConditionStatus, HealthProblem, READ_ONLY, READY};
use machinist_core::machine::{
    DeletionFact, DeletionStage, MachineConditionKind, OperationFact, ReportedCondition,
};
use machinist_core::value::duration;
use machinist_core::value::phase::{OperationType, Phase};

use crate::controllers::objects::metadata::{annotation, label};

/// The texts that Go's `strconv.ParseBool` reads as true.
const GO_TRUE: [&str; 6] = ["1", "t", "T", "TRUE", "true", "True"];

pub(crate) fn facts(machine: &Machine, phase: Phase, operation: Option<OperationFact>) -> DeletionFact {
    let limit = hook_timeout(machine);
    let last = machine.status.as_ref().map(|status| &status.last_operation);
    DeletionFact {
        is_forced: label(&machine.metadata, labels::FORCE_DELETION).is_some_and(is_true),
        pre_drain_hooks: hooks(machine, annotations::PRE_DRAIN_HOOK),
        pre_terminate_hooks: hooks(machine, annotations::PRE_TERMINATE_HOOK),
        pre_terminate_since: annotation(&machine.metadata, annotations::PRE_TERMINATE_SINCE)
            .and_then(|text| text.parse().ok()),
        bad_hook_timeout: limit.and_then(Result::err),
        is_vm_declared_gone: annotation(&machine.metadata, annotations::VM_IS_GONE).is_some_and(is_true),
        left_at: left_at(machine, phase, operation),
        left_since: last.and_then(|last| last.last_update_time.as_ref()).map(|time| time.0),
        has_error_code: last.is_some_and(|last| last.error_code.is_some()),
        reported: last_report(machine, MachineConditionKind::Drained),
        delete_request: None,
        usual_removal: None,
    }
}

/// Returns the Machine's own limit for hooks, or why it is invalid.
pub(crate) fn hook_timeout(machine: &Machine) -> Option<Result<SignedDuration, String>> {
    let key = annotations::DELETION_HOOK_TIMEOUT;
    let text = annotation(&machine.metadata, key)?;
    Some(match duration::parse(text) {
        Ok(limit) => Ok(limit.max(SignedDuration::ZERO)),
        Err(error) => Err(format!("annotation {key} is no duration, so that the flag's counts: {error}")),
    })
}

pub(crate) fn is_true(text: &str) -> bool {
    GO_TRUE.contains(&text)
}

fn hooks(machine: &Machine, prefix: &str) -> Vec<String> {
    let keys = machine.metadata.annotations.iter().flat_map(|all| all.keys());
    keys.filter(|key| key.strip_prefix(prefix).is_some_and(|name| !name.is_empty())).cloned().collect()
}

/// Returns how far another controller had come, by the one description that is read: no object of a cluster shows that
/// the deletion of a VM has begun. Descriptions of other operations do not count.
fn left_at(machine: &Machine, phase: Phase, operation: Option<OperationFact>) -> Option<DeletionStage> {
    let is_deletion = operation.is_some_and(|last| last.kind == OperationType::Delete);
    let description = machine.status.as_ref()?.last_operation.description.as_deref()?;
    (phase == Phase::Terminating && is_deletion).then(|| compat::stage_left_at(description))
}

/// The progress of a drain in a condition.
pub(crate) fn last_report(machine: &Machine, kind: MachineConditionKind) -> Option<ReportedCondition> {
    let own = machine.status.as_ref()?.machinist.as_ref()?;
    let kind = kind.as_str();
    let condition = own.conditions.iter().find(|condition| condition.type_ == kind)?;
    let at = own.drain.as_ref().and_then(|drain| drain.reported_at.as_ref());
    Some(ReportedCondition {
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        at: at.map(|time| time.0),
        since: Some(condition.last_transition_time.0),
    })
}

/// The signs of a Node whose pods cannot end alone.
pub(crate) fn health_problem(conditions: &[NodeCondition]) -> HealthProblem {
    let since = |kind: &str, healthy: ConditionStatus| -> Option<Timestamp> {
        let condition = conditions.iter().find(|condition| condition.type_ == kind)?;
        let is_problem = ConditionStatus::parse(&condition.status) != healthy;
        condition.last_transition_time.as_ref().filter(|_| is_problem).map(|time| time.0)
    };
    HealthProblem {
        not_ready_since: since(READY, ConditionStatus::True),
        read_only_since: since(READ_ONLY, ConditionStatus::False),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn machine(metadata: &Value, status: &Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": machinist_api::names::API_VERSION, "kind": "Machine",
            "metadata": metadata, "spec": { "class": {} }, "status": status,
        }))
        .unwrap()
    }

    fn of(machine: &Machine) -> DeletionFact {
        let (kind, state) = (OperationType::Delete, machinist_core::value::phase::OperationState::Processing);
        facts(machine, Phase::Terminating, Some(OperationFact { kind, state }))
    }

    #[test]
    fn the_label_forces_with_the_texts_that_go_reads_as_true_and_no_others() {
        let is_forced = |text: &str| {
            of(&machine(&json!({ "labels": { "force-deletion": text } }), &Value::Null)).is_forced
        };
        for text in GO_TRUE {
            assert!(is_forced(text), "{text}");
        }
        for text in ["", "yes", "tRUE", "0", "false", " true"] {
            assert!(!is_forced(text), "{text}");
        }
    }

    #[test]
    fn hooks_are_read_by_prefix_and_a_bad_limit_is_reported() {
        let annotations = json!({
            "pre-drain.delete.hook.machine.cluster.x-k8s.io/b": "owner",
            "pre-drain.delete.hook.machine.cluster.x-k8s.io/a": "",
            "pre-drain.delete.hook.machine.cluster.x-k8s.io/": "",
            "pre-terminate.delete.hook.machine.cluster.x-k8s.io/etcd": "",
            "machinist.dev/deletion-hook-timeout": "soon",
            "machinist.dev/pre-terminate-since": "2026-01-01T00:00:00Z",
            "machinist.dev/vm-is-gone": "true",
        });
        let deletion = of(&machine(&json!({ "annotations": annotations }), &Value::Null));
        let short: Vec<_> =
            deletion.pre_drain_hooks.iter().filter_map(|key| key.split('/').next_back()).collect();
        assert_eq!(short, ["a", "b"]);
        assert_eq!(deletion.pre_terminate_hooks.len(), 1);
        assert!(deletion.is_vm_declared_gone);
        assert_eq!(deletion.pre_terminate_since, "2026-01-01T00:00:00Z".parse().ok());
        let problem = deletion.bad_hook_timeout.unwrap();
        assert!(
            problem.contains("machinist.dev/deletion-hook-timeout") && problem.contains("flag"),
            "{problem}"
        );
    }

    #[test]
    fn only_a_deletions_text_says_how_far_somebody_had_come() {
        let status = json!({ "lastOperation": { "description": "Drain successful. Initiate VM deletion" } });
        let machine = machine(&json!({}), &status);
        assert_eq!(of(&machine).left_at, Some(DeletionStage::Vm));
        let other = OperationFact {
            kind: OperationType::HealthCheck,
            state: machinist_core::value::phase::OperationState::Failed,
        };
        assert_eq!(facts(&machine, Phase::Terminating, Some(other)).left_at, None);
        assert_eq!(facts(&machine, Phase::Running, None).left_at, None);
    }

    #[test]
    fn a_problem_begins_with_its_conditions_last_transition() {
        let condition = |kind: &str, status: &str| -> NodeCondition {
            serde_json::from_value(
                json!({ "type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z" }),
            )
            .unwrap()
        };
        let since: Option<Timestamp> = "2026-01-01T00:00:00Z".parse().ok();
        let unhealthy =
            health_problem(&[condition("Ready", "Unknown"), condition("ReadonlyFilesystem", "True")]);
        assert_eq!(unhealthy, HealthProblem { not_ready_since: since, read_only_since: since });
        let healthy = health_problem(&[condition("Ready", "True"), condition("ReadonlyFilesystem", "False")]);
        assert_eq!((healthy, health_problem(&[])), (HealthProblem::default(), HealthProblem::default()));
    }
}
