//! The fields of a VolumeAttachment that an attacher reads.

use k8s_openapi::api::storage::v1::VolumeAttachment;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentFact {
    pub name: String,
    pub uid: String,
    /// The version that was seen.
    pub version: String,
    pub attacher: String,
    pub node: String,
    pub volume: String,
    /// The status of the attachment.
    pub is_attached: bool,
    /// Its deletion was asked for.
    pub is_deleting: bool,
    pub finalizers: Vec<String>,
}

impl AttachmentFact {
    /// Returns the facts for an attacher; `None` for a volume that is no PersistentVolume's.
    pub fn of(attachment: &VolumeAttachment) -> Option<Self> {
        let meta = &attachment.metadata;
        Some(Self {
            name: meta.name.clone()?,
            uid: meta.uid.clone()?,
            version: meta.resource_version.clone()?,
            attacher: attachment.spec.attacher.clone(),
            node: attachment.spec.node_name.clone(),
            volume: attachment.spec.source.persistent_volume_name.clone()?,
            is_attached: attachment.status.as_ref().is_some_and(|status| status.attached),
            is_deleting: meta.deletion_timestamp.is_some(),
            finalizers: meta.finalizers.clone().unwrap_or_default(),
        })
    }

    /// The finalizer of its driver's attacher.
    pub fn finalizer(&self) -> String {
        format!("external-attacher/{}", self.attacher.replace('.', "-"))
    }

    /// Whether the attacher holds it.
    pub fn is_held(&self) -> bool {
        self.finalizers.contains(&self.finalizer())
    }
}
