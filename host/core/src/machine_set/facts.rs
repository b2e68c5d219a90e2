//! Everything that one pass over a set knows.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::disruption::requests::Permits;
use crate::machine::{ClassFact, OperationFact};
use crate::scheduling::gate::Gate;
use crate::value::id::{ClassName, Name, ObjectKey, Uid};
use crate::value::phase::Phase;
use crate::value::selector::{Labels, Selector};

use super::creation::capacity::Alternatives;
use super::creation::join_failures::FailedJoins;

/// All facts of one pass.
#[derive(Clone, Debug)]
pub struct SetView {
    /// The set.
    pub set: SetFact,
    /// Every Machine that the set controls, or that its selector selects.
    pub machines: Vec<ChildFact>,
    /// The class of its template.
    pub class: ClassFact,
    /// What a cloud without capacity for that class is asked instead.
    pub alternatives: Alternatives,
    /// The deployment that it belongs to.
    pub deployment: Option<ReplicaLimitFact>,
    /// Which failed Machines its deployment lets go.
    pub permits: Permits,
    /// Whether dangerous work is held.
    pub gate: Gate,
    /// Whether the Machines are known as they are.
    pub freshness: Freshness,
    /// Effective settings.
    pub settings: SetSettings,
    /// Under which names things stand on objects.
    pub names: &'static SetNames,
}

/// Whether what the caches show can be decided on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// They have all that earlier passes of this process wrote for the set.
    #[default]
    Current,
    /// A write of an earlier pass had no clear answer, or was not seen in time.
    InDoubt,
}

/// A set, parsed.
#[derive(Clone, Debug)]
pub struct SetFact {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
    /// Its generation.
    pub generation: i64,
    /// When its deletion was asked for.
    pub deletion: Option<Timestamp>,
    /// Who deletes it wants its Machines to stay: the garbage collector is to take its name off them.
    pub leaves_machines: bool,
    /// Our finalizer is on it.
    pub has_finalizer: bool,
    /// How many Machines are wanted.
    pub replicas: i32,
    /// Which Machines are its own.
    pub selector: SetSelectorFact,
    /// What they are made from; `None` without one.
    pub template: Option<TemplateFact>,
    /// The label that holds creation because there are too many Machines.
    pub is_frozen: bool,
    /// The label that holds creation during an update in place.
    pub is_scale_up_disabled: bool,
    /// Somebody asks that the freeze ends.
    pub is_thaw_asked: bool,
    /// When the autoscaler lowered the number of Machines last.
    pub scaled_down_at: Option<Timestamp>,
    /// Ordinals up to this one are not given out any more.
    pub closed_ordinal: Option<u32>,
    /// How many Machines in a row have failed to join, as it is noted.
    pub failed_joins: Option<FailedJoins>,
    /// How many failed Machines are kept without being asked for.
    pub auto_preserve_max: i32,
    /// Settings that cannot be understood, and are not handed down: what is wrong with each.
    pub problems: Vec<String>,
    /// What its status says.
    pub told: ReportedSetStatus,
}

/// The selector of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetSelectorFact {
    /// There is none.
    Missing,
    /// It cannot be understood.
    Invalid(String),
    /// It can.
    Given(Selector),
}

/// The template of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateFact {
    /// Labels that its Machines get.
    pub labels: Labels,
    /// Their class; empty when none is named.
    pub class: Option<ClassName>,
}

/// What the status of a set says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedSetStatus {
    /// There are too many Machines.
    pub is_frozen: bool,
    /// The selector selects Machines of others.
    pub is_overlapping: bool,
    /// Settings cannot be understood.
    pub is_invalid: bool,
    /// What was done last.
    pub operation: Option<OperationFact>,
}

/// The deployment of a set, as far as its limit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaLimitFact {
    /// How many Machines it wants.
    pub replicas: i32,
    /// How many more there may be during a rollout; 0 where its strategy has no surge.
    pub surge: i32,
}

/// A Machine, as far as its set cares.
#[derive(Clone, Debug)]
pub struct ChildFact {
    /// Its name.
    pub name: Name,
    /// Its uid.
    pub uid: Uid,
    /// When it was created.
    pub created: Timestamp,
    /// Its labels.
    pub labels: Labels,
    /// Who controls it.
    pub owner: MachineOwner,
    /// Its deletion was asked for.
    pub is_deleting: bool,
    /// Where it is in its life.
    pub phase: Phase,
    /// Its class.
    pub class: Option<Name>,
    /// The cloud has no capacity for it, and has made no VM.
    pub is_exhausted: bool,
    /// What was done last with it.
    pub operation: Option<OperationFact>,
    /// Its place in the order of the set's Machines, see [`super::creation::names::ordinal_of`]; none where something else made it.
    pub ordinal: Option<u32>,
    /// How urgently it is to go, as it is written.
    pub priority: Option<String>,
    /// When it was marked to go.
    pub marked_at: Option<Timestamp>,
    /// Its Node says that it was updated in place, and the deployment has not taken note of it yet.
    pub is_updated_in_place: bool,
    /// It cannot be decoded: it counts, and nothing is done about it. What is known of it may be past.
    pub is_unreadable: bool,
    /// What its annotation wishes.
    pub preserve_wish: Option<String>,
    /// What its Node's annotation wishes, empty for nothing; `None` without a Node.
    pub node_preserve_wish: Option<String>,
    /// What its Node's annotation wished when it was heeded last.
    pub node_wish_heeded: Option<String>,
    /// Until when it is kept.
    pub preserved_until: Option<Timestamp>,
    /// Where its spec differs from what the set hands down.
    pub drift: BTreeSet<SyncedPart>,
}

/// Who controls a Machine, by uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineOwner {
    /// Nobody.
    None,
    /// This set.
    This,
    /// Somebody else, by name.
    Other(Name),
}

/// What a set hands down to Machines that are there. Everything else of a template counts for those to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncedPart {
    /// Labels, annotations and taints for the Node.
    NodeTemplate,
    /// Time-outs and the like.
    Configuration,
    /// The kind of the class. Its name is never changed.
    ClassKind,
}

/// Settings of all sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSettings {
    /// So many Machines above what is allowed are too many.
    pub safety_up: i32,
    /// So many below that they are not any more.
    pub safety_down: i32,
    /// So many Machines in a row that fail to join freeze their set; `None` for any number.
    pub failed_joins: Option<u32>,
}

impl Default for SetSettings {
    fn default() -> Self {
        Self { safety_up: 2, safety_down: 1, failed_joins: None }
    }
}

/// Names of labels and annotations that a set's pass writes. The core knows none of its own.
#[derive(Debug)]
pub struct SetNames {
    /// Label of a set: nothing is created.
    pub freeze: &'static str,
    /// Its value.
    pub freeze_value: &'static str,
    /// Annotation of a set: the freeze is to end.
    pub unfreeze: &'static str,
    /// Annotation of a set: ordinals up to this one are not given out any more.
    pub closed_ordinal: &'static str,
    /// Annotation of a set: how many Machines in a row have failed to join.
    pub failed_joins: &'static str,
}

impl ChildFact {
    /// Pods may run on it: it has a Node, or there is no cluster that Nodes join and it is of use.
    pub fn is_in_use(&self) -> bool {
        self.node_preserve_wish.is_some() || self.phase == Phase::Available
    }

    /// It is on its way out, so that it does not count.
    pub fn is_going(&self) -> bool {
        self.is_deleting || self.phase == Phase::Terminating
    }
}
