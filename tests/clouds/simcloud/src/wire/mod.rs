//! VMs on the wire: what requests carry and what answers show.
//!
//! | module | what it does |
//! | --- | --- |
//! | `answer` | answers: bytes, their delay, and whether they arrive |
//! | `error` | the error answers of the cloud |
//! | `volumes` | volumes in requests and answers |

pub(crate) mod answer;
pub(crate) mod error;
pub(crate) mod volumes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/vms`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateVm {
    /// The name; need not be unique.
    pub name: String,
    pub zone: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub image: String,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Base64 of what the VM finds at boot.
    #[serde(default)]
    pub user_data: String,
    /// Volumes to create or to attach.
    #[serde(default)]
    pub volumes: Vec<VolumeRequest>,
    /// Whether the VM counts as unfinished until `initialize` was called.
    #[serde(default)]
    pub needs_initialize: bool,
}

/// A volume in a create of a VM: a fresh one by size, or an existing one by id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeRequest {
    /// An existing volume of the same zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the fresh volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Size of the fresh volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_gib: Option<u64>,
    /// Whether the fresh volume outlives the VM. An existing volume always does.
    #[serde(default)]
    pub keep: bool,
}

/// Body of `PATCH /v1/vms/{id}/tags`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchTags {
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    #[serde(default)]
    pub remove: Vec<String>,
}

/// Body of `POST /v1/vms/{id}/initialize`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Initialize {
    /// Whether the network drops packets that are neither from nor to the VM's own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_dest_check: Option<bool>,
}

/// Where a VM is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VmState {
    Pending,
    Running,
    /// It was deleted and shuts down.
    Stopping,
    /// It is gone; only its record can still be read.
    Terminated,
}

impl VmState {
    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Stopping, Self::Terminated]
            .into_iter()
            .find(|state| state.as_str() == name)
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Terminated => "terminated",
        }
    }

    /// Pending or running: it works for somebody, or is about to.
    #[must_use]
    pub fn is_live(self) -> bool {
        match self {
            Self::Pending | Self::Running => true,
            Self::Stopping | Self::Terminated => false,
        }
    }
}

/// A VM as answers show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmView {
    pub id: String,
    pub name: String,
    pub state: VmState,
    /// Why the VM left its wanted state, if not by a delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    pub region: String,
    pub zone: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub image: String,
    /// Addresses, as in a Node's status.
    pub addresses: Vec<Address>,
    pub tags: BTreeMap<String, String>,
    pub volumes: Vec<AttachedVolume>,
    /// Whether the network drops foreign packets; `initialize` turns it off.
    pub source_dest_check: bool,
    /// False while an `initialize` is awaited.
    pub initialized: bool,
    /// Grows with each boot, from 1.
    pub boot_id: u32,
    /// When it was created.
    pub created: Timestamp,
}

/// An address of a VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// `InternalIP`, `InternalDNS` or `Hostname`.
    #[serde(rename = "type")]
    pub kind: String,
    pub address: String,
}

/// A volume that is attached to a VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedVolume {
    pub id: String,
    /// The device inside the VM.
    pub device: String,
    /// Whether the volume outlives the VM.
    pub keep: bool,
}

/// A page of VMs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmPage {
    /// The VMs of the page, oldest first.
    pub vms: Vec<std::sync::Arc<VmView>>,
    /// Where the next page starts; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
