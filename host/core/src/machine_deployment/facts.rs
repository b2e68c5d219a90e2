//! Everything that one pass over a MachineDeployment knows.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::disruption::maintenance::Windows;
use crate::disruption::requests::Annotations;
use crate::machine::template::Template;
use crate::scheduling::gate::Gate;
use crate::value::id::{Name, NodeName, ObjectKey, Uid};
use crate::value::phase::Phase;

use super::rollout::strategy::RawStrategy;
use super::status::DeploymentStatus;

/// All facts of one pass.
#[derive(Clone, Debug)]
pub struct DeploymentView {
    /// The deployment.
    pub deployment: DeploymentFact,
    /// Its sets, and those that its selector selects; in any order.
    pub sets: Vec<OwnedSetFact>,
    /// Sets that it controls and that cannot be decoded. Sorted.
    pub unreadable_sets: Vec<Name>,
    /// Other deployments of the namespace that select Machines of this one, or the other way round. Sorted.
    pub overlapping: Vec<Name>,
    /// Whether dangerous work is held.
    pub gate: Gate,
    /// Effective settings.
    pub settings: DeploymentSettings,
    /// Under which names things stand on objects.
    pub names: &'static DeploymentNames,
}

/// What flags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentSettings {
    /// The autoscaler is asked to leave Nodes alone during a rollout.
    pub holds_autoscaler: bool,
    /// There is a cluster that Nodes join.
    pub has_target: bool,
}

/// A MachineDeployment.
#[derive(Clone, Debug)]
pub struct DeploymentFact {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
    /// When its deletion was asked for.
    pub deletion: Option<Timestamp>,
    /// Who deletes it wants its sets to stay: the garbage collector is to take its name off them.
    pub leaves_sets: bool,
    /// Counts the changes of its spec.
    pub generation: i64,
    /// Our finalizer is on it.
    pub has_finalizer: bool,
    /// The label that says that it is frozen.
    pub is_labelled_frozen: bool,
    /// What is wanted.
    pub spec: SpecFact,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// What its status says.
    pub status: DeploymentStatus,
}

/// What a deployment wants, as it was written.
#[derive(Clone, Debug)]
pub struct SpecFact {
    /// How many Machines.
    pub replicas: i64,
    /// Whose Machines.
    pub selector: DeploymentSelectorFact,
    /// What they are made from.
    pub template: Template,
    /// How they are replaced.
    pub strategy: RawStrategy,
    /// Stored, handed on to sets, and not applied.
    pub min_ready_seconds: Option<i32>,
    /// How many old sets are kept.
    pub revision_history_limit: Option<i32>,
    /// A rollout is held where it is.
    pub is_paused: bool,
    /// An earlier template is asked for, by its revision.
    pub rollback_to: Option<i64>,
    /// How long a rollout may make no progress.
    pub progress_deadline_seconds: Option<i32>,
    /// Handed on to sets.
    pub auto_preserve_max: Option<i32>,
    /// When a rollout may go on.
    pub windows: WindowsFact,
    /// Settings that cannot be understood, and are not handed down: what is wrong with each.
    pub problems: Vec<String>,
}

/// When a rollout may go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum WindowsFact {
    /// At any time.
    #[default]
    None,
    /// In these windows.
    Given(Windows),
    /// It is said, and cannot be understood.
    Invalid(String),
}

/// The selector, held against the labels of the deployment's own template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentSelectorFact {
    /// There is none.
    Missing,
    /// It is there and empty.
    Everything,
    /// It cannot be understood.
    Invalid(String),
    /// It does not select the Machines of the template.
    Misses,
    /// It selects them.
    Selects,
}

/// Who controls a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetOwner {
    /// Nobody.
    Nobody,
    /// This deployment.
    This,
    /// Somebody else, by kind and name.
    Other(String),
}

/// A MachineSet.
#[derive(Clone, Debug)]
pub struct OwnedSetFact {
    /// Its name.
    pub name: Name,
    /// Its uid.
    pub uid: Uid,
    /// When it was created.
    pub created: Timestamp,
    /// Its deletion was asked for.
    pub is_deleting: bool,
    /// Counts the changes of its spec.
    pub generation: i64,
    /// Which of these its status is about.
    pub observed_generation: Option<i64>,
    /// Who controls it.
    pub owner: SetOwner,
    /// The deployment's selector selects it.
    pub is_selected: bool,
    /// How many Machines it is to have.
    pub wanted: u32,
    /// What its Machines are made from.
    pub template: Template,
    /// The value of the hash's label that its selector asks for.
    pub selected_hash: Option<String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The label is there that keeps it from making Machines.
    pub is_scale_up_disabled: bool,
    /// It makes no Machines: its label or its condition Frozen says so.
    pub is_frozen: bool,
    /// Handed on from the deployment.
    pub min_ready_seconds: Option<i32>,
    /// Handed on from the deployment.
    pub auto_preserve_max: Option<i32>,
    /// What its status says.
    pub status: SetStatusFact,
    /// The Machines that it controls, in any order.
    pub machines: Vec<OwnedMachineFact>,
}

