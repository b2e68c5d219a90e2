//! Everything that one pass over a Machine knows.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::error::Refusal;
use crate::driver::secret_rule::SecretRefusal;
use crate::driver::virtual_capacity::Quantities;
use crate::driver::{Address, DriverFacts};
use crate::health_policy::PoliciesFact;
use crate::machine::node::health::{ConditionStatus, HealthProblem, NodeConditionFact};
use crate::machine::node::sync::NodeMeta;
use crate::safety::meltdown::ReplacementLimit;
use crate::scheduling::gate::Gate;
use crate::scheduling::looks::VmCheckFact;
use crate::value::id::{ClassName, NodeName, ObjectKey, ProviderId, Uid};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::creation::doubt::CreateIntent;
use super::delete::note::DeletionStage;
use super::ownership::conflict::OwnershipConflict;
use super::ownership::mark::Marks;

/// All facts of one pass.
#[derive(Clone, Debug)]
pub struct MachineView {
    /// The Machine.
    pub machine: MachineFact,
    /// Its class.
    pub class: ClassFact,
    /// What its class's Secrets hold.
    pub secret: SecretFact,
    /// The driver that its class chooses.
    pub driver: DriverFact,
    /// The cluster that its Node joins.
    pub target: TargetFact,
    /// What the caches say of its Node's volumes, and what an earlier pass stored of a drain.
    pub drain: drain::DrainFacts,
    /// Other Machines that claim its VM or its Node.
    pub rivals: OwnershipConflict,
    /// The cluster's mark, as this process has it and as it is stored.
    pub marks: Marks,
    /// The policies that are about it.
    pub policies: PoliciesFact,
    /// Whether dangerous work is held.
    pub gate: Gate,
    /// When it was last let go again. What was seen of Nodes before says nothing about them.
    pub thawed_at: Option<Timestamp>,
    /// Since when this process has looked without a break. What Nodes are to have been before, nobody may have seen.
    pub watched_since: Option<Timestamp>,
    /// Extended resources that the Machine's class gives to its Node.
    pub virtual_capacity: Quantities,
    /// When its VM is to be looked at; `None` where nobody looks.
    pub look: Option<VmCheckFact>,
    /// Effective settings.
    pub settings: MachineSettings,
    /// Under which names things stand on objects.
    pub names: &'static MachineNames,
    /// Failed passes in a row until now.
    pub failures: u32,
    /// The cloud account of the class has answered a moment ago, and this one does not fail by itself.
    pub account_answers: bool,
}

/// A Machine, parsed.
#[derive(Clone, Debug)]
pub struct MachineFact {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
    /// When it was created.
    pub created: Timestamp,
    /// When its deletion was asked for.
    pub deletion: Option<Timestamp>,
    /// Our finalizer is on it. It is put there before the first create: without it no VM was ever asked for.
    pub has_finalizer: bool,
    /// The priority annotation is there.
    pub has_priority: bool,
    /// This process has made it, and has not begun to ask for its VM: nobody else may, so that nobody has.
    pub is_newborn: bool,
    /// The create that was noted last in a cloud that keeps no keys, unless it is known to have made nothing.
    pub create_intent: Option<CreateIntent>,
    /// The cloud's id.
    pub provider_id: Option<ProviderId>,
    /// The label `node`.
    pub node_name: Option<NodeName>,
    /// Where it is in its life. A word that is not ours counts as `Unknown`'s neighbour: see `observe`.
    pub phase: Phase,
    /// Since when, as its status says.
    pub phase_since: Option<Timestamp>,
    /// What was done last.
    pub operation: Option<OperationFact>,
    /// What the driver said last.
    pub last_known_state: Option<String>,
    /// Conditions of the Node as the Machine's status has them.
    pub conditions: Vec<NodeConditionFact>,
    /// Addresses as the Machine's status has them.
    pub addresses: Vec<Address>,
    /// What the Node is to carry, by the Machine's template.
    pub template: NodeMeta,
    /// Labels that the Node is to carry because it is this Machine's.
    pub own_node_labels: BTreeMap<String, String>,
    /// Something in its spec cannot be understood.
    pub invalid: Option<String>,
    /// What in its settings cannot be understood, and what counts instead.
    pub slips: Vec<String>,
    /// Its status says that there is such.
    pub has_told_slips: bool,
    /// What its status says of a Node that cannot end its pods by itself.
    pub ailment: HealthProblem,
    /// What its deletion is to heed.
    pub going: DeletionFact,
    /// Whether it is to be kept although it fails.
    pub keeping: PreservationFact,
    /// How long its Node took to join is noted on it.
    pub has_join_duration: bool,
    /// Until when its bootstrap token is valid, as far as this program has noted it.
    pub token_until: Option<Timestamp>,
    /// The reason of the Node's condition for updates in place, as its status has it.
    pub in_place_copied: Option<String>,
}

