//! The trees of a namespace, as `-o json` prints them.

use jiff::Timestamp;
use serde::Serialize;

use crate::owner_tree::{Note, VmState};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forest {
    pub(super) namespace: String,
    pub(super) deployments: Vec<DeploymentNode>,
    /// Sets without a deployment.
    pub(super) sets: Vec<SetNode>,
    /// Machines without a set.
    pub(super) machines: Vec<MachineNode>,
    /// Absent where its kinds are not installed, or may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster_api: Option<ClusterApiForest>,
    /// The kinds that are left out, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<String>,
}

/// The objects of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterApiForest {
    pub(super) clusters: Vec<ClusterNode>,
    /// MachinistMachines that no Machine has.
    pub(super) machinist_machines: Vec<VmNode>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterNode {
    pub(super) name: String,
    pub(super) state: ClusterState,
    pub(super) deletion_asked: Option<Timestamp>,
    pub(super) notes: Vec<Note>,
    pub(super) deployments: Vec<DeploymentNode>,
    /// Sets without a deployment.
    pub(super) sets: Vec<SetNode>,
    /// Control planes, and other owners of Machines beside sets.
    pub(super) owners: Vec<OwnerNode>,
    /// Machines without an owner, or whose set is not there.
    pub(super) machines: Vec<MachineNode>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ClusterState {
    /// Objects name it, and it is not there.
    #[default]
    Missing,
    Paused,
    /// It has no infrastructure yet.
    Unprovisioned,
    Provisioned,
}

impl ClusterState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "is not there",
            Self::Paused => "paused",
            Self::Unprovisioned => "has no infrastructure yet",
            Self::Provisioned => "provisioned",
        }
    }
}

/// An owner of Machines that is no set, such as a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerNode {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) machines: Vec<MachineNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeploymentNode {
    pub(super) name: String,
    pub(super) rollout: Rollout,
    pub(super) revision: Option<i64>,
    pub(super) strategy: String,
    /// The revision that it is to return to.
    pub(super) rollback_to: Option<i64>,
    pub(super) notes: Vec<Note>,
    pub(super) sets: Vec<SetNode>,
}

/// How far a rollout is, by the Machines that there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rollout {
    pub(super) state: RolloutState,
    pub(super) wanted: u32,
    /// Machines of the current template that stay.
    pub(super) updated: u32,
    /// Machines that are available and stay.
    pub(super) available: u32,
    /// All of them, those that are being deleted too.
    pub(super) machines: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RolloutState {
    /// No host has observed the last change.
    Unobserved,
    /// Machines of another template are there, or no set has the current one.
    Rolling,
    /// All Machines have the current template, and some come or go.
    Scaling,
    Paused,
    /// No progress for too long.
    Stuck,
    Deleting,
    Complete,
}

impl RolloutState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unobserved => "not looked at since its last change",
            Self::Rolling => "rolling",
            Self::Scaling => "scaling",
            Self::Paused => "paused",
            Self::Stuck => "stuck",
            Self::Deleting => "being deleted",
            Self::Complete => "complete",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetNode {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) revision: Option<i64>,
    pub(super) class: String,
    /// The template of its Machines' infrastructure, in Cluster API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<String>,
    pub(super) wanted: u32,
    pub(super) available: u32,
    pub(super) deletion_asked: Option<Timestamp>,
    pub(super) notes: Vec<Note>,
    pub(super) machines: Vec<MachineNode>,
}

/// The role of a set in its deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// It has the deployment's template.
    New,
    /// It has another one.
    Old,
    Free,
    /// Its controller does not exist; by kind and name.
    Orphan(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MachineNode {
    pub(super) name: String,
    /// The phase, `Creating` for the empty one.
    pub(super) state: String,
    pub(super) since: Option<Timestamp>,
    pub(super) is_available: bool,
    pub(super) deletion_asked: Option<Timestamp>,
    pub(super) preserved_until: Option<Timestamp>,
    /// It goes first when its set gets smaller.
    pub(super) is_marked: bool,
    pub(super) node: Option<String>,
    #[serde(rename = "providerID")]
    pub(super) provider_id: Option<String>,
    /// Its controller, which does not exist, by kind and name.
    pub(super) orphan_of: Option<String>,
    /// The object that is its VM, in Cluster API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) infrastructure: Option<Infrastructure>,
    pub(super) notes: Vec<Note>,
}

/// The object that is the VM of a Machine of Cluster API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Infrastructure {
    MachinistMachine(Box<VmNode>),
    /// The MachinistMachine of this name is not there.
    Missing(String),
    /// It is of another provider, by kind and name.
    Foreign(String),
}

/// A MachinistMachine, and where it is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VmNode {
    pub(super) name: String,
    pub(super) state: VmState,
    pub(super) since: Option<Timestamp>,
    pub(super) deletion_asked: Option<Timestamp>,
    #[serde(rename = "providerID")]
    pub(super) provider_id: Option<String>,
    /// Its Machine, which does not exist or names another object.
    pub(super) orphan_of: Option<String>,
    pub(super) notes: Vec<Note>,
}

impl VmNode {
    /// There is nothing to say of it.
    pub(super) fn is_well(&self) -> bool {
        self.state == VmState::Provisioned && self.notes.is_empty()
    }
}

impl MachineNode {
    /// There is nothing to say of it.
    pub(super) fn is_well(&self) -> bool {
        self.is_available
            && self.deletion_asked.is_none()
            && self.preserved_until.is_none()
            && !self.is_marked
            && self.orphan_of.is_none()
            && self.notes.is_empty()
            && self.infrastructure.as_ref().is_none_or(Infrastructure::is_well)
    }
}

impl Infrastructure {
    /// There is nothing to say of it. Other providers' objects are not read.
    pub(super) fn is_well(&self) -> bool {
        match self {
            Self::MachinistMachine(vm) => vm.is_well(),
            Self::Missing(_) => false,
            Self::Foreign(_) => true,
        }
    }
}

impl SetNode {
    /// It is only kept so that one can return to its template.
    pub(super) fn is_only_kept(&self) -> bool {
        self.role == Role::Old
            && self.wanted == 0
            && self.machines.is_empty()
            && self.deletion_asked.is_none()
            && self.notes.is_empty()
    }
}
