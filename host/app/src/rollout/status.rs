//! How far a rollout is, in the words of `kubectl rollout status`. Pure.

use machinist_api::MachineDeployment;
use machinist_api::names::conditions;
use machinist_core::machine_deployment::{DeploymentReason, RolloutCounts, RolloutStage, words};

use crate::owner_tree::{Note, count, name, of_deployment, revision};

/// A message of `rollout status`, and whether others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StatusMessage {
    Waiting(String),
    Done(String),
    /// The rollout cannot complete, or is not the requested one.
    Failed(String),
}

/// Returns the message about a deployment. `wished`: the revision that is to be rolled out; 0 is any.
pub(super) fn status_message(deployment: &MachineDeployment, wished: i64, program: &str) -> StatusMessage {
    let name = name(&deployment.metadata);
    if deployment.metadata.deletion_timestamp.is_some() {
        return StatusMessage::Failed(format!("machinedeployment {name:?} is being deleted"));
    }
    let running = revision(&deployment.metadata);
    if wished > 0 && wished != running {
        return StatusMessage::Failed(format!(
            "desired revision ({wished}) is different from the running revision ({running})"
        ));
    }
    let status = deployment.status.clone().unwrap_or_default();
    let is_observed =
        status.observed_generation.is_some_and(|observed| Some(observed) >= deployment.metadata.generation);
    let notes = of_deployment(deployment);
    if is_observed && let Some(failed) = failed(deployment, &notes) {
        return StatusMessage::Failed(failed);
    }
    let counts = RolloutCounts {
        wanted: count(deployment.spec.replicas),
        updated: count(status.updated_replicas),
        replicas: count(status.replicas),
        available: count(status.available_replicas),
    };
    let waiting = format!("Waiting for machinedeployment {name:?} rollout to finish");
    let text = match RolloutStage::of(counts, is_observed) {
        RolloutStage::Complete => {
            return StatusMessage::Done(format!("machinedeployment {name:?} successfully rolled out"));
        }
        RolloutStage::Unobserved => "Waiting for machinedeployment spec update to be observed...".to_owned(),
        RolloutStage::Updating => {
            format!(
                "{waiting}: {} out of {} new replicas have been updated...",
                counts.updated, counts.wanted
            )
        }
        RolloutStage::Leaving(replicas) => {
            format!("{waiting}: {replicas} old replicas are pending termination...")
        }
        RolloutStage::Waiting => {
            format!("{waiting}: {} of {} updated replicas are available...", counts.available, counts.updated)
        }
    };
    let paused = (deployment.spec.paused == Some(true))
        .then(|| format!("it is paused: `{program} rollout resume {name}` lets it go on"));
    let is_shown = |note: &&Note| is_observed && paused.is_none() && !note.message.is_empty();
    let why = notes.iter().find(is_shown).map(|note| format!("{}: {}", note.reason, note.message));
    StatusMessage::Waiting(
        [Some(text), paused.or(why)].into_iter().flatten().collect::<Vec<_>>().join("\n  "),
    )
}

