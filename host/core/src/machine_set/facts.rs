//! Facts of one reconcile of a set.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;

use crate::disruption::requests::Permits;
use crate::machine::summary::MachineSummary;
use crate::machine::{ClassFact, OperationFact};
use crate::scheduling::gate::Gate;
use crate::value::id::{ClassName, Name, ObjectKey, Uid};
use crate::value::phase::Phase;
use crate::value::selector::{Labels, Selector};

use super::creation::capacity::Alternatives;
use super::creation::join_failures::FailedJoins;

/// All facts of one reconcile.
#[derive(Clone, Debug)]
pub struct SetView {
    pub set: SetFact,
    /// Every Machine that the set controls, or that its selector selects.
    pub machines: Vec<ChildFact>,
    /// The class of its template.
    pub class: ClassFact,
    /// The alternatives to that class for a cloud without capacity.
    pub alternatives: Alternatives,
    /// The MachineDeployment that owns it.
    pub deployment: Option<ReplicaLimitFact>,
    /// The failed Machines that its deployment permits to delete.
    pub permits: Permits,
    /// Whether destructive actions pause.
    pub gate: Gate,
    /// Whether the cached Machines are current.
    pub freshness: Freshness,
    pub settings: SetSettings,
    /// The names of labels and annotations.
    pub names: &'static SetNames,
}

/// Whether decisions may rely on the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// They show all writes of earlier reconciles of this process for the set.
    #[default]
    Current,
    /// A write of an earlier reconcile had no clear answer, or was not seen in time.
    InDoubt,
}

#[derive(Clone, Debug)]
pub struct SetFact {
    pub key: ObjectKey,
    pub uid: Uid,
    pub generation: i64,
    /// When its deletion was requested.
    pub deletion: Option<Timestamp>,
    /// It is deleted with orphaned Machines: the garbage collector removes its owner references.
    pub leaves_machines: bool,
    pub has_finalizer: bool,
    /// How many Machines are wanted.
    pub replicas: i32,
    /// The selector of its Machines.
    pub selector: SetSelectorFact,
    /// The template of its Machines, if any.
    pub template: Option<TemplateFact>,
    /// The label that blocks creation because there are too many Machines.
    pub is_frozen: bool,
    /// The label that blocks creation during an update in place.
    pub is_scale_up_disabled: bool,
    /// The annotation that requests a thaw.
    pub is_thaw_asked: bool,
    /// When the autoscaler lowered the number of Machines last.
    pub scaled_down_at: Option<Timestamp>,
    /// Ordinals up to this one are not used any more.
    pub closed_ordinal: Option<u32>,
    /// The noted number of Machines in a row that have failed to join.
    pub failed_joins: Option<FailedJoins>,
    /// How many failed Machines are preserved without a request.
    pub auto_preserve_max: i32,
    /// The problems of invalid settings, which are not copied to Machines.
    pub problems: Vec<String>,
    pub reported: ReportedSetStatus,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetSelectorFact {
    Missing,
    Invalid(String),
    Given(Selector),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateFact {
    pub labels: Labels,
    /// Their class, if named.
    pub class: Option<ClassName>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedSetStatus {
    /// There are too many Machines.
    pub is_frozen: bool,
    /// The selector selects Machines of other owners.
    pub is_overlapping: bool,
    /// Some settings are invalid.
    pub is_invalid: bool,
    pub operation: Option<OperationFact>,
}

/// The numbers of the owning deployment that limit the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaLimitFact {
    /// How many Machines it wants.
    pub replicas: i32,
    /// How many more there may be during a rollout; 0 for a strategy without surge.
    pub surge: i32,
}

/// A Machine, as its set sees it. The facts of its summary are read like its own.
#[derive(Clone, Debug)]
pub struct ChildFact {
    pub summary: MachineSummary,
    pub labels: Labels,
    pub owner: MachineOwner,
    pub class: Option<Name>,
    /// The cloud has no capacity for it, and it has no VM.
    pub is_exhausted: bool,
    pub operation: Option<OperationFact>,
    /// Its ordinal among the set's Machines, see [`super::creation::names::ordinal_of`]; `None` if the set did not
    /// create it.
    pub ordinal: Option<u32>,
    /// The parts of its spec that differ from the set's.
    pub drift: BTreeSet<SyncedPart>,
}

impl Deref for ChildFact {
    type Target = MachineSummary;

    fn deref(&self) -> &MachineSummary {
        &self.summary
    }
}

impl DerefMut for ChildFact {
    fn deref_mut(&mut self) -> &mut MachineSummary {
        &mut self.summary
    }
}

/// The controller of a Machine, by uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineOwner {
    None,
    This,
    /// Somebody else, by name.
    Other(Name),
}

/// The parts of a template that a set copies to existing Machines. Everything else applies to new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncedPart {
    /// Labels, annotations and taints for the Node.
    NodeTemplate,
    /// Time-outs and the like.
    Configuration,
    /// The kind of the class. Its name is never changed.
    ClassKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSettings {
    /// The number of Machines above the limit that freezes a set.
    pub safety_up: i32,
    /// The number below that at which the freeze ends.
    pub safety_down: i32,
    /// The number of Machines in a row that fail to join and so freeze their set; `None` for no limit.
    pub failed_joins: Option<u32>,
}

impl Default for SetSettings {
    fn default() -> Self {
        Self { safety_up: 2, safety_down: 1, failed_joins: None }
    }
}

/// Names of labels and annotations that a set's reconcile writes. The core defines none.
#[derive(Debug)]
pub struct SetNames {
    /// Label of a set: nothing is created.
    pub freeze: &'static str,
    pub freeze_value: &'static str,
    /// Annotation of a set: requests a thaw.
    pub unfreeze: &'static str,
    /// Annotation of a set: ordinals up to this one are not used any more.
    pub closed_ordinal: &'static str,
    /// Annotation of a set: how many Machines in a row have failed to join.
    pub failed_joins: &'static str,
}

impl ChildFact {
    /// Returns whether pods may run on it: it has a Node, or it is available and there is no target cluster.
    pub fn is_in_use(&self) -> bool {
        self.node_preserve_request.is_some() || self.phase == Phase::Available
    }
}
