//! Effects of a deployment's reconcile, and their outcomes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::template::Template;
use crate::scheduling::gate::EffectKind;
use crate::value::id::{Name, NodeName, Uid};

use super::facts::{OwnedMachineFact, OwnedSetFact};

/// One thing to do.
///
/// Each write of a set, of the deployment or of a Node carries the observed version as its precondition, each write of
/// a Machine its uid: an object that changed meanwhile is observed again first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentEffect {
    /// Write the deployment's metadata and, in a rollback, its spec.
    WriteDeployment(DeploymentChange),
    /// Make the deployment the controller of a set without one. The deployment must be read from the server first: it
    /// must be this one, and not in deletion.
    AdoptSet(SetKey),
    /// Release a set that is no longer selected.
    ReleaseSet(SetKey),
    /// Create a set of the deployment's template.
    CreateSet(NewSet),
    WriteSet {
        set: SetKey,
        change: SetChange,
    },
    DeleteSet(SetKey),
    /// Change a Machine's metadata.
    WriteMachine {
        machine: MachineKey,
        change: MachineChange,
    },
    /// Change a Node's metadata.
    WriteNode {
        node: NodeName,
        change: RolloutNodeChange,
    },
}

/// A set, and no later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetKey {
    pub name: Name,
    pub uid: Uid,
}

impl From<&OwnedSetFact> for SetKey {
    fn from(set: &OwnedSetFact) -> Self {
        Self { name: set.name.clone(), uid: set.uid.clone() }
    }
}

impl From<&OwnedMachineFact> for MachineKey {
    fn from(machine: &OwnedMachineFact) -> Self {
        Self { name: machine.name.clone(), uid: machine.uid.clone() }
    }
}

/// A Machine, and no later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineKey {
    pub name: Name,
    pub uid: Uid,
}

/// A write to the deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentChange {
    /// Adds our finalizer (`Some(true)`) or removes it.
    pub finalizer: Option<bool>,
    /// Adds or removes the label of a frozen deployment.
    pub freeze: Option<bool>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// Removes the request to roll back, and restores the template of this set, if any, without the label of the hash.
    pub rollback: Option<Option<SetKey>>,
}

impl DeploymentChange {
    /// Returns true when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A set to create: owned by the deployment, with its template, selector and settings, and with our finalizer. The hash
/// is in its labels, its selector and its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSet {
    pub name: Name,
    /// The hash of its template.
    pub hash: String,
    pub replicas: u32,
    pub annotations: BTreeMap<String, String>,
}

/// A write to a set. `None` leaves a field alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetChange {
    /// The old and the new number of Machines.
    pub replicas: Option<(u32, u32)>,
    /// Labels to set (`Some`) or remove (`None`).
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// Copies node template, settings, kind of the class, `minReadySeconds` and `autoPreserveFailedMachineMax` of the
    /// deployment.
    pub takes_settings: bool,
    pub template_label: Option<(String, String)>,
    pub selector_label: Option<(String, String)>,
}

impl SetChange {
    /// Returns true when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A write to a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineChange {
    /// Marks it to be deleted first: the first priority, and the time if none is noted.
    Mark {
        /// When it was marked, if that must be written.
        at: Option<Timestamp>,
    },
    /// The label of the hash.
    Hash(String),
    /// Moves it to another set: owner and labels of the selector, in one write that also labels it as updated.
    Transfer {
        /// The old owner set.
        from: SetKey,
        /// The new owner set.
        to: SetKey,
    },
    /// Removes the label of a successful update.
    Unlabel,
}

/// A write to a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutNodeChange {
    /// Adds or removes the taint of Nodes of old sets.
    pub old_taint: Option<bool>,
    /// Adds or removes the annotation that tells the autoscaler to leave it alone.
    pub holds_autoscaler: Option<bool>,
    /// Adds or removes the label of candidates for an update in place.
    pub candidate: Option<bool>,
    /// Adds or removes the label of Nodes selected for an update in place.
    pub selected: Option<bool>,
    /// Removes the traces of its update in place: all three labels, and the reason of a failure; and adds the taint
    /// that blocks pods until its critical components are ready.
    pub ends_update: bool,
    pub uncordons: bool,
}

