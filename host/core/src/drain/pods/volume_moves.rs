//! Volumes that move from the Node to another one.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::pod::PodFact;
use super::volume::{AttachmentFact, AwaitedVolume, DrainMemory, VolumeName};
use crate::drain::request::{DrainFacts, DrainRequest, NodeState};

/// The location of a volume whose pod is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VolumeLocation {
    /// Still attached to the Node.
    Here,
    /// Still attached, for longer than it may take.
    HereTooLong,
    /// Detached, and not attached elsewhere yet.
    Between,
}

/// A volume that moves to another Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeMove {
    pub(crate) awaited: AwaitedVolume,
    pub(crate) place: VolumeLocation,
    /// Until when its next move is awaited.
    pub(crate) until: Timestamp,
}

/// Returns all volumes that move, by name.
///
/// A volume that a pod of the Node still uses does not move. An attached volume that no pod uses does, whether or not
/// the memory has it; so a restart changes nothing.
pub(crate) fn in_transit(request: &DrainRequest<'_>, pods: &[PodFact], now: Timestamp) -> Vec<VolumeMove> {
    let facts = request.facts;
    let used: BTreeSet<&VolumeName> = pods.iter().flat_map(PodFact::volumes).collect();
    let remembered = facts.memory.volumes.iter().filter(|awaited| !used.contains(&awaited.volume));
    let mut found: Vec<VolumeMove> =
        remembered.filter_map(|awaited| transit(request, awaited.clone(), now)).collect();
    for attachment in attachments(facts).filter(|attachment| attachment.is_here) {
        let Some(volume) = attachment.volume.as_ref().filter(|volume| !used.contains(volume)) else {
            continue;
        };
        if found.iter().any(|transit| transit.awaited.volume == *volume) {
            continue;
        }
        let awaited = AwaitedVolume {
            volume: volume.clone(),
            ids: BTreeSet::new(),
            pod: None,
            since: attachment.deletion.unwrap_or(now),
            grace: SignedDuration::ZERO,
            detached: None,
        };
        found.extend(transit(request, awaited, now));
    }
    found.sort_by(|a, b| a.awaited.volume.cmp(&b.awaited.volume));
    found
}

/// Returns `None` when the volume has arrived elsewhere, or was awaited there for long enough.
fn transit(request: &DrainRequest<'_>, mut awaited: AwaitedVolume, now: Timestamp) -> Option<VolumeMove> {
    let settings = request.settings;
    if is_here(request.facts, &awaited.volume, &awaited.ids) {
        let until = after(awaited.since, awaited.grace.saturating_add(settings.detach_timeout));
        let place = if now < until { VolumeLocation::Here } else { VolumeLocation::HereTooLong };
        return Some(VolumeMove { awaited, place, until });
    }
    let is_elsewhere = attachments(request.facts).any(|attachment| {
        !attachment.is_here && attachment.is_attached && attachment.volume.as_ref() == Some(&awaited.volume)
    });
    let detached = *awaited.detached.get_or_insert(now);
    let until = after(detached, settings.reattach_timeout);
    (!is_elsewhere && now < until).then_some(VolumeMove { awaited, place: VolumeLocation::Between, until })
}

/// Returns the memory to store: volumes that move, and those of terminating pods.
///
/// Only attached volumes are stored: nothing shows when others, such as network shares, leave.
pub(crate) fn memory<'a>(
    request: &DrainRequest<'_>,
    transits: &[VolumeMove],
    ending: impl Iterator<Item = (&'a PodFact, Timestamp)>,
) -> DrainMemory {
    let facts = request.facts;
    let mut volumes: Vec<AwaitedVolume> = transits
        .iter()
        .map(|transit| &transit.awaited)
        .filter(|awaited| is_kept(facts, awaited))
        .cloned()
        .collect();
    for (pod, since) in ending {
        for claim in &pod.claims {
            let Some(volume) = claim.volume.as_ref().filter(|volume| is_here(facts, volume, &claim.ids))
            else {
                continue;
            };
            let remembered = facts
                .memory
                .volumes
                .iter()
                .find(|awaited| awaited.volume == *volume && awaited.pod.as_ref() == Some(&pod.pod.key));
            let awaited = remembered.cloned().unwrap_or_else(|| AwaitedVolume {
                volume: volume.clone(),
                ids: claim.ids.clone(),
                pod: Some(pod.pod.key.clone()),
                since,
                grace: pod.grace,
                detached: None,
            });
            // If pods share a volume, the last of them counts.
            match volumes.iter_mut().find(|awaited| awaited.volume == *volume) {
                Some(other) if other.since < awaited.since => *other = awaited,
                Some(_) => {}
                None => volumes.push(awaited),
            }
        }
    }
    volumes.sort_by(|a, b| a.volume.cmp(&b.volume));
    DrainMemory { volumes }
}

/// A VolumeAttachment that is being deleted has the time itself.
fn is_kept(facts: &DrainFacts, awaited: &AwaitedVolume) -> bool {
    let tells = |attachment: &AttachmentFact| {
        attachment.is_here
            && attachment.volume.as_ref() == Some(&awaited.volume)
            && attachment.deletion.is_some()
    };
    awaited.pod.is_some() || !attachments(facts).any(tells)
}

/// Returns true while the Node or a VolumeAttachment of it has the volume.
fn is_here(facts: &DrainFacts, volume: &VolumeName, ids: &BTreeSet<String>) -> bool {
    let by_attachment =
        attachments(facts).any(|attachment| attachment.is_here && attachment.volume.as_ref() == Some(volume));
    let by_node = match &facts.node {
        NodeState::Gone => false,
        NodeState::Present { attached } => {
            attached.iter().any(|name| ids.iter().any(|id| is_named(name, id)))
        }
    };
    by_attachment || by_node
}

/// Returns true when an entry of `volumesAttached` is the volume of that id. Such an entry is the id itself, or ends
/// with it after a prefix for the kind: `kubernetes.io/csi/DRIVER^ID` or `kubernetes.io/KIND/ID`.
fn is_named(attached: &str, id: &str) -> bool {
    !id.is_empty()
        && attached.strip_suffix(id).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['^', '/']))
}

fn attachments(facts: &DrainFacts) -> impl Iterator<Item = &AttachmentFact> {
    facts.attachments.iter().flatten()
}

pub(crate) fn after(from: Timestamp, duration: SignedDuration) -> Timestamp {
    from.checked_add(duration).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_matches_as_a_whole_and_not_as_a_pattern() {
        let csi = "kubernetes.io/csi/ebs.csi.aws.com^vol-0a";
        assert!(is_named(csi, "vol-0a"));
        assert!(is_named(csi, csi));
        assert!(is_named("kubernetes.io/aws-ebs/aws://eu-west-1a/vol-0a", "vol-0a"));
        assert!(is_named("kubernetes.io/azure-disk//subscriptions/s/disks/d", "/subscriptions/s/disks/d"));
        for other in ["vol-0", "ol-0a", "0a", "vol-..", ".*", "", "vol-0ab", "VOL-0A"] {
            assert!(!is_named(csi, other), "{other:?}");
        }
    }
}
