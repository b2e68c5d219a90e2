//! The loop that finds Nodes without a Machine. It reads caches; an API server is asked only before a Node is written.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use machinist_api::names;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Severity;
use machinist_core::safety::unmanaged::{
    UnmanagedNodeAction, UnmanagedNodeFact, UnmanagedNodes, UnmanagedRule,
};
use machinist_core::value::id::{NodeName, ObjectKey, Uid};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::cache::StoreReader;
use crate::client::errors::within_deadline;
use crate::client::field_manager::FIELD_MANAGER;
use crate::events::About;
use crate::metrics::QueueName;

use super::SafetyWatch;
use super::machines_by_node::{MachineEntry, MachinesByNode};
use super::owners::{Cached, live_machines, named};

/// The pause between two checks, while there is anything to watch: short enough that the autoscaler soon sees a Node
/// that gets its Machine.
const PERIOD: SignedDuration = SignedDuration::from_secs(30);

/// Where Events about objects without a namespace belong.
const NODE_EVENTS: &str = "default";

/// The time between the two checks that must agree.
const SPACING: SignedDuration = SignedDuration::from_mins(1);

/// Runs until it is aborted.
pub(super) async fn watch_nodes(watch: SafetyWatch) {
    let rule = UnmanagedRule { minimum_age: watch.tenant.settings.creation_timeout, spacing: SPACING };
    let mut strays = UnmanagedNodes::default();
    loop {
        if !watch.may_act() {
            strays = UnmanagedNodes::default();
            watch.until_allowed().await;
        }
        let began = watch.context.clock.now();
        let is_any_marked = look(&watch, &rule, &mut strays).await;
        watch.metrics.queue.round(QueueName::Node, watch.context.clock.now().duration_since(began));
        let nodes = watch.tenant.nodes.as_ref().map_or(0, StoreReader::len);
        tokio::time::sleep(strays.pause(PERIOD, nodes, is_any_marked).unsigned_abs()).await;
    }
}

/// True when some Node is marked.
async fn look(watch: &SafetyWatch, rule: &UnmanagedRule, strays: &mut UnmanagedNodes) -> bool {
    let Some(nodes) = &watch.tenant.nodes else { return false };
    let facts = candidates(&watch.tenant.machines.all(), &nodes.all());
    let is_any_marked = facts.iter().any(|node| node.is_marked);
    let verdicts = strays.look(&facts, rule, watch.context.clock.now());
    let action = |verdict: &UnmanagedNodeAction| match verdict {
        UnmanagedNodeAction::Mark => Some(NodeAction::Mark),
        UnmanagedNodeAction::Release => Some(NodeAction::Release),
        UnmanagedNodeAction::Rest | UnmanagedNodeAction::Unmark => None,
    };
    let to_release: Vec<(&NodeName, NodeAction)> =
        verdicts.iter().filter_map(|(name, verdict)| Some((name, action(verdict)?))).collect();
    release_nodes(watch, &to_release).await;
    for (name, verdict) in &verdicts {
        if *verdict == UnmanagedNodeAction::Unmark {
            unmark(watch, name).await;
        }
    }
    is_any_marked
}

/// The Nodes that are not plainly their Machine's: of the others there is nothing to decide, and they are nearly all.
fn candidates(machines: &Cached, nodes: &[(ObjectKey, Arc<Node>)]) -> Vec<UnmanagedNodeFact> {
    let candidates: Vec<&Node> =
        nodes.iter().map(|(_, node)| node.as_ref()).filter(|node| !is_plain(node, machines)).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let machines_by_node = MachinesByNode::of(machines.iter().map(|(key, machine)| MachineEntry {
        name: key.name.as_str(),
        node: machine.labels().get(names::labels::NODE).map(String::as_str),
        provider_id: machine.provider_id(),
    }));
    candidates.into_iter().map(|node| fact(node, &machines_by_node)).collect()
}

/// It is not marked and names a Machine that names it.
fn is_plain(node: &Node, machines: &Cached) -> bool {
    let machine = node.labels().get(names::labels::MACHINE_NAME).and_then(|name| named(machines, name));
    let is_named = machine.is_some_and(|machine| {
        let named = machine.labels().get(names::labels::NODE).filter(|name| !name.is_empty());
        named == node.metadata.name.as_ref()
    });
    is_named
        && node.metadata.name.is_some()
        && !node.annotations().contains_key(names::annotations::NOT_MANAGED)
}

fn fact(node: &Node, machines_by_node: &MachinesByNode<'_>) -> UnmanagedNodeFact {
    let meta = &node.metadata;
    UnmanagedNodeFact {
        name: NodeName::new(node.name_any()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0),
        is_deleting: meta.deletion_timestamp.is_some(),
        is_marked: node.annotations().contains_key(names::annotations::NOT_MANAGED),
        has_finalizer: node.finalizers().iter().any(|name| name == names::finalizers::NODE),
        machines: machines_by_node.of_node(node),
    }
}