impl RolloutNodeChange {
    /// Returns true when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl DeploymentEffect {
    /// Returns the name for logs and metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WriteDeployment(_) => "write-deployment",
            Self::AdoptSet(_) => "adopt-set",
            Self::ReleaseSet(_) => "release-set",
            Self::CreateSet(_) => "create-set",
            Self::WriteSet { .. } => "write-set",
            Self::DeleteSet(_) => "delete-set",
            Self::WriteMachine { .. } => "write-machine",
            Self::WriteNode { .. } => "write-node",
        }
    }

    /// Returns its kind for the gate.
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::WriteDeployment(change) if change.finalizer == Some(false) => EffectKind::FinalizerRelease,
            Self::WriteSet { change, .. } if change.replicas.is_some_and(|(from, to)| to < from) => {
                EffectKind::SetDelete
            }
            Self::WriteNode { change, .. } if change.selected == Some(true) => EffectKind::EmptyNode,
            Self::WriteNode { .. } => EffectKind::NodeWrite,
            // A set in deletion deletes its Machines only as far as the gate permits.
            Self::WriteDeployment(_)
            | Self::AdoptSet(_)
            | Self::ReleaseSet(_)
            | Self::CreateSet(_)
            | Self::WriteSet { .. }
            | Self::DeleteSet(_)
            | Self::WriteMachine { .. } => EffectKind::ObjectWrite,
        }
    }

    /// Returns its subject, for messages.
    pub fn subject(&self) -> String {
        match self {
            Self::WriteDeployment(_) => "write the deployment".to_owned(),
            Self::AdoptSet(set) => format!("adopt MachineSet {}", set.name),
            Self::ReleaseSet(set) => format!("release MachineSet {}", set.name),
            Self::CreateSet(set) => format!("create MachineSet {}", set.name),
            Self::WriteSet { set, .. } => format!("write MachineSet {}", set.name),
            Self::DeleteSet(set) => format!("delete MachineSet {}", set.name),
            Self::WriteMachine { machine, .. } => format!("write Machine {}", machine.name),
            Self::WriteNode { node, .. } => format!("write Node {node}"),
        }
    }
}

/// The result of an effect that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectResult {
    /// It is as asked.
    Done,
    /// A set has that name, after `CreateSet`.
    Taken(ExistingSet),
}

/// An existing set with the name of the one to create, read from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingSet {
    /// This deployment controls it.
    pub is_own: bool,
    pub is_deleting: bool,
    pub template: Template,
}

/// The outcomes of this reconcile's effects. It lives for one reconcile only, so that a crash equals a new reconcile.
#[derive(Clone, Debug, Default)]
pub struct DeploymentProgress {
    outcomes: Vec<(DeploymentEffect, Result<EffectResult, ActError>)>,
}

impl DeploymentProgress {
    pub fn record(&mut self, effect: DeploymentEffect, outcome: Result<EffectResult, ActError>) {
        self.outcomes.push((effect, outcome));
    }

    /// Returns the outcome of an effect; `None` when it was not done.
    pub fn of(&self, effect: &DeploymentEffect) -> Option<&Result<EffectResult, ActError>> {
        self.outcomes.iter().find(|(done, _)| done == effect).map(|(_, outcome)| outcome)
    }

    /// Returns the first failure.
    pub fn failure(&self) -> Option<(&DeploymentEffect, &ActError)> {
        self.outcomes.iter().find_map(|(effect, outcome)| Some((effect, outcome.as_ref().err()?)))
    }

    /// Returns the first failure that blocks the plan: a write to a Node does not.
    pub(super) fn setback(&self) -> Option<(&DeploymentEffect, &ActError)> {
        let failed =
            self.outcomes.iter().filter(|(effect, _)| !matches!(effect, DeploymentEffect::WriteNode { .. }));
        failed.into_iter().find_map(|(effect, outcome)| Some((effect, outcome.as_ref().err()?)))
    }

    /// Returns whether something was written.
    pub fn has_written(&self) -> bool {
        self.outcomes.iter().any(|(_, outcome)| outcome.is_ok())
    }

    pub(super) fn done(&self) -> impl Iterator<Item = (&DeploymentEffect, &EffectResult)> {
        self.outcomes.iter().filter_map(|(effect, outcome)| Some((effect, outcome.as_ref().ok()?)))
    }
}
