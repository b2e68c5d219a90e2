//! Effects of a Machine's reconcile, and their outcomes: one row of the table for each effect.
//!
//! A new effect is a row here and an arm of `perform` in the runtime's `controllers/machine/act.rs`. If
//! MachinistMachines have it too, `controllers/infra_machine/act.rs` gets an arm; it refuses the others.
//!
//! | module | content |
//! | --- | --- |
//! | `table` | the macro that reads the table |

#[macro_use]
mod table;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::drain::{DrainEffect, DrainOutcome, DrainProgress, ReadConsistency};
use crate::driver::error::{CallError, Code, DriverError, Refusal};
use crate::driver::write_error::ActError;
use crate::driver::{Creation, Deletion, DriverResult, Vm};
use crate::health_policy::{Opinion, Reboots};
use crate::machine::node::health::ConditionStatus;
use crate::machine::node::sync::NodeChange;
use crate::safety::meltdown::{Permit, PermitRequest};
use crate::scheduling::gate::EffectKind;
use crate::value::id::{FailureDomain, NodeName, ProviderId, Uid};

use super::facts::MachineFact;
use super::in_place;

type Written = Result<(), ActError>;

/// Properties of effects that rules ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectTrait {
    /// A driver carries it out, which takes as long as its cloud does.
    CallsDriver,
    /// It disturbs other users of the VM, or of the Node.
    HarmsOthers,
    /// It takes pods, or room for them, from the Node.
    EmptiesNode,
    /// In a deletion it may come before the first status write. The last listing of pods may not: the next reconcile
    /// finds out that none is left.
    BeforeStatus,
    /// It must not be done for a Machine that is being deleted.
    NotInDeletion,
}

