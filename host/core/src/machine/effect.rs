//! Effects of a Machine's reconcile, and their outcomes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::drain;
use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::write_error::ActError;
use crate::driver::{Creation, Deletion, DriverResult, Vm};
use crate::health_policy::{Opinion, Reboots};
use crate::machine::node::health::ConditionStatus;
use crate::machine::node::sync::NodeChange;
use crate::safety::meltdown::{Permit, PermitRequest};
use crate::scheduling::gate::EffectKind;
use crate::value::id::{NodeName, ProviderId, Uid};

use super::facts::MachineFact;
use super::in_place;

/// One effect on the Machine of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEffect {
    /// Put our finalizer and the default priority on the Machine. Fails with `Conflict` when it changed meanwhile.
    Claim,
    /// Create the bootstrap token, or extend the existing one.
    EnsureToken,
    /// Note on the Machine that a create begins, for clouds that keep no idempotency keys.
    NoteIntent,
    /// Remove that note from the Machine: the create has created nothing for certain.
    CloseIntent,
    /// Ask the driver for the status of the VM.
    ProbeVm,
    /// Ask the driver to create the VM.
    CreateVm,
    /// Ask the driver for the step after creation.
    InitializeVm,
    /// Store the cloud's id and the Node's name on the Machine.
    RecordVm {
        provider_id: ProviderId,
        /// The Node's name; `None` without a target cluster.
        node_name: Option<NodeName>,
        /// The driver named the VM in this reconcile, so it carries the mark of this process. An id that was stored
        /// before proves no mark.
        is_proven: bool,
    },
    /// Update the Node's metadata and taints.
    SyncNode { node: NodeName, change: NodeChange },
    /// Delete the bootstrap token.
    ForgetToken,
    /// Ask the driver to remove the VM.
    DeleteVm,
    DeleteNode {
        node: NodeName,
        /// Only this one, not a later one of the same name.
        uid: Uid,
    },
    /// Take our finalizer off the Machine.
    ReleaseFinalizer,
    /// Write labels and annotations of the Machine.
    WriteMachine(MetaChange),
    /// Delete the Machine object, since its Node is being deleted.
    DeleteMachine,
    /// Cordon the Node, so that it takes no more pods.
    Cordon { node: NodeName },
    /// Write a condition of the Node.
    SetNodeCondition {
        node: NodeName,
        /// What it is to say.
        condition: NodeConditionWrite,
    },
    /// Note on the Machine that the wait for hooks before the deletion of the VM begins.
    NoteHooks,
    /// A step of the Node's drain.
    Drain(drain::DrainEffect),
    /// Ask the policies that have no valid answer.
    AskPolicies,
    /// Write the reboots of its VM on the Machine, the next one included.
    NoteReboot(Reboots),
    /// Ask the driver to reboot the VM.
    RebootVm,
    /// Ask for a permit to fail or reboot the Machine, given the others of its deployment and zone.
    AskPermit(PermitRequest),
    /// Extend the bootstrap token, if there is one. Its value stays.
    ExtendToken { until: Timestamp },
    /// Write resources of the Node's capacity.
    WriteCapacity {
        node: NodeName,
        /// Resources to set (`Some`) or remove (`None`).
        resources: BTreeMap<String, Option<String>>,
    },
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
    /// Returns true for an effect that a driver carries out, which takes as long as its cloud does.
    pub fn calls_driver(&self) -> bool {
        matches!(self, Self::ProbeVm | Self::CreateVm | Self::InitializeVm | Self::DeleteVm | Self::RebootVm)
    }

    /// Returns the name for logs and metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::EnsureToken => "ensure-token",
            Self::NoteIntent => "note-intent",
            Self::CloseIntent => "close-intent",
            Self::ProbeVm => "probe-vm",
            Self::CreateVm => "create-vm",
            Self::InitializeVm => "initialize-vm",
            Self::RecordVm { .. } => "record-vm",
            Self::SyncNode { .. } => "sync-node",
            Self::ForgetToken => "forget-token",
            Self::DeleteVm => "delete-vm",
            Self::DeleteNode { .. } => "delete-node",
            Self::ReleaseFinalizer => "release-finalizer",
            Self::WriteMachine(_) => "write-machine",
            Self::DeleteMachine => "delete-machine",
            Self::Cordon { .. } => "cordon",
            Self::SetNodeCondition { .. } => "set-node-condition",
            Self::NoteHooks => "note-hooks",
            Self::Drain(effect) => effect.name(),
            Self::AskPolicies => "ask-policies",
            Self::NoteReboot(_) => "note-reboot",
            Self::RebootVm => "reboot-vm",
            Self::AskPermit(_) => "ask-permit",
            Self::ExtendToken { .. } => "extend-token",
            Self::WriteCapacity { .. } => "write-capacity",
        }
    }

    /// Returns its kind for the gate, when it is done for this Machine.
    pub fn kind(&self, machine: &MachineFact) -> EffectKind {
        match self {
            Self::Claim
            | Self::NoteIntent
            | Self::CloseIntent
            | Self::NoteHooks
            | Self::NoteReboot(_)
            | Self::RecordVm { .. }
            | Self::WriteMachine(_) => EffectKind::ObjectWrite,
            Self::EnsureToken | Self::ExtendToken { .. } => EffectKind::TokenWrite,
            Self::AskPermit(_) => EffectKind::FailMachine,
            // A policy only reads its question.
            Self::ProbeVm | Self::AskPolicies => EffectKind::CloudRead,
            Self::RebootVm => EffectKind::Reboot,
            Self::CreateVm => EffectKind::Create,
            Self::InitializeVm => EffectKind::Initialize,
            Self::SetNodeCondition { condition, .. } if in_place::takes_out_of_service(condition) => {
                EffectKind::EmptyNode
            }
            Self::SyncNode { .. } | Self::SetNodeCondition { .. } | Self::WriteCapacity { .. } => {
                EffectKind::NodeWrite
            }
            Self::ForgetToken => EffectKind::TokenDelete,
            Self::DeleteVm => EffectKind::RequestedDelete,
            Self::DeleteNode { .. } => EffectKind::NodeDelete,
            Self::ReleaseFinalizer => EffectKind::FinalizerRelease,
            Self::DeleteMachine => EffectKind::SetDelete,
            Self::Cordon { .. } | Self::Drain(_) if machine.deletion.is_none() => EffectKind::EmptyNode,
            Self::Cordon { .. } | Self::Drain(_) => EffectKind::Drain,
        }
    }
}

