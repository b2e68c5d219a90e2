//! Facts of one reconcile of a Machine; `summary`: the facts that count for its set and its deployment.

pub mod summary;

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
use crate::scheduling::vm_checks::VmCheckFact;
use crate::value::id::{ClassName, NodeName, ObjectKey, ProviderId, Uid};
use crate::value::phase::{OperationState, OperationType, Phase};

use crate::machine::creation::doubt::CreateIntent;
use crate::machine::delete::note::DeletionStage;
use crate::machine::ownership::conflict::OwnershipConflict;
use crate::machine::ownership::mark::Marks;

/// All facts of one reconcile.
#[derive(Clone, Debug)]
pub struct MachineView {
    pub machine: MachineFact,
    pub class: ClassFact,
    pub secret: SecretFact,
    pub driver: DriverFact,
    /// The cluster that its Node joins.
    pub target: TargetFact,
    /// Facts from the caches about its Node's volumes, and the stored memory of a drain.
    pub drain: drain::DrainFacts,
    /// Other Machines that name its VM or its Node.
    pub conflict: OwnershipConflict,
    /// The cluster's mark, as this process has it and as it is stored.
    pub marks: Marks,
    /// The policies that apply to it.
    pub policies: PoliciesFact,
    /// Whether destructive actions pause.
    pub gate: Gate,
    /// The time of the last thaw. Observations of Nodes before it do not count.
    pub thawed_at: Option<Timestamp>,
    /// Since when this process has watched without a break. Earlier states of Nodes may not have been observed.
    pub watched_since: Option<Timestamp>,
    /// Extended resources that the Machine's class gives to its Node.
    pub virtual_capacity: Quantities,
    /// When its VM is queried; `None` if it is not.
    pub vm_check: Option<VmCheckFact>,
    pub settings: MachineSettings,
    /// The names of labels and annotations.
    pub names: &'static MachineNames,
    /// The number of failed reconciles in a row.
    pub failures: u32,
    /// The cloud account of the class has answered a moment ago, and this Machine does not fail alone.
    pub account_answers: bool,
}

#[derive(Clone, Debug)]
pub struct MachineFact {
    pub key: ObjectKey,
    pub uid: Uid,
    pub created: Timestamp,
    /// When its deletion was asked for.
    pub deletion: Option<Timestamp>,
    /// Our finalizer is on it. It is added before the first create: without it no VM was ever requested.
    pub has_finalizer: bool,
    /// The priority annotation is there.
    pub has_priority: bool,
    /// This process has created it, and has not requested its VM yet; no other process may.
    pub is_unstarted: bool,
    /// The create that was noted last for a cloud that keeps no idempotency keys, unless it is known to have created
    /// nothing.
    pub create_intent: Option<CreateIntent>,
    pub provider_id: Option<ProviderId>,
    pub node_name: Option<NodeName>,
    /// Its phase. For an unknown word see `observe`.
    pub phase: Phase,
    /// Since when, as its status says.
    pub phase_since: Option<Timestamp>,
    pub operation: Option<OperationFact>,
    /// The state that the driver returned last.
    pub last_known_state: Option<String>,
    /// Conditions of the Node as the Machine's status has them.
    pub conditions: Vec<NodeConditionFact>,
    /// Addresses as the Machine's status has them.
    pub addresses: Vec<Address>,
    /// The Node's metadata by the Machine's template.
    pub template: NodeMeta,
    /// Labels that mark the Node as this Machine's.
    pub own_node_labels: BTreeMap<String, String>,
    /// The problem of an invalid spec.
    pub invalid: Option<String>,
    /// Invalid settings, and the values that count instead.
    pub validation_problems: Vec<String>,
    /// Its status reports such problems.
    pub problems_reported: bool,
    /// The reported health problem of its Node, whose pods cannot terminate on their own.
    pub health_problem: HealthProblem,
    pub deletion_facts: DeletionFact,
    pub preservation: PreservationFact,
    /// The time that its Node took to join is noted on it.
    pub has_join_duration: bool,
    /// Until when its bootstrap token is valid, if noted.
    pub token_until: Option<Timestamp>,
    /// The reason of the Node's condition for updates in place, as its status has it.
    pub in_place_copied: Option<String>,
}

