//! Facts about the Machines of a deployment and their Nodes.

use k8s_openapi::api::core::v1::Node;
use machinist_api::{Machine, names};
use machinist_core::machine_deployment::{
    OwnedMachineFact, RolloutNodeFact, ScaleDown, UpdateResult, UpdateStage,
};
use machinist_core::value::id::NodeName;

use super::YES;
use crate::controllers::facts::{UPDATED, summary};
use crate::controllers::objects::metadata::{annotation, label};

/// Returns the facts of a Machine for its deployment. `node` is its Node, if it exists.
pub(crate) fn machine(machine: &Machine, node: Option<&Node>) -> OwnedMachineFact {
    OwnedMachineFact {
        summary: summary(machine, node),
        hash: label(&machine.metadata, names::labels::TEMPLATE_HASH).map(str::to_owned),
        node: node.map(self::node),
    }
}

/// Returns the facts of a Node for the deployment of its Machine.
pub(crate) fn node(node: &Node) -> RolloutNodeFact {
    let meta = &node.metadata;
    let is_yes = |key: &str| annotation(meta, key) == Some(YES);
    let is_labelled = |key: &str| label(meta, key) == Some(YES);
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let is_held = is_yes(names::annotations::SCALE_DOWN_DISABLED);
    let is_ours = is_yes(names::annotations::SCALE_DOWN_DISABLED_BY_US);
    RolloutNodeFact {
        name: NodeName::new(meta.name.as_deref().unwrap_or_default()),
        has_old_taint: taints.into_iter().any(|taint| taint.key == names::taints::PREFER_NO_SCHEDULE),
        scale_down: match (is_held, is_ours) {
            (true, true) => ScaleDown::HeldByUs,
            (true, false) => ScaleDown::HeldByOthers,
            (false, _) => ScaleDown::Allowed,
        },
        is_cordoned: node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)),
        is_candidate: is_labelled(names::labels::CANDIDATE_FOR_UPDATE),
        is_selected: is_labelled(names::labels::SELECTED_FOR_UPDATE),
        update: label(meta, names::labels::UPDATE_RESULT).map(|word| match word {
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

    fn node_of(value: Value) -> RolloutNodeFact {
        node(&serde_json::from_value(value).unwrap())
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
}
