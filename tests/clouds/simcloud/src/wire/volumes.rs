//! Volumes on the wire.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/volumes`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateVolume {
    /// The name; need not be unique.
    pub name: String,
    pub zone: String,
    pub size_gib: u64,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
}

/// Body of `POST /v1/volumes/{id}/attach`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachVolume {
    pub vm: String,
}

/// Whether a volume is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeState {
    /// Attached to no VM.
    Available,
    /// Attached to a VM.
    InUse,
}

/// A volume as answers show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeView {
    pub id: String,
    pub name: String,
    pub zone: String,
    pub size_gib: u64,
    pub tags: BTreeMap<String, String>,
    /// Whether it is in use.
    pub state: VolumeState,
    /// The VM that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<String>,
    /// When it was created.
    pub created: Timestamp,
}

/// A page of volumes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumePage {
    /// The volumes of the page, oldest first.
    pub volumes: Vec<VolumeView>,
    /// Where the next page starts; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
