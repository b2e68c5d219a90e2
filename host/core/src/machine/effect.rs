//! What a pass over a Machine may do, and what came of it.

use crate::act_error::ActError;
use crate::driver::{Answer, Creation, Deletion, Vm};
use crate::id::{NodeName, ProviderId, Uid};
use crate::node_sync::NodeChange;

/// One thing to do. Carries what varies; who it concerns is the view's Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Put our finalizer and the default priority on the Machine. Fails with `Conflict` when it changed meanwhile.
    Claim,
    /// Make the bootstrap token, or extend the one that is there.
    EnsureToken,
    /// Note on the Machine that a create begins, for clouds that keep no keys.
    NoteIntent,
    /// Ask the driver how the VM is.
    ProbeVm,
    /// Ask the driver for the VM.
    CreateVm,
    /// Ask the driver for what comes after creation.
    InitializeVm,
    /// Store the cloud's id and the Node's name on the Machine.
    RecordVm {
        /// The cloud's id.
        provider_id: ProviderId,
        /// The Node's name; `None` without a target cluster.
        node_name: Option<NodeName>,
    },
    /// Bring the Node's metadata and taints in line.
    SyncNode {
        /// Which Node.
        node: NodeName,
        /// What differs.
        change: NodeChange,
    },
    /// Delete the bootstrap token.
    ForgetToken,
    /// Ask the driver to remove the VM.
    DeleteVm,
    /// Delete the Node.
    DeleteNode {
        /// Which Node.
        node: NodeName,
        /// Only this one, not a later one of the same name.
        uid: Uid,
    },
    /// Take our finalizer off the Machine.
    ReleaseFinalizer,
}

impl Effect {
    /// For logs and metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::EnsureToken => "ensure-token",
            Self::NoteIntent => "note-intent",
            Self::ProbeVm => "probe-vm",
            Self::CreateVm => "create-vm",
            Self::InitializeVm => "initialize-vm",
            Self::RecordVm { .. } => "record-vm",
            Self::SyncNode { .. } => "sync-node",
            Self::ForgetToken => "forget-token",
            Self::DeleteVm => "delete-vm",
            Self::DeleteNode { .. } => "delete-node",
            Self::ReleaseFinalizer => "release-finalizer",
        }
    }
}

/// What came of one effect.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Of `Claim`.
    Claim(Result<(), ActError>),
    /// Of `EnsureToken`.
    EnsureToken(Result<(), ActError>),
    /// Of `NoteIntent`.
    NoteIntent(Result<(), ActError>),
    /// Of `ProbeVm`.
    ProbeVm(Answer<Vm>),
    /// Of `CreateVm`.
    CreateVm(Answer<Creation>),
    /// Of `InitializeVm`.
    InitializeVm(Answer<Vm>),
    /// Of `RecordVm`.
    RecordVm(Result<(), ActError>),
    /// Of `SyncNode`.
    SyncNode(Result<(), ActError>),
    /// Of `ForgetToken`.
    ForgetToken(Result<(), ActError>),
    /// Of `DeleteVm`.
    DeleteVm(Answer<Deletion>),
    /// Of `DeleteNode`.
    DeleteNode(Result<(), ActError>),
    /// Of `ReleaseFinalizer`.
    ReleaseFinalizer(Result<(), ActError>),
}

/// What has come of the effects of this pass. Lives for the pass only, so that a crash equals a new pass.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Of `Claim`.
    pub claim: Option<Result<(), ActError>>,
    /// Of `EnsureToken`.
    pub token: Option<Result<(), ActError>>,
    /// Of `NoteIntent`.
    pub intent: Option<Result<(), ActError>>,
    /// Of `ProbeVm`.
    pub probe: Option<Answer<Vm>>,
    /// Of `CreateVm`.
    pub create: Option<Answer<Creation>>,
    /// Of `InitializeVm`.
    pub initialize: Option<Answer<Vm>>,
    /// Of `RecordVm`.
    pub record: Option<Result<(), ActError>>,
    /// Of `SyncNode`.
    pub sync_node: Option<Result<(), ActError>>,
    /// Of `ForgetToken`.
    pub forget_token: Option<Result<(), ActError>>,
    /// Of `DeleteVm`.
    pub delete_vm: Option<Answer<Deletion>>,
    /// Of `DeleteNode`.
    pub delete_node: Option<Result<(), ActError>>,
    /// Of `ReleaseFinalizer`.
    pub release: Option<Result<(), ActError>>,
}

impl Progress {
    /// Remembers an outcome.
    pub fn record(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Claim(result) => self.claim = Some(result),
            Outcome::EnsureToken(result) => self.token = Some(result),
            Outcome::NoteIntent(result) => self.intent = Some(result),
            Outcome::ProbeVm(result) => self.probe = Some(result),
            Outcome::CreateVm(result) => self.create = Some(result),
            Outcome::InitializeVm(result) => self.initialize = Some(result),
            Outcome::RecordVm(result) => self.record = Some(result),
            Outcome::SyncNode(result) => self.sync_node = Some(result),
            Outcome::ForgetToken(result) => self.forget_token = Some(result),
            Outcome::DeleteVm(result) => self.delete_vm = Some(result),
            Outcome::DeleteNode(result) => self.delete_node = Some(result),
            Outcome::ReleaseFinalizer(result) => self.release = Some(result),
        }
    }
}
