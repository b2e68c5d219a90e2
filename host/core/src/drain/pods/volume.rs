//! Volumes of pods, and where they are attached.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{Name, ObjectKey, Uid};

use crate::drain::effect::{DrainEffect, DrainProgress};

/// The name of a PersistentVolume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeName(Arc<str>);

impl VolumeName {
    /// Wraps the text as it is.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(Arc::from(text.as_ref()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A claim of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PvcFact {
    /// The claim's name in the pod's namespace.
    pub claim: Name,
    /// The volume that it is bound to, if that is known.
    pub volume: Option<VolumeName>,
    /// The ids that clouds and kubelets use for the volume. Empty when no driver knows it: then nothing shows when it
    /// is detached.
    pub ids: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttachmentFact {
    pub name: Name,
    pub uid: Uid,
    /// It belongs to the drained Node; otherwise to another one.
    pub is_here: bool,
    /// The volume; `None` when it is described inline.
    pub volume: Option<VolumeName>,
    pub is_attached: bool,
    pub deletion: Option<Timestamp>,
}

impl AttachmentFact {
    /// Returns the effect that deletes it, unless that was tried in this reconcile or is under way.
    pub(crate) fn deletion_if_untried(&self, progress: &DrainProgress) -> Option<DrainEffect> {
        let is_open = self.deletion.is_none() && !progress.attachments.contains_key(&self.name);
        is_open.then(|| DrainEffect::DeleteAttachment { name: self.name.clone(), uid: self.uid.clone() })
    }
}

/// The memory of a drain that no API object holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainMemory {
    /// Volumes of terminating pods, by volume.
    pub volumes: Vec<AwaitedVolume>,
}

/// A volume that must leave the Node, and then appear elsewhere before the next pod is evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitedVolume {
    pub volume: VolumeName,
    /// The ids that clouds and kubelets use for it.
    pub ids: BTreeSet<String>,
    /// The pod that used it; `None` for a volume that was found attached and unused.
    pub pod: Option<ObjectKey>,
    /// When that pod's deletion was requested.
    pub since: Timestamp,
    /// That pod's grace period.
    pub grace: SignedDuration,
    /// When it was first seen to have left the Node.
    pub detached: Option<Timestamp>,
}
