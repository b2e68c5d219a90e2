//! A Node as the API server has it.

use jiff::Timestamp;
use machinist_api::names::{annotations, labels, node_conditions};
use serde_json::Value;

use super::facts::text;

/// The health of a Node by its conditions, by the built-in rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Looks {
    #[default]
    Healthy,
    /// Its kubelet has not been heard for a while.
    Silent,
    /// Something speaks against it.
    Ill,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFact {
    pub(crate) provider_id: String,
    pub(crate) is_deleting: bool,
    pub(crate) looks: Looks,
    /// Since when it looks so.
    pub(crate) looks_since: Option<Timestamp>,
    /// Since when it has not been ready, by its condition.
    pub(crate) not_ready_since: Option<Timestamp>,
    /// May be updated in place, and is to be: since when both, or not.
    pub(crate) is_selected: bool,
    pub(crate) selected_since: Option<Timestamp>,
    /// Reason of the condition that tells how far its update is, and since when.
    pub(crate) update: String,
    pub(crate) update_since: Option<Timestamp>,
    /// Somebody has ever asked here for the preservation of its Machine.
    pub(crate) has_had_wish: bool,
}

impl NodeFact {
    /// It is to be updated in place, or being so.
    pub(super) fn is_out_of_service(&self) -> bool {
        let has_begun =
            matches!(self.update.as_str(), "SelectedForUpdate" | "DrainSuccessful" | "ReadyForUpdate");
        self.is_selected || has_begun
    }

    /// Reads the object. `before` is the earlier state.
    pub(super) fn learn(node: &Value, before: Option<&Self>, now: Timestamp) -> Self {
        let object = Some(node);
        let fresh = Self::default();
        let before = before.unwrap_or(&fresh);
        let condition = |kind: &str| {
            let mut all = node["status"]["conditions"].as_array().into_iter().flatten();
            all.find(|condition| condition["type"] == kind)
        };
        let label = |name: &str| node["metadata"]["labels"][name] == "true";
        let ready = condition(node_conditions::READY);
        let status = text(ready, "/status");
        let is_bad = |kind: &&&str| condition(kind).is_some_and(|condition| condition["status"] != "False");
        let looks = match status {
            "True" if !node_conditions::UNHEALTHY_BY_DEFAULT.iter().any(|kind| is_bad(&kind)) => {
                Looks::Healthy
            }
            "Unknown" => Looks::Silent,
            _ => Looks::Ill,
        };
        let is_selected = label(labels::CANDIDATE_FOR_UPDATE) && label(labels::SELECTED_FOR_UPDATE);
        let update = text(condition(node_conditions::IN_PLACE_UPDATE), "/reason").to_owned();
        let since = |is_same: bool, before: Option<Timestamp>| {
            if is_same { before.or(Some(now)) } else { Some(now) }
        };
        Self {
            provider_id: text(object, "/spec/providerID").to_owned(),
            is_deleting: !text(object, "/metadata/deletionTimestamp").is_empty(),
            looks,
            looks_since: since(looks == before.looks, before.looks_since),
            // From False to Unknown it is not ready all the same, and a host that is cut off has not heard of that.
            not_ready_since: ready
                .filter(|_| status != "True")
                .and_then(|ready| text(Some(ready), "/lastTransitionTime").parse().ok())
                .map(|since: Timestamp| before.not_ready_since.map_or(since, |before| before.min(since))),
            is_selected,
            selected_since: since(is_selected == before.is_selected, before.selected_since),
            update_since: since(update == before.update, before.update_since),
            update,
            has_had_wish: before.has_had_wish
                || node["metadata"]["annotations"][annotations::PRESERVE].is_string(),
        }
    }
}
