//! Facts of one reconcile of a MachineDeployment.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;

use crate::disruption::maintenance::Windows;
use crate::disruption::requests::Annotations;
use crate::machine::summary::MachineSummary;
use crate::machine::template::Template;
use crate::scheduling::gate::Gate;
use crate::value::id::{Name, NodeName, ObjectKey, Uid};

use super::rollout::strategy::RawStrategy;
use super::status::DeploymentStatus;

/// All facts of one reconcile.
#[derive(Clone, Debug)]
pub struct DeploymentView {
    pub deployment: DeploymentFact,
    /// Its sets, and those that its selector selects; in any order.
    pub sets: Vec<OwnedSetFact>,
    /// Sets that it controls and that cannot be decoded. Sorted.
    pub unreadable_sets: Vec<Name>,
    /// Other deployments of the namespace that select Machines of this one, or the other way round. Sorted.
    pub overlapping: Vec<Name>,
    /// Whether destructive actions pause.
    pub gate: Gate,
    pub settings: DeploymentSettings,
    /// The names of labels and annotations.
    pub names: &'static DeploymentNames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentSettings {
    /// The autoscaler must leave Nodes alone during a rollout.
    pub holds_autoscaler: bool,
    /// There is a cluster that Nodes join.
    pub has_target: bool,
}

#[derive(Clone, Debug)]
pub struct DeploymentFact {
    pub key: ObjectKey,
    pub uid: Uid,
    /// When its deletion was requested.
    pub deletion: Option<Timestamp>,
    /// It is deleted with orphaned sets: the garbage collector removes its owner references.
    pub leaves_sets: bool,
    /// Counts the changes of its spec.
    pub generation: i64,
    pub has_finalizer: bool,
    /// It has the label of a frozen deployment.
    pub is_labelled_frozen: bool,
    pub spec: SpecFact,
    pub annotations: BTreeMap<String, String>,
    pub status: DeploymentStatus,
}

/// The spec of a deployment, as written.
#[derive(Clone, Debug)]
pub struct SpecFact {
    pub replicas: i64,
    pub selector: DeploymentSelectorFact,
    pub template: Template,
    /// How they are replaced.
    pub strategy: RawStrategy,
    /// Stored, copied to sets, and not applied.
    pub min_ready_seconds: Option<i32>,
    /// How many old sets are kept.
    pub revision_history_limit: Option<i32>,
    /// The rollout is paused.
    pub is_paused: bool,
    /// The revision to roll back to.
    pub rollback_to: Option<i64>,
    /// How long a rollout may make no progress.
    pub progress_deadline_seconds: Option<i32>,
    /// Copied to its sets.
    pub auto_preserve_max: Option<i32>,
    /// When a rollout may continue.
    pub windows: WindowsFact,
    /// The problems of invalid settings, which are not copied.
    pub problems: Vec<String>,
}

/// When a rollout may continue.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum WindowsFact {
    #[default]
    None,
    Given(Windows),
    /// The text is invalid.
    Invalid(String),
}

/// The selector, compared with the labels of the deployment's own template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentSelectorFact {
    Missing,
    /// It is present and empty.
    Everything,
    Invalid(String),
    /// It does not select the Machines of the template.
    Misses,
    Selects,
}

/// The controller of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetOwner {
    Nobody,
    This,
    /// Somebody else, by kind and name.
    Other(String),
}

#[derive(Clone, Debug)]
pub struct OwnedSetFact {
    pub name: Name,
    pub uid: Uid,
    pub created: Timestamp,
    /// Its deletion was requested.
    pub is_deleting: bool,
    /// Counts the changes of its spec.
    pub generation: i64,
    /// The generation that its status is about.
    pub observed_generation: Option<i64>,
    pub owner: SetOwner,
    /// The deployment's selector selects it.
    pub is_selected: bool,
    /// The number of Machines that it wants.
    pub wanted: u32,
    /// The template of its Machines.
    pub template: Template,
    /// The value of the hash's label that its selector asks for.
    pub selected_hash: Option<String>,
    pub annotations: BTreeMap<String, String>,
    /// It has the label that blocks creation.
    pub is_scale_up_disabled: bool,
    /// It creates no Machines, by its label or its condition Frozen.
    pub is_frozen: bool,
    /// Copied from the deployment.
    pub min_ready_seconds: Option<i32>,
    /// Copied from the deployment.
    pub auto_preserve_max: Option<i32>,
    pub status: SetStatusFact,
    /// The Machines that it controls, in any order.
    pub machines: Vec<OwnedMachineFact>,
}

