//! Effects on the Nodes of a deployment's Machines.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::Api;
use machinist_api::names::{annotations, labels, taints};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine_deployment::RolloutNodeChange;
use machinist_core::value::id::NodeName;
use serde_json::{Map, Value, json};

use crate::client::errors::within_deadline;
use crate::client::writes::{WriteOutcome, merge};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::objects::metadata::Metadata;

use crate::controllers::facts::machine_deployment::observe::ObservedDeployment;
use crate::controllers::facts::machine_deployment::{YES, members};

/// How often a kubelet may be faster than one write; the next reconcile tries again.
const ATTEMPTS: usize = 3;

/// Writes the differences to the version that was read. Kubelets write their Nodes all the time: a change that does not
/// concern the decision is no conflict.
pub(super) async fn write(
    context: &Context,
    observed: &ObservedDeployment,
    name: &NodeName,
    change: &RolloutNodeChange,
) -> WriteOutcome {
    let seen = observed.nodes.get(name).ok_or(ActError::Gone)?;
    let target =
        context.target.clone().ok_or(ActError::Forbidden { reason: "there is no target cluster" })?;
    let api: Api<Node> = Api::all(target);
    let mut latest = seen.clone();
    for _ in 0..ATTEMPTS {
        let patch = patch(&latest, change);
        match merge(&api, Kind::Node, name.as_str(), patch).await {
            Err(ActError::Conflict) => {}
            done => return done,
        }
        match within_deadline(api.get_opt(name.as_str())).await? {
            Some(node) if is_as_decided(seen, &node) => latest = Arc::new(node),
            Some(_) => return Err(ActError::Conflict),
            None => return Err(ActError::Gone),
        }
    }
    Err(ActError::Conflict)
}

fn is_as_decided(seen: &Node, latest: &Node) -> bool {
    seen.metadata.uid == latest.metadata.uid && members::node(seen) == members::node(latest)
}

fn patch(node: &Node, change: &RolloutNodeChange) -> Value {
    let flag = |is_wanted: bool| if is_wanted { json!(YES) } else { Value::Null };
    let mut of_labels = Map::new();
    let mut of_annotations = Map::new();
    if let Some(is_wanted) = change.candidate {
        of_labels.insert(labels::CANDIDATE_FOR_UPDATE.to_owned(), flag(is_wanted));
    }
    if let Some(is_wanted) = change.selected {
        of_labels.insert(labels::SELECTED_FOR_UPDATE.to_owned(), flag(is_wanted));
    }
    if change.ends_update {
        for label in [labels::CANDIDATE_FOR_UPDATE, labels::SELECTED_FOR_UPDATE, labels::UPDATE_RESULT] {
            of_labels.insert(label.to_owned(), Value::Null);
        }
        of_annotations.insert(annotations::UPDATE_FAILED_REASON.to_owned(), Value::Null);
    }
    if let Some(is_wanted) = change.holds_autoscaler {
        for key in [annotations::SCALE_DOWN_DISABLED, annotations::SCALE_DOWN_DISABLED_BY_US] {
            of_annotations.insert(key.to_owned(), flag(is_wanted));
        }
    }
    let mut spec = Map::new();
    if change.uncordons {
        spec.insert("unschedulable".to_owned(), Value::Null);
    }
    if let Some(taints) = taints_of(node, change) {
        spec.insert("taints".to_owned(), json!(taints));
    }
    let metadata =
        Metadata::of(&node.metadata).in_version(&node.metadata).with_change(&of_labels, &of_annotations);
    if spec.is_empty() { metadata.patch() } else { metadata.patch_with_spec(&Value::Object(spec)) }
}

/// The list as it is to be, which is written whole; `None` when it stays.
fn taints_of(node: &Node, change: &RolloutNodeChange) -> Option<Vec<Taint>> {
    let has = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    let mut wanted = has.clone();
    if change.old_taint == Some(false) {
        wanted.retain(|taint| taint.key != taints::PREFER_NO_SCHEDULE);
    }
    let added = [
        (change.old_taint == Some(true), taints::PREFER_NO_SCHEDULE, Some("True"), "PreferNoSchedule"),
        (change.ends_update, taints::CRITICAL_COMPONENTS_NOT_READY, None, "NoSchedule"),
    ];
    for (is_added, key, value, effect) in added {
        if is_added && !wanted.iter().any(|taint| taint.key == key && taint.effect == effect) {
            wanted.push(Taint {
                key: key.to_owned(),
                value: value.map(str::to_owned),
                effect: effect.to_owned(),
                time_added: None,
            });
        }
    }
    (wanted != has).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        serde_json::from_value(json!({
            "metadata": { "name": "n", "uid": "u", "resourceVersion": "7" },
            "spec": { "taints": [{ "key": "pool", "effect": "NoSchedule" }] },
        }))
        .unwrap()
    }

    #[test]
    fn a_node_of_an_old_set_gets_taint_and_annotations_beside_what_it_has() {
        let change = RolloutNodeChange {
            old_taint: Some(true),
            holds_autoscaler: Some(true),
            ..RolloutNodeChange::default()
        };
        let expected = json!({
            "metadata": {
                "uid": "u", "resourceVersion": "7",
                "annotations": {
                    "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
                    "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm": "true",
                },
            },
            "spec": { "taints": [
                { "key": "pool", "effect": "NoSchedule" },
                {
                    "key": "deployment.machine.sapcloud.io/prefer-no-schedule", "value": "True",
                    "effect": "PreferNoSchedule",
                },
            ] },
        });
        assert_eq!(patch(&node(), &change), expected);
    }

    #[test]
    fn the_end_of_an_update_takes_away_what_was_said_of_it_and_waits_for_critical_components() {
        let change = RolloutNodeChange { ends_update: true, uncordons: true, ..RolloutNodeChange::default() };
        let patch = patch(&node(), &change);
        let labels = patch["metadata"]["labels"].as_object().unwrap();
        assert!(labels.len() == 3 && labels.values().all(Value::is_null), "{patch}");
        assert!(patch["metadata"]["annotations"][annotations::UPDATE_FAILED_REASON].is_null());
        assert_eq!(patch["spec"]["taints"][1]["key"], taints::CRITICAL_COMPONENTS_NOT_READY);
        assert!(patch["spec"].as_object().unwrap()["unschedulable"].is_null());
    }

    #[test]
    fn a_taint_that_is_not_wanted_any_more_goes_and_the_others_stay() {
        let mut node = node();
        let spec = node.spec.get_or_insert_default();
        spec.taints.get_or_insert_default().push(Taint {
            key: taints::PREFER_NO_SCHEDULE.to_owned(),
            effect: "PreferNoSchedule".to_owned(),
            ..Taint::default()
        });
        let change = RolloutNodeChange { old_taint: Some(false), ..RolloutNodeChange::default() };
        assert_eq!(patch(&node, &change)["spec"]["taints"].as_array().unwrap().len(), 1);
    }
}