/// What a set says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetStatusFact {
    /// Its Machines, with those that are being deleted.
    pub replicas: u32,
    /// Those that are ready.
    pub ready: u32,
    /// Those that are available.
    pub available: u32,
    /// Failed ones that are preserved.
    pub preserved_failed: u32,
    /// What its condition `ReplicaFailure` says, while that is True: reason and message.
    pub failure: Option<(String, String)>,
    /// Why it makes no Machines, in the words of its condition `Frozen`, while that is True.
    pub frozen: Option<String>,
    /// Machines whose last operation failed.
    pub failed_machines: Vec<Name>,
}

/// A Machine, as far as its deployment cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedMachineFact {
    /// Its name.
    pub name: Name,
    /// Its uid.
    pub uid: Uid,
    /// When it was created.
    pub created: Timestamp,
    /// Its deletion was asked for, or its phase says so.
    pub is_deleting: bool,
    /// Where it is in its life.
    pub phase: Phase,
    /// Somebody wishes that it is kept when it fails.
    pub is_wished: bool,
    /// It is kept although it fails.
    pub preserved: Option<Preserved>,
    /// A smaller one goes first.
    pub priority: i64,
    /// When it was marked for deletion.
    pub marked_at: Option<Timestamp>,
    /// The label of an update in place that succeeded: its set does not count it as surplus.
    pub is_labelled_updated: bool,
    /// It cannot be decoded: its set counts it and leaves it alone.
    pub is_unreadable: bool,
    /// The value of the hash's label.
    pub hash: Option<String>,
    /// Its Node, when that is there.
    pub node: Option<RolloutNodeFact>,
}

impl OwnedMachineFact {
    /// Somebody wishes that it stays as it is.
    pub fn is_preserved(&self, now: Timestamp) -> bool {
        self.preserved.is_some_and(|preserved| preserved.until > now)
    }
}

/// Until when a Machine is preserved, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preserved {
    /// Nobody asked for it.
    pub is_automatic: bool,
    /// Its end.
    pub until: Timestamp,
}

/// A Node, as far as the deployment of its Machine cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutNodeFact {
    /// Its name.
    pub name: NodeName,
    /// The taint of Nodes of old sets.
    pub has_old_taint: bool,
    /// Whether the autoscaler leaves it alone.
    pub scale_down: ScaleDown,
    /// It takes no more pods.
    pub is_cordoned: bool,
    /// The label of a Node that may be updated in place.
    pub is_candidate: bool,
    /// The label of a Node that is to be updated in place.
    pub is_selected: bool,
    /// The label that says how its update in place went.
    pub update: Option<UpdateResult>,
    /// What its condition says of its update in place.
    pub stage: Option<UpdateStage>,
}

impl RolloutNodeFact {
    /// It is to be updated in place, or being so.
    pub(super) fn is_out_of_service(&self) -> bool {
        let has_begun = matches!(self.stage, Some(UpdateStage::Selected | UpdateStage::HandedOver));
        self.is_selected || (self.is_candidate && has_begun)
    }
}

/// Whether the autoscaler leaves a Node alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleDown {
    /// It does not.
    Allowed,
    /// It does, since we have asked.
    HeldByUs,
    /// It does, since somebody else has asked.
    HeldByOthers,
}

/// What the agent of a Node says of its update in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateResult {
    /// It was done.
    Successful,
    /// It was not, or nobody understands the word.
    Failed,
}

/// How far an update in place is, by the condition of the Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStage {
    /// May be updated.
    Candidate,
    /// Is to be updated, and being emptied.
    Selected,
    /// Empty, or handed over to its agent.
    HandedOver,
    /// Done.
    Successful,
    /// Not done.
    Failed,
}

/// Names of labels, annotations and taints. The core knows none of its own.
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
    /// Annotation of deployments: Machines that the autoscaler wants to go.
    pub trigger_deletion: &'static str,
    /// Annotation of deployments and sets: when the autoscaler lowered the replicas last.
    pub replica_change_time: &'static str,
    /// Annotation of deployments and sets: its presence thaws once.
    pub unfreeze: &'static str,
    /// Label of sets: its presence blocks creation.
    pub scale_up_disabled: &'static str,
    /// Label of a Node that is to be updated in place.
    pub selected_for_update: &'static str,
    /// What its owner wishes about taking Machines away, and what the host notes about it.
    pub disruption: &'static Annotations,
    /// What does not go from a deployment to its sets, beside what is named here: annotations of tools.
    pub annotations_of_tools: &'static [&'static str],
}

impl DeploymentNames {
    /// Whether an annotation goes from a deployment to its sets, and back in a rollback.
    pub(super) fn travels(&self, annotation: &str) -> bool {
        let own = [
            self.revision,
            self.revision_history,
            self.desired_replicas,
            self.max_replicas,
            self.prefer_no_schedule,
            self.trigger_deletion,
            self.unfreeze,
        ];
        let is_own = own.contains(&annotation) || self.disruption.all().contains(&annotation);
        !is_own && !self.annotations_of_tools.contains(&annotation)
    }
}