/// The reported status of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetStatusFact {
    /// Its Machines, with those that are being deleted.
    pub replicas: u32,
    pub ready: u32,
    pub available: u32,
    /// Failed ones that are preserved.
    pub preserved_failed: u32,
    /// Reason and message of its condition `ReplicaFailure`, while that is True.
    pub failure: Option<(String, String)>,
    /// The message of its condition `Frozen`, while that is True.
    pub frozen: Option<String>,
    /// Machines whose last operation failed.
    pub failed_machines: Vec<Name>,
}

/// A Machine, as its deployment sees it. The facts of its summary are read like its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedMachineFact {
    pub summary: MachineSummary,
    /// The value of the hash's label.
    pub hash: Option<String>,
    /// Its Node, if it exists.
    pub node: Option<RolloutNodeFact>,
}

impl Deref for OwnedMachineFact {
    type Target = MachineSummary;

    fn deref(&self) -> &MachineSummary {
        &self.summary
    }
}

impl DerefMut for OwnedMachineFact {
    fn deref_mut(&mut self) -> &mut MachineSummary {
        &mut self.summary
    }
}

/// A Node, as the deployment of its Machine sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutNodeFact {
    pub name: NodeName,
    /// The taint of Nodes of old sets.
    pub has_old_taint: bool,
    /// Whether the autoscaler leaves it alone.
    pub scale_down: ScaleDown,
    /// It takes no more pods.
    pub is_cordoned: bool,
    /// It has the label of a candidate for an update in place.
    pub is_candidate: bool,
    /// It has the label of a Node selected for an update in place.
    pub is_selected: bool,
    /// The label with the result of its update in place.
    pub update: Option<UpdateResult>,
    /// The stage of its update in place, by its condition.
    pub stage: Option<UpdateStage>,
}

impl RolloutNodeFact {
    /// Returns whether it is selected for, or in, an update in place.
    pub(super) fn is_out_of_service(&self) -> bool {
        let has_begun = matches!(self.stage, Some(UpdateStage::Selected | UpdateStage::HandedOver));
        self.is_selected || (self.is_candidate && has_begun)
    }
}

/// Whether the autoscaler leaves a Node alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleDown {
    Allowed,
    /// It does, at Machinist's request.
    HeldByUs,
    /// It does, at the request of others.
    HeldByOthers,
}

/// The result of an update in place, by the agent of the Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateResult {
    Successful,
    /// It was not, or the word is unknown.
    Failed,
}

/// The stage of an update in place, by the condition of the Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStage {
    Candidate,
    /// Selected, and being drained.
    Selected,
    /// Drained, or handed over to its agent.
    HandedOver,
    Successful,
    Failed,
}

/// Names of labels, annotations and taints. The core defines none.
#[derive(Debug)]
pub struct DeploymentNames {
    /// Label of sets, their templates, selectors and Machines: the hash of the template.
    pub template_hash: &'static str,
    /// Annotation of deployments and sets: revision of the template.
    pub revision: &'static str,
    /// Annotation of sets: earlier revisions of the same template.
    pub revision_history: &'static str,
    /// Annotation of sets: replicas of the deployment when it scaled the set.
    pub desired_replicas: &'static str,
    /// Annotation of sets: replicas and surge at that time.
    pub max_replicas: &'static str,
    /// Taint of Nodes of old sets, and annotation of those sets.
    pub prefer_no_schedule: &'static str,
    /// Annotation of deployments: Machines that the autoscaler wants to delete.
    pub trigger_deletion: &'static str,
    /// Annotation of deployments and sets: when the autoscaler lowered the replicas last.
    pub replica_change_time: &'static str,
    /// Annotation of deployments and sets: its presence thaws once.
    pub unfreeze: &'static str,
    /// Label of sets: its presence blocks creation.
    pub scale_up_disabled: &'static str,
    /// Label of a Node selected for an update in place.
    pub selected_for_update: &'static str,
    /// Annotations with the owner's disruption requests, and with the host's notes about them.
    pub disruption: &'static Annotations,
    /// Further annotations that are not copied from a deployment to its sets: those of tools.
    pub annotations_of_tools: &'static [&'static str],
}

impl DeploymentNames {
    /// Returns whether an annotation is copied from a deployment to its sets, and back in a rollback.
    pub(super) fn travels(&self, annotation: &str) -> bool {
        let own = [
            self.revision, self.revision_history, self.desired_replicas, self.max_replicas,
            self.prefer_no_schedule, self.trigger_deletion, self.unfreeze,
        ];
        let is_own = own.contains(&annotation) || self.disruption.all().contains(&annotation);
        !is_own && !self.annotations_of_tools.contains(&annotation)
    }
}
