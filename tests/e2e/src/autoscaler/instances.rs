//! The autoscaler's view of the instances of a group.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use machinist_api::{Machine, names};

use super::{Autoscaler, NodeGroup};

/// One Machine of a group as it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The provider id of the Node, or `requested://` and the Machine's name while there is none.
    pub id: String,
    /// The name of the Machine.
    pub machine: String,
    /// The name of its Node, once it is there.
    pub node: Option<String>,
    /// The state of the instance.
    pub state: InstanceState,
}

/// The state of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceState {
    /// Its Node is there.
    Registered,
    /// It is being made.
    Creating,
    /// The cloud has no room for it.
    OutOfResources {
        /// The error of the controller.
        message: String,
    },
    /// Neither: nothing is reported.
    Unknown,
}

impl Autoscaler {
    /// The instances of a group, from its Machines and the Nodes.
    pub async fn instances(&self, group: &NodeGroup) -> Result<Vec<Instance>> {
        let nodes = Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await?.items;
        let ids: BTreeMap<String, String> = nodes
            .into_iter()
            .map(|node| (node.name_any(), node.spec.and_then(|spec| spec.provider_id).unwrap_or_default()))
            .collect();
        Ok(self.machines_of(group).await?.iter().map(|machine| instance(machine, &ids)).collect())
    }

    /// By the label that the template gives them.
    pub(super) async fn machines_of(&self, group: &NodeGroup) -> Result<Vec<Machine>> {
        let labels = format!("{}={}", names::labels::DEPLOYMENT, group.name);
        Ok(self.machines().list(&ListParams::default().labels(&labels)).await?.items)
    }
}

fn instance(machine: &Machine, nodes: &BTreeMap<String, String>) -> Instance {
    let name = machine.name_any();
    let node = machine.labels().get(names::labels::NODE).filter(|node| nodes.contains_key(*node));
    let id = node.and_then(|node| nodes.get(node)).cloned();
    let state = if node.is_some() { InstanceState::Registered } else { state(machine) };
    Instance {
        id: id.unwrap_or_else(|| format!("requested://{name}")),
        machine: name,
        node: node.cloned(),
        state,
    }
}

/// By type, state and error code of the last operation: three words, and no other field.
fn state(machine: &Machine) -> InstanceState {
    let operation = machine.status.as_ref().map(|status| &status.last_operation);
    let Ok(words) = serde_json::to_value(operation) else { return InstanceState::Unknown };
    let word = |field: &str| words[field].as_str().unwrap_or_default();
    match (word("type"), word("state"), word("errorCode")) {
        ("Create", "Failed", "ResourceExhausted") => {
            InstanceState::OutOfResources { message: word("description").to_owned() }
        }
        ("Create", _, _) => InstanceState::Creating,
        _ => InstanceState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(operation: &serde_json::Value, nodes: &[&str]) -> Instance {
        let machine = json!({
            "metadata": { "name": "m", "labels": { "node": "node-1" } }, "status": { "lastOperation": operation },
        });
        let nodes = nodes.iter().map(|name| ((*name).to_owned(), "sim:///z/vm-1".to_owned())).collect();
        instance(&serde_json::from_value(machine).unwrap(), &nodes)
    }

    #[test]
    fn only_a_create_that_failed_for_want_of_resources_is_out_of_resources() {
        let failed = |code: &str| json!({ "type": "Create", "state": "Failed", "errorCode": code, "description": "no room" });
        let out = InstanceState::OutOfResources { message: "no room".to_owned() };
        assert_eq!(seen(&failed("ResourceExhausted"), &[]).state, out);
        assert_eq!(seen(&failed("Internal"), &[]).state, InstanceState::Creating);
        assert_eq!(seen(&json!({ "type": "Delete" }), &[]).state, InstanceState::Unknown);
    }

    #[test]
    fn an_instance_without_a_node_is_known_by_its_machine() {
        assert_eq!(seen(&json!({}), &[]).id, "requested://m");
        let registered = seen(&json!({}), &["node-1"]);
        assert_eq!((registered.id.as_str(), registered.state), ("sim:///z/vm-1", InstanceState::Registered));
    }
}
