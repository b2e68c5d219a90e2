//! The tree of a namespace, as `-o json` prints it.

use jiff::Timestamp;
use serde::Serialize;

use crate::owner_tree::Note;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forest {
    pub(super) namespace: String,
    pub(super) deployments: Vec<DeploymentNode>,
    /// Sets without a deployment.
    pub(super) sets: Vec<SetNode>,
    /// Machines without a set.
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
    pub(super) notes: Vec<Note>,
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