/// Writes those that have no Machine at this moment, whatever the cache says.
async fn release_nodes(watch: &SafetyWatch, nodes: &[(&NodeName, NodeAction)]) {
    if nodes.is_empty() {
        return;
    }
    let machines = match live_machines(watch).await {
        Ok(machines) => machines,
        Err(error) => return debug!(error = %error, "no Node written: Machines cannot be listed"),
    };
    let machines_by_node = MachinesByNode::of(machines.iter().map(|machine| MachineEntry {
        name: machine.name(),
        node: machine.node(),
        provider_id: machine.provider_id(),
    }));
    for (name, action) in nodes {
        let Some(node) = cached(watch, name).filter(|node| NodeAction::of(node) == *action) else { continue };
        if !machines_by_node.of_node(&node).is_empty() || !watch.may_act() {
            continue;
        }
        if patch(watch, &node, action.change(&node)).await {
            action.report(watch, &node);
        }
    }
}

/// The action on a Node without a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeAction {
    /// It is marked, and our finalizer comes off.
    Mark,
    /// Its deletion was asked for: our finalizer comes off, so that it can go.
    Release,
}

impl NodeAction {
    fn of(node: &Node) -> Self {
        if node.metadata.deletion_timestamp.is_some() { Self::Release } else { Self::Mark }
    }

    fn change(self, node: &Node) -> Value {
        let rest: Vec<&String> =
            node.finalizers().iter().filter(|finalizer| *finalizer != names::finalizers::NODE).collect();
        match self {
            Self::Mark => {
                json!({ "annotations": { names::annotations::NOT_MANAGED: "1" }, "finalizers": rest })
            }
            Self::Release => json!({ "finalizers": rest }),
        }
    }

    /// Reports the action: an Event on the Node, a line in the audit log, and a count.
    fn report(self, watch: &SafetyWatch, node: &Node) {
        let (action, reason, message) = match self {
            Self::Mark => (
                "mark-node-without-machine",
                "NodeNotManaged",
                "no Machine answers for this Node: it is marked so that the autoscaler leaves it alone, and nothing holds its \
                 deletion up; a Machine whose label `node` names it takes the mark off",
            ),
            Self::Release => (
                "release-node-without-machine",
                "NodeReleased",
                "this Node is being deleted and no Machine answers for it, so that nobody would have drained it: the finalizer is \
                 taken off",
            ),
        };
        match self {
            Self::Mark => watch.metrics.safety.node_marked(),
            Self::Release => watch.metrics.safety.node_released(),
        }
        let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
        let uid = node.metadata.uid.as_deref();
        info!(target: "audit", action, node = node.name_any(), uid, provider_id, "Node without a Machine");
        let about = About {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            namespace: NODE_EVENTS.to_owned(),
            name: node.name_any(),
            uid: uid.unwrap_or_default().to_owned(),
        };
        if let Some(events) = &watch.node_events {
            events.write(about, reason.to_owned(), message, Severity::Normal, watch.context.clock.now());
        }
    }
}

async fn unmark(watch: &SafetyWatch, name: &NodeName) {
    let Some(node) = cached(watch, name).filter(|_| watch.may_act()) else { return };
    let change = json!({ "annotations": { names::annotations::NOT_MANAGED: null } });
    if patch(watch, &node, change).await {
        info!(node = %name, "Node is a Machine's again");
    }
}

fn cached(watch: &SafetyWatch, name: &NodeName) -> Option<std::sync::Arc<Node>> {
    watch.tenant.nodes.as_ref()?.get(&ObjectKey::new("", name.as_str()))
}

/// In the version that was read, since the list of finalizers is written whole. A failure is repeated at the next
/// check.
async fn patch(watch: &SafetyWatch, node: &Node, mut change: Value) -> bool {
    let Some(target) = watch.context.target.clone() else { return false };
    if let Some(change) = change.as_object_mut() {
        change.insert("uid".to_owned(), json!(node.metadata.uid));
        change.insert("resourceVersion".to_owned(), json!(node.metadata.resource_version));
    }
    let api: Api<Node> = Api::all(target);
    let patch = Patch::Merge(json!({ "metadata": change }));
    let params = PatchParams::apply(FIELD_MANAGER);
    match within_deadline(api.patch_metadata(&node.name_any(), &params, &patch)).await {
        Ok(_) => true,
        Err(ActError::Conflict | ActError::Gone) => false,
        Err(error) => {
            warn!(node = node.name_any(), error = %error, "Node not written");
            false
        }
    }
}
