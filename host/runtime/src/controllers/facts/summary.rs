//! A Machine as its owners see it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::core::ObjectMeta;
use machinist_api::{Machine, names};
use machinist_core::machine::summary::{DEFAULT_PRIORITY, MachineSummary};
use machinist_core::value::id::{Name, Uid};

use crate::cache::fields::phase_of;

/// The value of the label of a successful update in place.
pub(crate) const UPDATED: &str = "successful";

/// Returns the facts that count for the owners of a Machine. `node` is its own Node, if it exists.
pub(crate) fn summary(machine: &Machine, node: Option<&Node>) -> MachineSummary {
    let meta = &machine.metadata;
    let annotation = |key: &str| annotation(meta, key);
    let label = |key: &str| meta.labels.as_ref()?.get(key);
    let priority = annotation(names::annotations::PRIORITY).and_then(|text| text.trim().parse().ok());
    let preserved_until =
        machine.status.as_ref().and_then(|status| status.current_status.preserve_expiry_time.as_ref());
    MachineSummary {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        is_deleting: meta.deletion_timestamp.is_some(),
        phase: phase_of(machine),
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
        marked_at: annotation(names::annotations::MARKED_FOR_DELETION_TIME)
            .and_then(|text| text.parse().ok()),
        is_updated_in_place: label(names::labels::UPDATE_RESULT).is_some_and(|result| result == UPDATED),
        is_unreadable: false,
        preserve_request: annotation(names::annotations::PRESERVE).map(str::to_owned),
        node_preserve_request: node.map(|node| {
            self::annotation(&node.metadata, names::annotations::PRESERVE).unwrap_or_default().to_owned()
        }),
        applied_node_request: annotation(names::annotations::LAST_APPLIED_NODE_PRESERVE).map(str::to_owned),
        preserved_until: preserved_until.map(|time| time.0),
    }
}

fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn summary_of(object: Value) -> MachineSummary {
        summary(&serde_json::from_value(object).unwrap(), None)
    }

    #[test]
    fn marks_and_priorities_that_cannot_be_read_count_as_none() {
        let read = |priority: &str, mark: &str| {
            let annotations = json!({
                names::annotations::PRIORITY: priority, names::annotations::MARKED_FOR_DELETION_TIME: mark,
            });
            let summary = summary_of(json!({ "metadata": { "annotations": annotations } }));
            (summary.priority, summary.marked_at.map(|at| at.to_string()))
        };
        let at = "2026-01-01T00:00:00Z";
        assert_eq!(read(" 1 ", at), (1, Some(at.to_owned())));
        assert_eq!(read("first", "soon"), (3, None));
    }

    #[test]
    fn a_machine_that_says_so_in_its_phase_is_going() {
        let read = json!({ "metadata": {}, "status": { "currentStatus": { "phase": "Terminating" } } });
        assert!(summary_of(read).is_terminating());
    }
}
