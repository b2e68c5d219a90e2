//! Creates in clouds that keep no keys: which of them may have made a VM, as the cloud and the wire know it.

use std::collections::BTreeMap;

use machinist_core::driver::{Answer, Creation};
use memory_api::Change;

use super::facts::text;
use super::rules::HOST;

/// The last create of each host for each Machine, by uid and host: whether it may have made a VM.
#[derive(Debug, Default)]
pub(crate) struct Creates(BTreeMap<(String, String), bool>);

impl Creates {
    /// A host sends one: until it has ended, nobody knows.
    pub(crate) fn sent(&mut self, uid: &str, actor: &str) {
        self.0.insert((uid.to_owned(), actor.to_owned()), true);
    }

    /// It has ended.
    pub(crate) fn ended(&mut self, uid: &str, actor: &str, answer: &Answer<Creation>) {
        let may_have_made =
            answer.as_ref().err().is_none_or(machinist_core::driver_error::CallError::may_have_happened);
        self.0.insert((uid.to_owned(), actor.to_owned()), may_have_made);
    }
}

/// A host that says of a Machine that it may have a VM must have sent a create that did not fail for certain. The note of a host
/// that is gone may mean anything.
pub(super) fn of_machine(creates: &Creates, change: &Change<'_>) -> Option<String> {
    let new = change.new?;
    let is_going = new["metadata"]["deletionTimestamp"].is_string();
    let noted_by = text(change.new, "/metadata/annotations/machinist.dev~1create-intent-by");
    if is_going || !change.actor.starts_with(HOST) || noted_by != change.actor {
        return None;
    }
    let conditions = new["status"]["machinist"]["conditions"].as_array()?;
    let is_held = conditions
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["reason"] == "CreationUnresolved");
    let was_held = || {
        let old = change.old.and_then(|old| old["status"]["machinist"]["conditions"].as_array());
        old.is_some_and(|old| old.iter().any(|condition| condition["reason"] == "CreationUnresolved"))
    };
    let uid = text(change.new, "/metadata/uid").to_owned();
    let may_have_made = creates.0.get(&(uid, change.actor.to_owned())).copied().unwrap_or(false);
    (is_held && !may_have_made && !was_held()).then(|| {
        let name = text(change.new, "/metadata/name");
        format!("{} holds Machine {name} although each create of it failed for certain", change.actor)
    })
}