/// Why it will not get any further.
fn failed(deployment: &MachineDeployment, notes: &[Note]) -> Option<String> {
    let name = name(&deployment.metadata);
    let status = deployment.status.as_ref()?;
    let why = |reason: DeploymentReason| {
        notes.iter().find(|note| note.reason == reason.as_str()).map(|note| &note.message)
    };
    for reason in [DeploymentReason::InvalidDeployment, DeploymentReason::SelectingAll] {
        if let Some(message) = why(reason) {
            return Some(format!("machinedeployment {name:?} is not rolled out: {message}"));
        }
    }
    let late = status.conditions.iter().find(|condition| {
        condition.type_ == conditions::PROGRESSING && condition.reason.as_deref() == Some(words::LATE)
    })?;
    let message =
        why(DeploymentReason::ProgressDeadlineExceeded).map(String::as_str).or(late.message.as_deref());
    let message = message.filter(|message| !message.is_empty()).map(|message| format!(": {message}"));
    Some(format!("machinedeployment {name:?} exceeded its progress deadline{}", message.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Wanted, updated, all and available; with more in spec and status.
    fn check(numbers: [i32; 4], more: &Value, wished: i64, expected: &StatusMessage) {
        let [wanted, updated, replicas, available] = numbers;
        let mut value = json!({
            "metadata": {
                "name": "workers", "generation": 2, "annotations": { "deployment.kubernetes.io/revision": "4" },
            },
            "spec": { "replicas": wanted },
            "status": {
                "observedGeneration": 2, "updatedReplicas": updated, "replicas": replicas, "availableReplicas": available,
            },
        });
        json_patch_merge(&mut value, more);
        let deployment = serde_json::from_value(value).unwrap();
        assert_eq!(status_message(&deployment, wished, "machinist"), *expected);
    }

    fn json_patch_merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    json_patch_merge(into.entry(key).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from.clone(),
        }
    }

    fn waiting(text: &str) -> StatusMessage {
        StatusMessage::Waiting(text.to_owned())
    }

    fn ready(reason: &str, message: &str) -> Value {
        json!({ "conditions": [{
            "type": "Ready", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] })
    }

    fn late(message: &str) -> Value {
        json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": message }])
    }

    #[test]
    fn a_rollout_is_reported_in_kubectls_words_until_it_is_done() {
        let none = json!({});
        let head = "Waiting for machinedeployment \"workers\" rollout to finish";
        check(
            [3, 1, 4, 3],
            &none,
            0,
            &waiting(&format!("{head}: 1 out of 3 new replicas have been updated...")),
        );
        check(
            [3, 3, 4, 3],
            &none,
            0,
            &waiting(&format!("{head}: 1 old replicas are pending termination...")),
        );
        check([3, 3, 3, 2], &none, 0, &waiting(&format!("{head}: 2 of 3 updated replicas are available...")));
        let done = StatusMessage::Done("machinedeployment \"workers\" successfully rolled out".to_owned());
        check([3, 3, 3, 3], &none, 0, &done);
        check([3, 3, 3, 3], &none, 4, &done);
    }

    #[test]
    fn a_change_that_nobody_has_looked_at_is_awaited() {
        let text = waiting("Waiting for machinedeployment spec update to be observed...");
        check([3, 3, 3, 3], &json!({ "metadata": { "generation": 3 } }), 0, &text);
        check([3, 3, 3, 3], &json!({ "status": null }), 0, &text);
        // A condition about an earlier spec is no failure of this one.
        let old = json!({ "metadata": { "generation": 3 }, "status": { "conditions": late("x") } });
        check([3, 1, 3, 3], &old, 0, &text);
    }

    #[test]
    fn the_reason_of_a_wait_is_shown_and_so_is_a_pause() {
        let head = "Waiting for machinedeployment \"workers\" rollout to finish: 1 out of 3 new replicas have been updated...";
        let status = json!({ "status": { "machinist": ready("WaitingForMachines", "waits for w-1") } });
        check([3, 1, 4, 3], &status, 0, &waiting(&format!("{head}\n  WaitingForMachines: waits for w-1")));
        let paused = json!({
            "spec": { "paused": true }, "status": { "machinist": ready("Paused", "the rollout is paused") },
        });
        let expected = format!("{head}\n  it is paused: `machinist rollout resume workers` lets it go on");
        check([3, 1, 4, 3], &paused, 0, &waiting(&expected));
    }

    #[test]
    fn what_will_not_end_by_itself_is_a_failure() {
        let failed = |text: &str| StatusMessage::Failed(text.to_owned());
        let deadline = json!({ "status": { "conditions": late("no progress since: x") } });
        let text = "machinedeployment \"workers\" exceeded its progress deadline: no progress since: x";
        check([3, 1, 4, 3], &deadline, 0, &failed(text));
        let own = json!({ "status": {
            "conditions": late("x"), "machinist": ready("ProgressDeadlineExceeded", "fix what holds it up"),
        } });
        let text = "machinedeployment \"workers\" exceeded its progress deadline: fix what holds it up";
        check([3, 1, 4, 3], &own, 0, &failed(text));
        let invalid = json!({ "status": { "machinist": ready("InvalidDeployment", "spec.replicas is -1") } });
        let text = "machinedeployment \"workers\" is not rolled out: spec.replicas is -1";
        check([3, 3, 3, 3], &invalid, 0, &failed(text));
        let going = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        check([3, 3, 3, 3], &going, 0, &failed("machinedeployment \"workers\" is being deleted"));
        let other = "desired revision (3) is different from the running revision (4)";
        check([3, 3, 3, 3], &json!({}), 3, &failed(other));
    }
}
