//! The loop that looks for Nodes without a Machine. It reads caches; an API server is asked only before a Node is marked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use machinist_api::names;
use machinist_core::act_error::ActError;
use machinist_core::id::{Name, NodeName, ObjectKey, Uid};
use machinist_core::safety::unmanaged::{NodeFact, Rule, Strays, Verdict};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::cache::StoreReader;
use crate::kube_error::within_deadline;
use crate::names::FIELD_MANAGER;

use super::Watch;
use super::owners::{Cached, live_machines, named};

/// Between two looks, while there is anything to watch: soon enough that the autoscaler hears of a Machine that claims its Node.
const PERIOD: SignedDuration = SignedDuration::from_secs(30);

/// Between the two looks that must agree.
const SPACING: SignedDuration = SignedDuration::from_mins(1);

/// Looks for as long as it is not aborted.
pub(super) async fn look_at_nodes(watch: Watch) {
    let rule = Rule { minimum_age: watch.world.settings.creation_timeout, spacing: SPACING };
    let mut strays = Strays::default();
    loop {
        if !watch.is_free() {
            strays = Strays::default();
            watch.until_free().await;
        }
        let is_any_marked = look(&watch, &rule, &mut strays).await;
        let nodes = watch.world.nodes.as_ref().map_or(0, StoreReader::len);
        tokio::time::sleep(strays.pause(PERIOD, nodes, is_any_marked).unsigned_abs()).await;
    }
}

/// True when some Node is marked.
async fn look(watch: &Watch, rule: &Rule, strays: &mut Strays) -> bool {
    let Some(nodes) = &watch.world.nodes else { return false };
    let facts = doubtful(&watch.world.machines.all(), &nodes.all());
    let is_any_marked = facts.iter().any(|node| node.is_marked);
    let verdicts = strays.look(&facts, rule, watch.context.clock.now());
    let to_mark: Vec<&NodeName> =
        verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Mark).map(|(name, _)| name).collect();
    mark(watch, &to_mark).await;
    for (name, verdict) in &verdicts {
        if *verdict == Verdict::Unmark {
            unmark(watch, name).await;
        }
    }
    is_any_marked
}

/// The Nodes that are not plainly their Machine's: of the others there is nothing to decide, and they are nearly all.
fn doubtful(machines: &Cached, nodes: &[(ObjectKey, Arc<Node>)]) -> Vec<NodeFact> {
    let doubtful: Vec<&Node> =
        nodes.iter().map(|(_, node)| node.as_ref()).filter(|node| !is_plain(node, machines)).collect();
    if doubtful.is_empty() {
        return Vec::new();
    }
    let claims = Claims::of(machines.iter().map(|(key, machine)| Claim {
        name: key.name.as_str(),
        node: machine.labels().get(names::labels::NODE).map(String::as_str),
        provider_id: machine.provider_id(),
    }));
    doubtful.into_iter().map(|node| fact(node, &claims)).collect()
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

/// A Machine, as far as it can claim a Node.
struct Claim<'a> {
    name: &'a str,
    /// By its label.
    node: Option<&'a str>,
    provider_id: Option<&'a str>,
}

/// Who claims which Node.
#[derive(Default)]
struct Claims<'a> {
    by_node: BTreeMap<&'a str, Vec<(Name, Option<&'a str>)>>,
    by_vm: BTreeMap<&'a str, Vec<Name>>,
    names: BTreeSet<&'a str>,
}

impl<'a> Claims<'a> {
    fn of(machines: impl Iterator<Item = Claim<'a>>) -> Self {
        let mut claims = Self::default();
        for Claim { name, node, provider_id } in machines {
            claims.names.insert(name);
            if let Some(node) = node.filter(|node| !node.is_empty()) {
                claims.by_node.entry(node).or_default().push((Name::new(name), provider_id));
            }
            if let Some(id) = provider_id {
                claims.by_vm.entry(id).or_default().push(Name::new(name));
            }
        }
        claims
    }

    /// Machines that claim the Node by label, or whose VM it is, or that it names itself. Whoever names it and has another VM
    /// does not count beside others.
    fn on(&self, node: &Node) -> Vec<Name> {
        let vm = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).filter(|id| !id.is_empty());
        let by_label = self.by_node.get(node.name_any().as_str()).map(Vec::as_slice).unwrap_or_default();
        let is_other = |id: &Option<&str>| vm.is_some() && id.is_some() && *id != vm;
        let mut all: BTreeSet<Name> =
            vm.and_then(|vm| self.by_vm.get(vm)).into_iter().flatten().cloned().collect();
        all.extend(by_label.iter().filter(|(_, id)| !is_other(id)).map(|(name, _)| name.clone()));
        if all.is_empty() {
            all.extend(by_label.iter().map(|(name, _)| name.clone()));
        }
        if all.is_empty() {
            let named = node.labels().get(names::labels::MACHINE_NAME);
            all.extend(named.filter(|name| self.names.contains(name.as_str())).map(Name::new));
        }
        all.into_iter().collect()
    }
}

fn fact(node: &Node, claims: &Claims<'_>) -> NodeFact {
    let meta = &node.metadata;
    NodeFact {
        name: NodeName::new(node.name_any()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0),
        is_deleting: meta.deletion_timestamp.is_some(),
        is_marked: node.annotations().contains_key(names::annotations::NOT_MANAGED),
        has_finalizer: node.finalizers().iter().any(|name| name == names::finalizers::NODE),
        machines: claims.on(node),
    }
}

/// Marks those that have no Machine at this moment, whatever the cache says.
async fn mark(watch: &Watch, nodes: &[&NodeName]) {
    if nodes.is_empty() {
        return;
    }
    let machines = match live_machines(watch).await {
        Ok(machines) => machines,
        Err(error) => return debug!(error = %error, "no Node marked: Machines cannot be listed"),
    };
    let claims = Claims::of(machines.iter().map(|machine| Claim {
        name: machine.name(),
        node: machine.node(),
        provider_id: machine.provider_id(),
    }));
    for name in nodes {
        let Some(node) = cached(watch, name) else { continue };
        if !claims.on(&node).is_empty() || !watch.is_free() {
            continue;
        }
        let rest: Vec<&String> =
            node.finalizers().iter().filter(|finalizer| *finalizer != names::finalizers::NODE).collect();
        let change = json!({ "annotations": { names::annotations::NOT_MANAGED: "1" }, "finalizers": rest });
        if patch(watch, &node, change).await {
            info!(node = %name, "Node marked: no Machine answers for it");
            watch.metrics.safety.node_marked();
        }
    }
}

async fn unmark(watch: &Watch, name: &NodeName) {
    let Some(node) = cached(watch, name).filter(|_| watch.is_free()) else { return };
    let change = json!({ "annotations": { names::annotations::NOT_MANAGED: null } });
    if patch(watch, &node, change).await {
        info!(node = %name, "Node is a Machine's again");
    }
}

fn cached(watch: &Watch, name: &NodeName) -> Option<std::sync::Arc<Node>> {
    watch.world.nodes.as_ref()?.get(&ObjectKey::new("", name.as_str()))
}

/// On the version that was seen, since the list of finalizers is written whole. What fails is seen again at the next look.
async fn patch(watch: &Watch, node: &Node, mut change: Value) -> bool {
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