/// A result that an effect has if it must not be carried out.
trait Refusable {
    fn refused(reason: &'static str) -> Self;
}

impl<T> Refusable for Result<T, ActError> {
    fn refused(reason: &'static str) -> Self {
        Err(ActError::Forbidden { reason })
    }
}

impl<T> Refusable for DriverResult<T> {
    fn refused(_: &'static str) -> Self {
        Err(CallError::Refused(Refusal::ShuttingDown))
    }
}

machine_effects! {
    /// Put our finalizer and the default priority on the Machine. Fails with `Conflict` when it changed meanwhile.
    AddFinalizer => claim: Written, "claim", ObjectWrite, [NotInDeletion];
    /// Create the bootstrap token, or extend the existing one.
    EnsureToken => token: Written, "ensure-token", TokenWrite, [NotInDeletion];
    /// Note on the Machine that a create begins, for clouds that keep no idempotency keys.
    NoteIntent => intent: Written, "note-intent", ObjectWrite, [NotInDeletion];
    /// Remove that note from the Machine: the create has created nothing for certain.
    CloseIntent => close_intent: Written, "close-intent", ObjectWrite, [NotInDeletion];
    /// Ask the driver for the status of the VM.
    ProbeVm => probe: DriverResult<Vm>, "probe-vm", CloudRead, [CallsDriver];
    /// Ask the driver to create the VM.
    CreateVm => create: DriverResult<Creation>, "create-vm", Create, [CallsDriver, HarmsOthers, NotInDeletion];
    /// Ask the driver for the step after creation.
    InitializeVm => initialize: DriverResult<Vm>, "initialize-vm", Initialize,
        [CallsDriver, HarmsOthers, NotInDeletion];
    /// Ask the driver for the spec of VMs in this failure domain and no other. It asks no cloud.
    PlaceVm { failure_domain: FailureDomain } => placement: DriverResult<String>, "place-vm", CloudRead, [];
    /// Ask the driver whether the cloud may take VMs of the class away at any time. It asks no cloud.
    AskInterruptible => interruption: DriverResult<bool>, "ask-interruptible", CloudRead, [];
    /// Ask the driver for the id that the Node of this VM has. It asks no cloud.
    NameNode(Box<Vm>) => node_id: DriverResult<ProviderId>, "name-node", CloudRead, [];
    /// Store the cloud's id and the Node's name on the Machine.
    RecordVm {
        provider_id: ProviderId,
        /// The Node's name; `None` without a target cluster.
        node_name: Option<NodeName>,
        /// The driver named the VM in this reconcile, so it carries the mark of this process. An id that was stored
        /// before proves no mark.
        is_proven: bool,
    } => record: Written, "record-vm", ObjectWrite, [];
    /// Update the Node's metadata and taints.
    SyncNode { node: NodeName, change: NodeChange } => sync_node: Written, "sync-node", NodeWrite, [NotInDeletion];
    /// Delete the bootstrap token.
    ForgetToken => forget_token: Written, "forget-token", TokenDelete, [BeforeStatus];
    /// Ask the driver to remove the VM.
    DeleteVm => delete_vm: DriverResult<Deletion>, "delete-vm", RequestedDelete, [CallsDriver, HarmsOthers];
    /// Delete the Node of this uid, and not a later one of the same name.
    DeleteNode { node: NodeName, uid: Uid } => delete_node: Written, "delete-node", NodeDelete, [HarmsOthers];
    /// Take our finalizer off the Machine.
    ReleaseFinalizer => release: Written, "release-finalizer", FinalizerRelease, [BeforeStatus, HarmsOthers];
    /// Write labels and annotations of the Machine.
    WriteMachine(MetaChange) => write_machine: Written, "write-machine", ObjectWrite, [];
    /// Delete the Machine object, since its Node is being deleted.
    DeleteMachine => delete_machine: Written, "delete-machine", SetDelete, [HarmsOthers];
    /// Cordon the Node, so that it takes no more pods.
    Cordon { node: NodeName } => cordon: Written, "cordon", Drain, [BeforeStatus, HarmsOthers, EmptiesNode];
    SetNodeCondition { node: NodeName, condition: NodeConditionWrite } => node_condition: Written,
        "set-node-condition", NodeWrite, [BeforeStatus];
    /// Note on the Machine that the wait for hooks before the deletion of the VM begins.
    NoteHooks => note_hooks: Written, "note-hooks", ObjectWrite, [];
    /// Ask the policies that have no valid answer. A policy only reads its question.
    AskPolicies => opinions: Result<Vec<Opinion>, ActError>, "ask-policies", CloudRead, [];
    /// Write the reboots of its VM on the Machine, the next one included.
    NoteReboot(Reboots) => note_reboot: Written, "note-reboot", ObjectWrite, [HarmsOthers];
    /// Ask the driver to reboot the VM.
    RebootVm => reboot: DriverResult<()>, "reboot-vm", Reboot, [CallsDriver, HarmsOthers];
    /// Ask for a permit to fail or reboot the Machine, given the others of its deployment and zone.
    AskPermit(PermitRequest) => permit: Result<Permit, ActError>, "ask-permit", FailMachine, [NotInDeletion];
    /// Extend the bootstrap token, if there is one. Its value stays.
    ExtendToken { until: Timestamp } => extend_token: Written, "extend-token", TokenWrite, [NotInDeletion];
    /// Write resources of the Node's capacity: to set (`Some`) or remove (`None`).
    WriteCapacity { node: NodeName, resources: BTreeMap<String, Option<String>> } => capacity: Written,
        "write-capacity", NodeWrite, [NotInDeletion];
}

/// Labels and annotations to set (`Some`) or remove (`None`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaChange {
    pub labels: BTreeMap<String, Option<String>>,
    pub annotations: BTreeMap<String, Option<String>>,
}

/// A condition to write on a Node. Its transition time follows from the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConditionWrite {
    pub kind: String,
    pub status: ConditionStatus,
    pub reason: String,
    pub message: String,
}

impl MachineEffect {
    /// Returns whether the effect has this property.
    pub fn is(&self, wanted: EffectTrait) -> bool {
        self.traits().contains(&wanted)
    }

    /// Returns its kind for the gate, when it is done for this Machine.
    pub fn kind(&self, machine: &MachineFact) -> EffectKind {
        match self {
            Self::SetNodeCondition { condition, .. } if in_place::takes_out_of_service(condition) => {
                EffectKind::EmptyNode
            }
            Self::Cordon { .. } | Self::Drain(_) if machine.deletion.is_none() => EffectKind::EmptyNode,
            _ => self.usual_kind(),
        }
    }
}

impl MachineOutcome {
    /// Returns whether a driver has found several VMs that could be the Machine's.
    pub fn is_out_of_range(&self) -> bool {
        let error = if let Self::ProbeVm(answer) | Self::InitializeVm(answer) = self {
            answer.as_ref().err()
        } else if let Self::CreateVm(answer) = self {
            answer.as_ref().err()
        } else if let Self::DeleteVm(answer) = self {
            answer.as_ref().err()
        } else {
            None
        };
        matches!(error, Some(CallError::Guest(DriverError { code: Code::OutOfRange, .. })))
    }
}
