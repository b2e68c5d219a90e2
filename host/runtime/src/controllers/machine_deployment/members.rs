//! Facts about the Machines of a deployment and their Nodes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::core::ObjectMeta;
use machinist_api::{Machine, names};
use machinist_core::machine::node::preservation::{self, AUTO_PRESERVED, NOW, WHEN_FAILED};
use machinist_core::machine_deployment::{
    MachineFact, NodeFact, Preserved, ScaleDown, UpdateResult, UpdateStage,
};
use machinist_core::value::id::{Name, NodeName, Uid};
use machinist_core::value::phase::Phase;

use crate::cache::fields::phase_of;

use super::names::{UPDATED, YES};

/// Of Machines that say nothing, or nothing that can be read.
const DEFAULT_PRIORITY: i64 = 3;

/// What a deployment wants to know of a Machine. `node` is its Node, when that is there.
pub(super) fn machine(machine: &Machine, node: Option<&Node>) -> MachineFact {
    let meta = &machine.metadata;
    let annotation = |key: &str| meta.annotations.as_ref()?.get(key).map(String::as_str);
    let label = |key: &str| meta.labels.as_ref()?.get(key);
    let phase = phase_of(machine);
    let status = machine.status.as_ref();
    let until = status.and_then(|status| status.current_status.preserve_expiry_time.as_ref());
    let is_automatic = annotation(names::annotations::PRESERVE) == Some(AUTO_PRESERVED);
    let priority = annotation(names::annotations::PRIORITY).and_then(|text| text.trim().parse().ok());
    MachineFact {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        is_deleting: meta.deletion_timestamp.is_some() || phase == Phase::Terminating,
        phase,
        preserved: until.map(|until| Preserved { is_automatic, until: until.0 }),
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
        marked_at: annotation(names::annotations::MARKED_FOR_DELETION_TIME)
            .and_then(|text| text.parse().ok()),
        is_labelled_updated: label(names::labels::UPDATE_RESULT).is_some_and(|value| value == UPDATED),
        is_unreadable: false,
        hash: label(names::labels::TEMPLATE_HASH).cloned(),
        is_wished: wants_preservation(machine, node),
        node: node.map(self::node),
    }
}

/// Somebody wishes that it is kept when it fails.
fn wants_preservation(machine: &Machine, node: Option<&Node>) -> bool {
    let annotation =
        |meta: &ObjectMeta, key: &str| meta.annotations.as_ref().and_then(|all| all.get(key)).cloned();
    let own = annotation(&machine.metadata, names::annotations::PRESERVE);
    let applied = annotation(&machine.metadata, names::annotations::LAST_APPLIED_NODE_PRESERVE);
    let of_node =
        node.map(|node| annotation(&node.metadata, names::annotations::PRESERVE).unwrap_or_default());
    let wish = preservation::effective(own.as_deref(), of_node.as_deref(), applied.as_deref());
    matches!(wish, Ok(NOW | WHEN_FAILED | AUTO_PRESERVED))
}

/// What a deployment wants to know of a Node.
pub(super) fn node(node: &Node) -> NodeFact {
    let meta = &node.metadata;
    let is_yes =
        |key: &str| meta.annotations.as_ref().and_then(|all| all.get(key)).is_some_and(|yes| yes == YES);
    let label = |key: &str| meta.labels.as_ref()?.get(key);
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let is_held = is_yes(names::annotations::SCALE_DOWN_DISABLED);
    let is_ours = is_yes(names::annotations::SCALE_DOWN_DISABLED_BY_US);
    NodeFact {
        name: NodeName::new(meta.name.as_deref().unwrap_or_default()),
        has_old_taint: taints.into_iter().any(|taint| taint.key == names::taints::PREFER_NO_SCHEDULE),
        scale_down: match (is_held, is_ours) {
            (true, true) => ScaleDown::HeldByUs,
            (true, false) => ScaleDown::HeldByOthers,
            (false, _) => ScaleDown::Allowed,
        },
        is_cordoned: node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)),
        is_candidate: label(names::labels::CANDIDATE_FOR_UPDATE).is_some_and(|value| value == YES),
        is_selected: label(names::labels::SELECTED_FOR_UPDATE).is_some_and(|value| value == YES),
        update: label(names::labels::UPDATE_RESULT).map(|word| match word.as_str() {
            UPDATED => UpdateResult::Successful,
            _ => UpdateResult::Failed,
        }),
        stage: stage(node),
    }
}