/// What is said on a Machine about its preservation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreservationFact {
    /// What its annotation asks for.
    pub wish: Option<String>,
    /// What the Node's annotation asked for when it was heeded last.
    pub node_wish_heeded: Option<String>,
    /// Until when it is kept.
    pub until: Option<Timestamp>,
    /// An earlier pass has drained the Node of the failed Machine.
    pub is_drained: bool,
    /// The label that forces drains which are not for deletion.
    pub forces_drain: bool,
    /// What condition `InPlaceUpdated` says.
    pub told_of_update: Option<ReportedCondition>,
    /// What condition `Preserved` says.
    pub told_of_preservation: Option<ReportedCondition>,
}

/// Names of labels, annotations and taints that decisions are about. The core knows none of its own.
#[derive(Debug)]
pub struct MachineNames {
    /// On a Machine or its class: the mark of the cluster whose VMs it has.
    pub cluster_mark: &'static str,
    /// On a Machine: the name of its Node.
    pub node: &'static str,
    /// On a Machine: how long its Node took to join.
    pub join_duration: &'static str,
    /// On a Machine: until when its bootstrap token is valid.
    pub token_until: &'static str,
    /// On a Machine or Node: the wish to preserve it.
    pub preserve: &'static str,
    /// On a Machine: the Node's wish that was heeded last.
    pub node_preserve_heeded: &'static str,
    /// On a Node: the autoscaler leaves it alone.
    pub scale_down_disabled: &'static str,
    /// On a Node: the former was set by a controller, which may take it away.
    pub scale_down_disabled_by_us: &'static str,
    /// Taint of a Node whose Machine failed and is preserved.
    pub preserved_taint: &'static str,
    /// Label of a Node that may be updated in place.
    pub candidate_for_update: &'static str,
    /// Label of a Node that is to be updated in place.
    pub selected_for_update: &'static str,
    /// Label of a Node: how its update in place went.
    pub update_result: &'static str,
    /// Annotation of a Node: why its update in place failed.
    pub update_failed_reason: &'static str,
}

/// What is said on a Machine about its deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionFact {
    /// The label that forces it.
    pub is_forced: bool,
    /// Names of the hooks that are to be awaited before the drain, sorted.
    pub pre_drain_hooks: Vec<String>,
    /// Names of the hooks that are to be awaited before the VM is removed, sorted.
    pub pre_terminate_hooks: Vec<String>,
    /// Since when the latter are awaited.
    pub pre_terminate_since: Option<Timestamp>,
    /// The Machine's own limit for hooks cannot be understood, so that the flag's counts.
    pub bad_hook_timeout: Option<String>,
    /// Somebody says that the Machine's VM is gone, on his own responsibility.
    pub is_vm_declared_gone: bool,
    /// How far an earlier pass, or machine-controller-manager, had come.
    pub left_at: Option<DeletionStage>,
    /// Since when.
    pub left_since: Option<Timestamp>,
    /// The driver has taken an order of this process to remove the VM, and how that stands.
    pub order: Option<DeleteRequestFact>,
    /// How long the last removal of a VM of its class took, from the order to the look that found nothing.
    pub usual_removal: Option<SignedDuration>,
    /// The last error was a driver's: somebody has asked for the VM.
    pub has_error_code: bool,
    /// What condition `Drained` says, and when that was written.
    pub told: Option<ReportedCondition>,
}

/// An order to remove a VM that the driver has taken. Known to the process that gave it, and to no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteRequestFact {
    /// When it was given first.
    pub first: Timestamp,
    /// When it was given last.
    pub at: Timestamp,
    /// When the cloud was last asked about the VM: by the order, or by a look after it.
    pub asked: Timestamp,
}

/// What an earlier pass said of the drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCondition {
    /// The reason of the condition.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Since when the condition has its status.
    pub since: Option<Timestamp>,
}

/// `status.lastOperation`, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFact {
    /// What.
    pub kind: OperationType,
    /// How it went.
    pub state: OperationState,
}

/// The class of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassFact {
    /// The Machine names none that is there.
    Missing(ClassName),
    /// It is there and cannot be used.
    Invalid {
        /// Its name.
        name: ClassName,
        /// What is wrong with it.
        message: String,
    },
    /// It is being deleted, so nothing new is made of it.
    Deleting(ClassName),
    /// It can be used.
    Ready(ClassName),
}

/// The Secrets of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFact {
    /// The class names no Secret.
    NotNamed,
    /// One that it names is not there.
    Missing(ObjectKey),
    /// The class may not use one that it names. None of their values is known.
    Refused(SecretRefusal),
    /// They are there and hold no `userData`.
    WithoutUserData,
    /// Complete.
    Ready,
}

/// The driver of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverFact {
    /// There is no class to choose one.
    NotChosen,
    /// None serves.
    Refused(Refusal),
    /// The version that the class pins cannot be called, and another one serves its provider. That is good enough to remove
    /// a VM, and never to make one.
    Substitute {
        /// What can be called.
        serving: DriverFacts,
        /// Why the pinned one cannot.
        why: String,
    },
    /// One serves.
    Ready(DriverFacts),
}

