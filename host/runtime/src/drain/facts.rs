//! What a drain knows without asking anyone. Synchronous: nothing is awaited here.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use machinist_api::{Machine, names};
use machinist_core::drain::{AttachmentFact, Facts, Memory, NodeState, VolumeName};
use machinist_core::value::id::{Name, NodeName, Uid};

use super::caches::{DrainCaches, volume_of};

/// The facts of the drain of a Machine's Node. `node` is what the cache has under that name; `None`: it is gone. `memory` is
/// what an earlier pass stored.
pub(crate) fn facts(
    caches: Option<&DrainCaches>,
    name: Option<&NodeName>,
    node: Option<&Node>,
    memory: Memory,
    now: Timestamp,
) -> Facts {
    let state = match node {
        None => NodeState::Gone,
        Some(node) => NodeState::Present { attached: attached(node).map(str::to_owned).collect() },
    };
    let attachments = caches.zip(name).and_then(|(caches, name)| attachments(caches, name, &memory));
    let missed = caches.filter(|caches| !caches.attachments.is_synced());
    let unlisted_since = missed.map(|caches| caches.attachments.missed_since(now));
    Facts { node: state, attachments, unlisted_since, memory }
}

fn attached(node: &Node) -> impl Iterator<Item = &str> {
    let status = node.status.iter();
    status.flat_map(|status| status.volumes_attached.iter().flatten()).map(|volume| volume.name.as_str())
}

fn attachments(caches: &DrainCaches, node: &NodeName, memory: &Memory) -> Option<Vec<AttachmentFact>> {
    if !caches.attachments.is_synced() {
        return None;
    }
    let here = caches.attachments.of_node(node.as_str());
    let awaited = memory.volumes.iter();
    let others = awaited.flat_map(|awaited| caches.attachments.of_volume(awaited.volume.as_str()));
    let mut facts: Vec<AttachmentFact> =
        here.into_iter().chain(others).map(|attachment| fact(&attachment, node)).collect();
    facts.sort();
    facts.dedup();
    Some(facts)
}

fn fact(attachment: &VolumeAttachment, node: &NodeName) -> AttachmentFact {
    let meta = &attachment.metadata;
    AttachmentFact {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        is_here: attachment.spec.node_name == node.as_str(),
        volume: volume_of(attachment).map(VolumeName::new),
        is_attached: attachment.status.as_ref().is_some_and(|status| status.attached),
        deletion: meta.deletion_timestamp.as_ref().map(|time| time.0),
    }
}

/// True when a Node's volumes changed, as far as a drain waits for them.
pub(crate) fn volumes_differ(old: Option<&Node>, new: Option<&Node>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => !attached(old).eq(attached(new)),
        (Some(_) | None, None) | (None, Some(_)) => true,
    }
}

/// True while a drain of this Machine's Node may be under way, so that volumes concern it.
pub(crate) fn concerns(machine: &Machine) -> bool {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let remembers = own.and_then(|own| own.drain.as_ref()).is_some_and(|drain| !drain.volumes.is_empty());
    remembers || machine.metadata.deletion_timestamp.is_some() || is_kept(machine) || is_selected(machine)
}

/// Its Node is drained when it has failed, and it may have.
fn is_kept(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| status.current_status.preserve_expiry_time.is_some())
}

/// Its Node is drained for an update in place.
fn is_selected(machine: &Machine) -> bool {
    let conditions = machine.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| {
        condition.type_ == names::node_conditions::IN_PLACE_UPDATE
            && condition.reason.as_deref() == Some(names::node_conditions::SELECTED_FOR_UPDATE)
    })
}
