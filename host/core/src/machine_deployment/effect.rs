//! What a pass over a deployment may do, and what came of it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::template::Template;
use crate::scheduling::gate::EffectKind;
use crate::value::id::{Name, NodeName, Uid};

use super::facts::{OwnedMachineFact, OwnedSetFact};

/// One thing to do.
///
/// Each write of a set, of the deployment or of a Node carries the version of what was observed as its precondition, each
/// write of a Machine its uid: what changed meanwhile is looked at again first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentEffect {
    /// Write the deployment's metadata and, in a rollback, its spec.
    WriteDeployment(DeploymentChange),
    /// Make the deployment the controller of a set that has none. The deployment is to be looked at on the server first: it
    /// must be this one, and not be being deleted.
    AdoptSet(SetKey),
    /// End the control of a set that is not selected any more.
    ReleaseSet(SetKey),
    /// Make a set of the deployment's template.
    CreateSet(NewSet),
    /// Change a set.
    WriteSet {
        /// Which.
        set: SetKey,
        /// What.
        change: SetChange,
    },
    /// Delete a set.
    DeleteSet(SetKey),
    /// Change a Machine's metadata.
    WriteMachine {
        /// Which.
        machine: MachineKey,
        /// What.
        change: MachineChange,
    },
    /// Change a Node's metadata.
    WriteNode {
        /// Which.
        node: NodeName,
        /// What.
        change: RolloutNodeChange,
    },
}

/// A set, and no later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetKey {
    /// Its name.
    pub name: Name,
    /// Its uid.
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
    /// Its name.
    pub name: Name,
    /// Its uid.
    pub uid: Uid,
}

/// What to write to the deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentChange {
    /// Our finalizer is to be put on (`Some(true)`) or taken off.
    pub finalizer: Option<bool>,
    /// The label that says that it is frozen is to be put on or taken off.
    pub freeze: Option<bool>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// The wish to return to an earlier template is to be taken away, and the template of this set, without the hash's
    /// label, to be put in place, if there is one.
    pub rollback: Option<Option<SetKey>>,
}

impl DeploymentChange {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A set that is to be made: owned by the deployment, with its template, selector and settings, and with our finalizer. The
/// hash goes into its labels, its selector and its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSet {
    /// Its name.
    pub name: Name,
    /// The hash of its template.
    pub hash: String,
    /// How many Machines.
    pub replicas: u32,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// What to write to a set. `None` leaves a field alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetChange {
    /// How many Machines it had and is to want.
    pub replicas: Option<(u32, u32)>,
    /// Labels to set (`Some`) or remove (`None`).
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// Node template, settings and kind of the class are to be those of the deployment, as well as `minReadySeconds` and
    /// `autoPreserveFailedMachineMax`.
    pub takes_settings: bool,
    /// A label of its template.
    pub template_label: Option<(String, String)>,
    /// A label of its selector.
    pub selector_label: Option<(String, String)>,
}

impl SetChange {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What to write to a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineChange {
    /// It is to go first: the first priority, and the time where none is noted.
    Mark {
        /// When it was marked, if that is to be written.
        at: Option<Timestamp>,
    },
    /// The label of the hash.
    Hash(String),
    /// It belongs to another set: owner and labels of the selector, in one write that also labels it as updated.
    Transfer {
        /// Whose it was.
        from: SetKey,
        /// Whose it is to be.
        to: SetKey,
    },
    /// The label of an update that succeeded is to be taken off.
    Unlabel,
}

/// What to write to a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutNodeChange {
    /// The taint of Nodes of old sets is to be put on or taken off.
    pub old_taint: Option<bool>,
    /// The autoscaler is to leave it alone, or not any more.
    pub holds_autoscaler: Option<bool>,
    /// The label of candidates for an update in place is to be put on or taken off.
    pub candidate: Option<bool>,
    /// The label of Nodes that are to be updated in place is to be put on or taken off.
    pub selected: Option<bool>,
    /// What is said of its update in place is to be taken off: all three labels, and the reason of a failure; and the taint is
    /// to be put on that holds it until its critical components are ready.
    pub ends_update: bool,
    /// It is to take pods again.
    pub uncordons: bool,
}

impl RolloutNodeChange {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl DeploymentEffect {
    /// For logs and metrics: a closed set.
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

    /// What the gate asks of it.
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::WriteDeployment(change) if change.finalizer == Some(false) => EffectKind::FinalizerRelease,
            Self::WriteSet { change, .. } if change.replicas.is_some_and(|(from, to)| to < from) => {
                EffectKind::SetDelete
            }
            Self::WriteNode { change, .. } if change.selected == Some(true) => EffectKind::EmptyNode,
            Self::WriteNode { .. } => EffectKind::NodeWrite,
            // A set that goes takes Machines with it only as far as the gate lets it.
            Self::WriteDeployment(_)
            | Self::AdoptSet(_)
            | Self::ReleaseSet(_)
            | Self::CreateSet(_)
            | Self::WriteSet { .. }
            | Self::DeleteSet(_)
            | Self::WriteMachine { .. } => EffectKind::ObjectWrite,
        }
    }

    /// What it is about, for messages.
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

/// What came of an effect that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectResult {
    /// It is as asked.
    Done,
    /// Of `CreateSet`: there is one of that name.
    Taken(ExistingSet),
}

/// A set that has the name of one that was to be made, as the server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingSet {
    /// This deployment controls it.
    pub is_own: bool,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Its template.
    pub template: Template,
}

/// What has come of the effects of this pass. Lives for the pass only, so that a crash equals a new pass.
#[derive(Clone, Debug, Default)]
pub struct DeploymentProgress {
    outcomes: Vec<(DeploymentEffect, Result<EffectResult, ActError>)>,
}

impl DeploymentProgress {
    /// Remembers an outcome.
    pub fn record(&mut self, effect: DeploymentEffect, outcome: Result<EffectResult, ActError>) {
        self.outcomes.push((effect, outcome));
    }

    /// What came of an effect; `None` when it was not done.
    pub fn of(&self, effect: &DeploymentEffect) -> Option<&Result<EffectResult, ActError>> {
        self.outcomes.iter().find(|(done, _)| done == effect).map(|(_, outcome)| outcome)
    }

    /// The first that failed.
    pub fn failure(&self) -> Option<(&DeploymentEffect, &ActError)> {
        self.outcomes.iter().find_map(|(effect, outcome)| Some((effect, outcome.as_ref().err()?)))
    }

    /// The first that failed and holds something up: what is only said on a Node does not.
    pub(super) fn setback(&self) -> Option<(&DeploymentEffect, &ActError)> {
        let failed =
            self.outcomes.iter().filter(|(effect, _)| !matches!(effect, DeploymentEffect::WriteNode { .. }));
        failed.into_iter().find_map(|(effect, outcome)| Some((effect, outcome.as_ref().err()?)))
    }

    /// Something was written.
    pub fn has_written(&self) -> bool {
        self.outcomes.iter().any(|(_, outcome)| outcome.is_ok())
    }

    /// The effects that were done.
    pub(super) fn done(&self) -> impl Iterator<Item = (&DeploymentEffect, &EffectResult)> {
        self.outcomes.iter().filter_map(|(effect, outcome)| Some((effect, outcome.as_ref().ok()?)))
    }
}