fn stage(node: &Node) -> Option<UpdateStage> {
    use names::node_conditions as words;
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let read = conditions.iter().find(|condition| condition.type_ == words::IN_PLACE_UPDATE)?;
    match read.reason.as_deref()? {
        words::CANDIDATE_FOR_UPDATE => Some(UpdateStage::Candidate),
        words::SELECTED_FOR_UPDATE => Some(UpdateStage::Selected),
        words::DRAIN_SUCCESSFUL | words::READY_FOR_UPDATE => Some(UpdateStage::HandedOver),
        words::UPDATE_SUCCESSFUL => Some(UpdateStage::Successful),
        words::UPDATE_FAILED => Some(UpdateStage::Failed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node_of(value: Value) -> NodeFact {
        node(&serde_json::from_value(value).unwrap())
    }

    fn machine_of(value: Value) -> MachineFact {
        machine(&serde_json::from_value(value).unwrap(), None)
    }

    #[test]
    fn the_pair_of_annotations_says_who_holds_the_autoscaler_back() {
        let held =
            |annotations: Value| node_of(json!({ "metadata": { "annotations": annotations } })).scale_down;
        let (key, ours) =
            (names::annotations::SCALE_DOWN_DISABLED, names::annotations::SCALE_DOWN_DISABLED_BY_US);
        assert_eq!(held(json!({})), ScaleDown::Allowed);
        assert_eq!(held(json!({ key: "true" })), ScaleDown::HeldByOthers);
        assert_eq!(held(json!({ key: "true", ours: "true" })), ScaleDown::HeldByUs);
        assert_eq!(held(json!({ key: "false", ours: "true" })), ScaleDown::Allowed);
    }

    #[test]
    fn how_far_an_update_in_place_is_follows_from_the_condition_of_the_node() {
        let read = |reason: &str| {
            let condition = json!({ "type": "InPlaceUpdate", "status": "True", "reason": reason });
            node_of(json!({ "metadata": {}, "status": { "conditions": [condition] } })).stage
        };
        assert_eq!(read("CandidateForUpdate"), Some(UpdateStage::Candidate));
        assert_eq!(read("ReadyForUpdate"), Some(UpdateStage::HandedOver));
        assert_eq!(read("UpdateFailed"), Some(UpdateStage::Failed));
        assert_eq!(read("Whatever"), None);
    }

    #[test]
    fn a_word_that_nobody_knows_is_a_failed_update() {
        let read = |word: &str| {
            node_of(json!({ "metadata": { "labels": { names::labels::UPDATE_RESULT: word } } })).update
        };
        assert_eq!(
            (read("successful"), read("done")),
            (Some(UpdateResult::Successful), Some(UpdateResult::Failed))
        );
    }

    #[test]
    fn marks_and_priorities_that_cannot_be_read_count_as_none() {
        let read = |priority: &str, mark: &str| {
            let annotations = json!({
                names::annotations::PRIORITY: priority, names::annotations::MARKED_FOR_DELETION_TIME: mark,
            });
            let fact = machine_of(json!({ "metadata": { "annotations": annotations } }));
            (fact.priority, fact.marked_at.map(|at| at.to_string()))
        };
        let at = "2026-01-01T00:00:00Z";
        assert_eq!(read(" 1 ", at), (1, Some(at.to_owned())));
        assert_eq!(read("first", "soon"), (3, None));
    }

    #[test]
    fn a_machine_that_says_so_in_its_phase_is_going() {
        let read = json!({ "metadata": {}, "status": { "currentStatus": { "phase": "Terminating" } } });
        assert!(machine_of(read).is_deleting);
    }
}