/// Facts on a Machine about its preservation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreservationFact {
    /// The request of its annotation.
    pub request: Option<String>,
    /// The Node's request that was applied last.
    pub applied_node_request: Option<String>,
    /// Until when it is preserved.
    pub until: Option<Timestamp>,
    /// An earlier reconcile has drained the Node of the failed Machine.
    pub is_drained: bool,
    /// The label that forces drains without a deletion.
    pub forces_drain: bool,
    /// The reported condition `InPlaceUpdated`.
    pub reported_update: Option<ReportedCondition>,
    pub reported_preservation: Option<ReportedCondition>,
}

/// Names of labels, annotations and taints that decisions use. The core defines none.
#[derive(Debug)]
pub struct MachineNames {
    /// On a Machine or its class: the mark of the cluster that its VMs belong to.
    pub cluster_mark: &'static str,
    /// On a Machine: the name of its Node.
    pub node: &'static str,
    /// On a Machine: how long its Node took to join.
    pub join_duration: &'static str,
    /// On a Machine: until when its bootstrap token is valid.
    pub token_until: &'static str,
    /// On a Machine or Node: the preservation request.
    pub preserve: &'static str,
    /// On a Machine: the Node's request that was applied last.
    pub node_preserve_applied: &'static str,
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

/// Facts on a Machine about its deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionFact {
    /// The label that forces it.
    pub is_forced: bool,
    /// Names of the hooks before the drain, sorted.
    pub pre_drain_hooks: Vec<String>,
    /// Names of the hooks before the deletion of the VM, sorted.
    pub pre_terminate_hooks: Vec<String>,
    /// Since when the latter are awaited.
    pub pre_terminate_since: Option<Timestamp>,
    /// The Machine's invalid limit for hooks; the flag's counts instead.
    pub bad_hook_timeout: Option<String>,
    /// An operator declares that the Machine's VM is gone.
    pub is_vm_declared_gone: bool,
    /// The stage that an earlier reconcile, or machine-controller-manager, had reached.
    pub left_at: Option<DeletionStage>,
    pub left_since: Option<Timestamp>,
    /// The delete request of this process that the driver has accepted.
    pub delete_request: Option<DeleteRequestFact>,
    /// How long the last deletion of a VM of its class took, from the request to the query that found nothing.
    pub usual_removal: Option<SignedDuration>,
    /// The last error was a driver's: the VM was requested.
    pub has_error_code: bool,
    /// The reported condition `Drained`.
    pub reported: Option<ReportedCondition>,
}

/// A delete request for a VM that the driver has accepted. Only the process that sent it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteRequestFact {
    /// When it was sent first.
    pub first: Timestamp,
    /// When it was sent last.
    pub at: Timestamp,
    /// When the cloud was last called about the VM: by the request, or by a query after it.
    pub asked: Timestamp,
}

/// A condition that an earlier reconcile reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCondition {
    pub reason: String,
    pub message: String,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Since when the condition has its status.
    pub since: Option<Timestamp>,
}

/// `status.lastOperation`, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFact {
    pub kind: OperationType,
    pub state: OperationState,
}

/// The class of a Machine, as far as a creation may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassFact {
    /// The class that the Machine names does not exist.
    Missing(ClassName),
    /// It exists and cannot be used.
    Invalid {
        name: ClassName,
        /// The problem with it.
        message: String,
    },
    /// It is being deleted, so no new VM is created from it.
    Deleting(ClassName),
    /// It can be used.
    Ready(ClassName),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFact {
    /// The class names no Secret.
    NotNamed,
    /// A Secret that it names does not exist.
    Missing(ObjectKey),
    /// The class may not use a Secret that it names. None of their values is known.
    Refused(SecretRefusal),
    /// They exist and have no `userData`.
    WithoutUserData,
    Ready,
}

/// The driver of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverFact {
    /// There is no class to choose one.
    NotChosen,
    Refused(Refusal),
    /// The version that the class pins cannot be called, and another one serves its provider. It may delete a VM, and
    /// never create one.
    Substitute {
        /// The version that serves.
        serving: DriverFacts,
        /// Why the pinned one cannot be called.
        why: String,
    },
    Ready(DriverFacts),
}

impl DriverFact {
    /// Returns whether its cloud keeps idempotency keys. A driver that cannot be called makes nothing.
    pub fn keeps_keys(&self) -> bool {
        match self {
            Self::Ready(driver) | Self::Substitute { serving: driver, .. } => {
                driver.capabilities.idempotency_key
            }
            Self::NotChosen | Self::Refused(_) => true,
        }
    }
}

