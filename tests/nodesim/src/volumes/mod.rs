//! Volumes: which claims lead to them, and what attaches them to Nodes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `attacher` | the attachers of all CSI drivers |
//! | `fact` | the fields of a VolumeAttachment that an attacher reads |

mod attacher;
mod fact;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

pub use attacher::{Attacher, AttacherAction, AttacherStats};
pub use fact::AttachmentFact;

/// The way from a claim to the name under which a Node's status tells of the volume.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Names of PersistentVolumes by namespace and name of the claim.
    claims: BTreeMap<(String, String), String>,
    /// Names as in `volumesAttached` by name of the PersistentVolume.
    volumes: BTreeMap<String, String>,
}

impl Catalogue {
    /// Takes note of a claim.
    pub fn hear_claim(&mut self, claim: &PersistentVolumeClaim) {
        let Some(key) = key(claim) else { return };
        match claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()) {
            Some(volume) => self.claims.insert(key, volume),
            None => self.claims.remove(&key),
        };
    }

    /// Takes note that a claim is gone.
    pub fn forget_claim(&mut self, claim: &PersistentVolumeClaim) {
        if let Some(key) = key(claim) {
            self.claims.remove(&key);
        }
    }

    /// Takes note of a volume.
    pub fn hear_volume(&mut self, volume: &PersistentVolume) {
        let csi = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref());
        if let (Some(name), Some(csi)) = (&volume.metadata.name, csi) {
            self.volumes.insert(name.clone(), unique_name(&csi.driver, &csi.volume_handle));
        }
    }

    /// Takes note that a volume is gone.
    pub fn forget_volume(&mut self, volume: &PersistentVolume) {
        if let Some(name) = &volume.metadata.name {
            self.volumes.remove(name);
        }
    }

    /// The name of a claim's volume as in `volumesAttached`.
    pub fn volume_of(&self, namespace: &str, claim: &str) -> Option<&str> {
        let volume = self.claims.get(&(namespace.to_owned(), claim.to_owned()))?;
        self.volumes.get(volume).map(String::as_str)
    }
}

/// The name under which a Node's status tells of a volume.
pub fn unique_name(driver: &str, handle: &str) -> String {
    format!("kubernetes.io/csi/{driver}^{handle}")
}

fn key(claim: &PersistentVolumeClaim) -> Option<(String, String)> {
    Some((claim.metadata.namespace.clone()?, claim.metadata.name.clone()?))
}
