//! Where a MachinistMachine is in its life.

use jiff::Timestamp;
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::names::annotations::MACHINE_KEY;
use serde::Serialize;

use super::annotation;

/// The state of a MachinistMachine, in the words that Cluster API has for the phases of Machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum VmState {
    /// No VM was asked for.
    Pending,
    /// A VM was asked for, and is not provisioned yet.
    Provisioning,
    Provisioned,
    /// Nothing is done to it.
    Paused,
    Deleting,
}

impl VmState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Provisioning => "Provisioning",
            Self::Provisioned => "Provisioned",
            Self::Paused => "Paused",
            Self::Deleting => "Deleting",
        }
    }
}

/// Returns its state, and since when it is in it, where that is known. A pause comes before all others, deletion
/// included.
pub(crate) fn vm_state(machine: &MachinistMachine) -> (VmState, Option<Timestamp>) {
    let meta = &machine.metadata;
    let conditions = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let since = |kind: &str| {
        let is_it = |kind: &str, status: &str, wanted: &str| kind == wanted && status == "True";
        let found = conditions.iter().find(|condition| is_it(&condition.type_, &condition.status, kind));
        found.map(|condition| condition.last_transition_time.0)
    };
    if let Some(paused) = since("Paused") {
        return (VmState::Paused, Some(paused));
    }
    if let Some(deleted) = &meta.deletion_timestamp {
        return (VmState::Deleting, Some(deleted.0));
    }
    if machine.is_provisioned() {
        return (VmState::Provisioned, since("Ready"));
    }
    if machine.provider_id().is_some() || annotation(meta, MACHINE_KEY).is_some() {
        return (VmState::Provisioning, None);
    }
    (VmState::Pending, meta.creation_timestamp.as_ref().map(|time| time.0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn state(value: Value) -> VmState {
        vm_state(&serde_json::from_value(value).unwrap()).0
    }

    #[test]
    fn a_life_goes_from_nothing_to_a_vm_and_back() {
        let paused = json!([{
            "type": "Paused", "status": "True", "reason": "Paused", "message": "x",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]);
        let key = json!({ "annotations": { "machinist.dev/machine-key": "k" } });
        let deleted = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
        let provisioned = json!({ "initialization": { "provisioned": true } });
        assert_eq!(state(json!({})), VmState::Pending);
        assert_eq!(state(json!({ "metadata": key })), VmState::Provisioning);
        assert_eq!(state(json!({ "spec": { "providerID": "a" } })), VmState::Provisioning);
        assert_eq!(state(json!({ "status": provisioned })), VmState::Provisioned);
        assert_eq!(state(json!({ "metadata": deleted, "status": provisioned })), VmState::Deleting);
        assert_eq!(
            state(json!({ "metadata": deleted, "status": { "conditions": paused } })),
            VmState::Paused
        );
    }
}