/// The cluster that Nodes join.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a pass, and a Node is what most passes have")]
pub enum TargetFact {
    /// The host runs without one.
    None,
    /// A target cluster, with the Machine's Node.
    Cluster(NodePresence),
}

/// The Node of a Machine.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a pass, and a Node is what most passes have")]
pub enum NodePresence {
    /// No Node has that name, or no name is known.
    Absent,
    /// A Node of that name belongs to another VM.
    Foreign(ProviderId),
    /// A Node of that name exists, other Machines name it as well, and nothing shows whose it is.
    Contested(Vec<ObjectKey>),
    Present(NodeFact),
}

/// A Node, as its Machine sees it.
#[derive(Clone, Debug)]
pub struct NodeFact {
    pub name: NodeName,
    pub uid: Uid,
    /// When it was registered, if known.
    pub created: Option<Timestamp>,
    pub is_deleting: bool,
    /// Its labels, annotations and taints.
    pub meta: NodeMeta,
    pub conditions: Vec<NodeConditionFact>,
    /// A health problem that keeps its pods from terminating.
    pub health_problem: HealthProblem,
    /// It takes no more pods.
    pub is_cordoned: bool,
    /// Since when it is Ready, if it is.
    pub ready_since: Option<Timestamp>,
    /// The metadata applied last from its Machine's template; `None` if never, or if unreadable.
    pub last_applied: Option<NodeMeta>,
    /// It has a taint that keeps its Machine in Pending.
    pub has_critical_taint: bool,
    /// Our finalizer is on it: the deletion of the Node deletes its Machine.
    pub has_finalizer: bool,
    /// The stage of its update in place.
    pub in_place: Option<NodeConditionText>,
    /// Its condition about preservation.
    pub preserved: Option<NodeConditionText>,
    /// Its capacity of the resources of virtual capacity.
    pub capacity: Quantities,
    /// The virtual capacity that was applied to it last.
    pub last_applied_capacity: Option<Quantities>,
}

/// A condition of a Node, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConditionText {
    pub status: ConditionStatus,
    pub reason: String,
    pub message: String,
    pub since: Option<Timestamp>,
}

/// Effective settings of one Machine: annotation over spec over flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSettings {
    /// From creation until the Node must have joined.
    pub creation_timeout: SignedDuration,
    /// How long phase Unknown is tolerated. `None`: for ever.
    pub health_timeout: Option<SignedDuration>,
    /// Node conditions that must be False.
    pub must_be_false: Vec<String>,
    /// How long to wait after the cloud's "no capacity".
    pub resource_exhausted_retry: SignedDuration,
    /// From the request for deletion until pods are deleted instead of evicted.
    pub drain_timeout: SignedDuration,
    /// How many evictions of a pod are tried, 20 s apart, before it is deleted without eviction.
    pub max_evict_retries: u32,
    /// Pods with volumes that may leave a Node at the same time.
    pub parallel_volume_evictions: u32,
    /// How long a volume may take to come off a Node, beyond its pod's grace period.
    pub volume_detach_timeout: SignedDuration,
    /// How long to wait for a volume to be attached elsewhere before the next pod is evicted.
    pub volume_reattach_timeout: SignedDuration,
    /// How long an update in place may take.
    pub in_place_update_timeout: SignedDuration,
    /// How long a Machine stays preserved.
    pub preserve_timeout: SignedDuration,
    /// How long a deletion waits for hooks of others.
    pub deletion_hook_timeout: SignedDuration,
    /// How many Machines of its deployment may be away at a time.
    pub replacement_limit: ReplacementLimit,
    /// The problem of the Machine's own limit, which is not applied.
    pub bad_replacement_limit: Option<String>,
}

impl MachineSettings {
    /// Returns the settings of a drain of the Machine's Node.
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
    /// Returns the Node, if it exists and is the Machine's.
    pub fn node(&self) -> Option<&NodeFact> {
        match &self.target {
            TargetFact::Cluster(NodePresence::Present(node)) => Some(node),
            TargetFact::Cluster(
                NodePresence::Absent | NodePresence::Foreign(_) | NodePresence::Contested(_),
            )
            | TargetFact::None => None,
        }
    }

    /// Returns true when Nodes join a cluster.
    pub fn has_target(&self) -> bool {
        matches!(self.target, TargetFact::Cluster(_))
    }
}