/// The cluster that Nodes join.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a pass, and a Node is what most passes have")]
pub enum TargetFact {
    /// The host runs without one.
    None,
    /// It is there, and this is the Machine's Node.
    Cluster(NodePresence),
}

/// The Node of a Machine.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a pass, and a Node is what most passes have")]
pub enum NodePresence {
    /// There is none of that name (or no name yet).
    Absent,
    /// A Node of that name belongs to another VM.
    Foreign(ProviderId),
    /// A Node of that name is there, other Machines claim it as well, and nothing tells whose it is.
    Contested(Vec<ObjectKey>),
    /// It is there.
    Present(NodeFact),
}

/// A Node, as far as its Machine cares.
#[derive(Clone, Debug)]
pub struct NodeFact {
    /// Its name.
    pub name: NodeName,
    /// Its uid.
    pub uid: Uid,
    /// When it was registered; `None` when that is not told.
    pub created: Option<Timestamp>,
    /// Being deleted.
    pub is_deleting: bool,
    /// Its labels, annotations and taints.
    pub meta: NodeMeta,
    /// Its conditions.
    pub conditions: Vec<NodeConditionFact>,
    /// Why pods on it may not be able to end by themselves.
    pub ailment: HealthProblem,
    /// It takes no more pods.
    pub is_cordoned: bool,
    /// Since when it is Ready, if it is.
    pub ready_since: Option<Timestamp>,
    /// What was applied to it last from its Machine's template; `None` when it was never, or cannot be read.
    pub last_applied: Option<NodeMeta>,
    /// It carries a taint that holds its Machine in Pending.
    pub has_critical_taint: bool,
    /// Our finalizer is on it, which makes its deletion the deletion of its Machine.
    pub has_finalizer: bool,
    /// How far its update in place is.
    pub in_place: Option<NodeConditionText>,
    /// What is said on it about preservation.
    pub preserved: Option<NodeConditionText>,
    /// Its capacity, as far as virtual capacity is concerned.
    pub capacity: Quantities,
    /// The virtual capacity that was applied to it last.
    pub last_applied_capacity: Option<Quantities>,
}

/// A condition of a Node, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConditionText {
    /// Its status.
    pub status: ConditionStatus,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// Its last transition.
    pub since: Option<Timestamp>,
}

/// Effective settings of one Machine: annotation over spec over flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSettings {
    /// From creation until the Node must have joined.
    pub creation_timeout: SignedDuration,
    /// How long Unknown is tolerated. `None`: for ever.
    pub health_timeout: Option<SignedDuration>,
    /// Node conditions that must be False.
    pub must_be_false: Vec<String>,
    /// How long to wait after the cloud's "no capacity".
    pub resource_exhausted_retry: SignedDuration,
    /// From the request for deletion until pods are not asked any more.
    pub drain_timeout: SignedDuration,
    /// How often a pod is asked to go, 20 s apart, before it is deleted without asking.
    pub max_evict_retries: u32,
    /// Pods with volumes that may leave a Node at the same time.
    pub parallel_volume_evictions: u32,
    /// How long a volume may take to come off a Node, beyond its pod's grace period.
    pub volume_detach_timeout: SignedDuration,
    /// How long to wait for a volume to be attached elsewhere before the next pod goes.
    pub volume_reattach_timeout: SignedDuration,
    /// How long an update in place may take.
    pub in_place_update_timeout: SignedDuration,
    /// How long a preserved Machine is kept.
    pub preserve_timeout: SignedDuration,
    /// How long a deletion waits for hooks of others.
    pub deletion_hook_timeout: SignedDuration,
    /// How many Machines of its deployment may be away at a time for this one to be failed.
    pub replacement_limit: ReplacementLimit,
    /// Why the Machine's own limit is not heeded.
    pub bad_replacement_limit: Option<String>,
}

impl MachineSettings {
    /// Those of a drain of the Machine's Node, whatever it is for.
    pub(super) fn drain(&self) -> drain::DrainSettings {
        drain::DrainSettings {
            timeout: self.drain_timeout,
            max_evict_retries: self.max_evict_retries,
            parallel_volumes: self.parallel_volume_evictions,
            detach_timeout: self.volume_detach_timeout,
            reattach_timeout: self.volume_reattach_timeout,
        }
    }
}

impl MachineView {
    /// The Node, when it is there and is the Machine's.
    pub fn node(&self) -> Option<&NodeFact> {
        match &self.target {
            TargetFact::Cluster(NodePresence::Present(node)) => Some(node),
            TargetFact::Cluster(
                NodePresence::Absent | NodePresence::Foreign(_) | NodePresence::Contested(_),
            )
            | TargetFact::None => None,
        }
    }

    /// True when Nodes join a cluster.
    pub fn has_target(&self) -> bool {
        matches!(self.target, TargetFact::Cluster(_))
    }
}
