//! The attachers of all CSI drivers: they attach what VolumeAttachments ask for, and detach when these are deleted.
//!
//! A volume is attached to one Node at a time: the next attachment waits until the one before is gone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::AttachmentFact;
use crate::config::VolumeTiming;
use crate::fleet::after;

/// How soon a request that failed is repeated.
const RETRY: std::time::Duration = std::time::Duration::from_millis(500);

/// A write of an attacher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttacherAction {
    /// Put the finalizer on.
    Hold(AttachmentFact),
    /// Write that the volume is attached.
    Attached(AttachmentFact),
    /// The volume is detached: let the VolumeAttachment go.
    Release(AttachmentFact),
}

impl AttacherAction {
    /// The subject of the action.
    pub fn fact(&self) -> &AttachmentFact {
        match self {
            Self::Hold(fact) | Self::Attached(fact) | Self::Release(fact) => fact,
        }
    }

    /// Whether it goes to the status.
    pub fn is_of_status(&self) -> bool {
        match self {
            Self::Attached(_) => true,
            Self::Hold(_) | Self::Release(_) => false,
        }
    }

    /// The merge patch. Lists of finalizers are written whole, so these hold for the version that was seen.
    pub fn patch(&self) -> Value {
        let with_finalizers = |fact: &AttachmentFact, finalizers: Vec<String>| json!({ "metadata": { "uid": fact.uid, "resourceVersion": fact.version, "finalizers": finalizers } });
        match self {
            Self::Hold(fact) => {
                let own = [fact.finalizer()];
                with_finalizers(fact, fact.finalizers.iter().cloned().chain(own).collect())
            }
            Self::Release(fact) => {
                let others = fact.finalizers.iter().filter(|one| **one != fact.finalizer());
                with_finalizers(fact, others.cloned().collect())
            }
            Self::Attached(fact) => {
                json!({ "metadata": { "uid": fact.uid }, "status": { "attached": true } })
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttacherStats {
    /// Volumes that were attached.
    pub attached: u64,
    /// Volumes that were detached.
    pub detached: u64,
    pub failures: u64,
}

#[derive(Debug)]
pub struct Attacher {
    timing: VolumeTiming,
    attachments: BTreeMap<String, AttachmentEntry>,
    /// Volumes of these Nodes do not come off.
    stuck_nodes: BTreeSet<String>,
    stats: AttacherStats,
}

#[derive(Debug)]
struct AttachmentEntry {
    fact: AttachmentFact,
    /// Since when it is asked for, or its end.
    since: Timestamp,
    not_before: Option<Timestamp>,
    is_busy: bool,
}

impl Attacher {
    /// Nothing is attached yet.
    pub fn new(timing: VolumeTiming) -> Self {
        Self {
            timing,
            attachments: BTreeMap::new(),
            stuck_nodes: BTreeSet::new(),
            stats: AttacherStats::default(),
        }
    }

    /// Takes note of a VolumeAttachment as it is.
    pub fn hear(&mut self, fact: AttachmentFact, now: Timestamp) {
        match self.attachments.get_mut(&fact.name) {
            Some(entry) if entry.fact.uid == fact.uid => {
                if entry.fact.is_deleting != fact.is_deleting {
                    entry.since = now;
                }
                entry.fact = fact;
            }
            Some(_) | None => {
                let entry = AttachmentEntry { since: now, not_before: None, is_busy: false, fact };
                self.attachments.insert(entry.fact.name.clone(), entry);
            }
        }
    }

    /// Takes note that a VolumeAttachment is gone.
    pub fn forget(&mut self, name: &str) {
        self.attachments.remove(name);
    }

    /// Takes note that these exist and no others.
    pub fn keep_only(&mut self, names: &BTreeSet<String>) {
        self.attachments.retain(|name, _| names.contains(name));
    }

    /// Volumes of this Node do not come off any more, as when the cloud hangs, or do again.
    pub fn set_stuck(&mut self, node: &str, is_stuck: bool) {
        if is_stuck {
            self.stuck_nodes.insert(node.to_owned());
        } else {
            self.stuck_nodes.remove(node);
        }
    }

    /// The writes that are due, at most so many. Each is to be answered by [`Attacher::finish`].
    pub fn take_due(&mut self, now: Timestamp, limit: usize) -> Vec<AttacherAction> {
        let due: Vec<(String, AttacherAction)> = self
            .attachments
            .iter()
            .filter_map(|(name, entry)| Some((name, self.wish(entry)?)))
            .filter(|(_, (at, _))| *at <= now)
            .map(|(name, (_, action))| (name.clone(), action))
            .take(limit)
            .collect();
        for (name, _) in &due {
            if let Some(entry) = self.attachments.get_mut(name) {
                entry.is_busy = true;
            }
        }
        due.into_iter().map(|(_, action)| action).collect()
    }

    /// When something is due next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.attachments.values().filter_map(|entry| self.wish(entry)).map(|(at, _)| at).min()
    }

    /// Takes note of what came of a write, and of the object as the write left it.
    pub fn finish(&mut self, action: &AttacherAction, left: Option<AttachmentFact>, now: Timestamp) {
        let Some(entry) = self.attachments.get_mut(&action.fact().name) else { return };
        if entry.fact.uid != action.fact().uid {
            return;
        }
        entry.is_busy = false;
        match left {
            None => {
                self.stats.failures += 1;
                entry.not_before = Some(after(now, RETRY));
            }
            Some(left) => {
                entry.not_before = None;
                entry.fact = left;
                match action {
                    AttacherAction::Hold(_) => {}
                    AttacherAction::Attached(_) => self.stats.attached += 1,
                    AttacherAction::Release(_) => self.stats.detached += 1,
                }
            }
        }
    }

    pub fn stats(&self) -> AttacherStats {
        self.stats
    }

    fn wish(&self, entry: &AttachmentEntry) -> Option<(Timestamp, AttacherAction)> {
        if entry.is_busy {
            return None;
        }
        let fact = &entry.fact;
        let (at, action) = if fact.is_deleting {
            if !fact.is_held() || self.stuck_nodes.contains(&fact.node) {
                return None;
            }
            (after(entry.since, self.timing.detach), AttacherAction::Release(fact.clone()))
        } else if fact.is_attached {
            return None;
        } else if fact.is_held() {
            (after(entry.since, self.timing.attach), AttacherAction::Attached(fact.clone()))
        } else if self.is_elsewhere(fact) {
            return None;
        } else {
            (entry.since, AttacherAction::Hold(fact.clone()))
        };
        Some((at.max(entry.not_before.unwrap_or(at)), action))
    }

    /// Another attachment holds the volume.
    fn is_elsewhere(&self, fact: &AttachmentFact) -> bool {
        let others = self.attachments.values().filter(|other| other.fact.name != fact.name);
        others.into_iter().any(|other| other.fact.volume == fact.volume && other.fact.is_held())
    }
}