/// The outcome of one effect.
#[derive(Clone, Debug)]
pub enum MachineOutcome {
    Claim(Result<(), ActError>),
    EnsureToken(Result<(), ActError>),
    NoteIntent(Result<(), ActError>),
    CloseIntent(Result<(), ActError>),
    ProbeVm(DriverResult<Vm>),
    CreateVm(DriverResult<Creation>),
    InitializeVm(DriverResult<Vm>),
    RecordVm(Result<(), ActError>),
    SyncNode(Result<(), ActError>),
    ForgetToken(Result<(), ActError>),
    DeleteVm(DriverResult<Deletion>),
    DeleteNode(Result<(), ActError>),
    ReleaseFinalizer(Result<(), ActError>),
    WriteMachine(Result<(), ActError>),
    DeleteMachine(Result<(), ActError>),
    Cordon(Result<(), ActError>),
    SetNodeCondition(Result<(), ActError>),
    NoteHooks(Result<(), ActError>),
    Drain(drain::DrainOutcome),
    /// An opinion of each policy that was asked.
    AskPolicies(Result<Vec<Opinion>, ActError>),
    NoteReboot(Result<(), ActError>),
    RebootVm(DriverResult<()>),
    AskPermit(Result<Permit, ActError>),
    ExtendToken(Result<(), ActError>),
    WriteCapacity(Result<(), ActError>),
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

/// The outcomes of this reconcile's effects. It lives for one reconcile only, so that a crash equals a new reconcile.
#[derive(Clone, Debug, Default)]
pub struct MachineProgress {
    pub claim: Option<Result<(), ActError>>,
    pub token: Option<Result<(), ActError>>,
    pub intent: Option<Result<(), ActError>>,
    pub close_intent: Option<Result<(), ActError>>,
    pub probe: Option<DriverResult<Vm>>,
    pub create: Option<DriverResult<Creation>>,
    pub initialize: Option<DriverResult<Vm>>,
    pub record: Option<Result<(), ActError>>,
    pub sync_node: Option<Result<(), ActError>>,
    pub forget_token: Option<Result<(), ActError>>,
    pub delete_vm: Option<DriverResult<Deletion>>,
    pub delete_node: Option<Result<(), ActError>>,
    pub release: Option<Result<(), ActError>>,
    pub write_machine: Option<Result<(), ActError>>,
    pub delete_machine: Option<Result<(), ActError>>,
    pub cordon: Option<Result<(), ActError>>,
    pub node_condition: Option<Result<(), ActError>>,
    pub note_hooks: Option<Result<(), ActError>>,
    pub drain: drain::DrainProgress,
    pub opinions: Option<Result<Vec<Opinion>, ActError>>,
    pub note_reboot: Option<Result<(), ActError>>,
    pub reboot: Option<DriverResult<()>>,
    pub permit: Option<Result<Permit, ActError>>,
    pub extend_token: Option<Result<(), ActError>>,
    pub capacity: Option<Result<(), ActError>>,
}

impl MachineProgress {
    pub fn record(&mut self, outcome: MachineOutcome) {
        match outcome {
            MachineOutcome::Claim(result) => self.claim = Some(result),
            MachineOutcome::EnsureToken(result) => self.token = Some(result),
            MachineOutcome::NoteIntent(result) => self.intent = Some(result),
            MachineOutcome::CloseIntent(result) => self.close_intent = Some(result),
            MachineOutcome::ProbeVm(result) => self.probe = Some(result),
            MachineOutcome::CreateVm(result) => self.create = Some(result),
            MachineOutcome::InitializeVm(result) => self.initialize = Some(result),
            MachineOutcome::RecordVm(result) => self.record = Some(result),
            MachineOutcome::SyncNode(result) => self.sync_node = Some(result),
            MachineOutcome::ForgetToken(result) => self.forget_token = Some(result),
            MachineOutcome::DeleteVm(result) => self.delete_vm = Some(result),
            MachineOutcome::DeleteNode(result) => self.delete_node = Some(result),
            MachineOutcome::ReleaseFinalizer(result) => self.release = Some(result),
            MachineOutcome::WriteMachine(result) => self.write_machine = Some(result),
            MachineOutcome::DeleteMachine(result) => self.delete_machine = Some(result),
            MachineOutcome::Cordon(result) => self.cordon = Some(result),
            MachineOutcome::SetNodeCondition(result) => self.node_condition = Some(result),
            MachineOutcome::NoteHooks(result) => self.note_hooks = Some(result),
            MachineOutcome::Drain(outcome) => self.drain.record(outcome),
            MachineOutcome::AskPolicies(result) => self.opinions = Some(result),
            MachineOutcome::NoteReboot(result) => self.note_reboot = Some(result),
            MachineOutcome::RebootVm(result) => self.reboot = Some(result),
            MachineOutcome::AskPermit(result) => self.permit = Some(result),
            MachineOutcome::ExtendToken(result) => self.extend_token = Some(result),
            MachineOutcome::WriteCapacity(result) => self.capacity = Some(result),
        }
    }
}
