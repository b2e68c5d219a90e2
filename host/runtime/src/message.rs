//! Messages to the event loop, from watches, plugins and drains, and the report of a reconcile.

use k8s_openapi::api::core::v1::{Node, Secret};
use machinist_api::infrastructure::cluster_api::{OwnerCluster, OwnerMachine};
use machinist_api::infrastructure::{
    MachinistCluster, MachinistIdentity, MachinistMachine, MachinistMachineTemplate, MachinistRemediation,
};
use machinist_api::{Machine, MachineClass, MachineDeployment, MachineSet};
use machinist_core::machine::Requeue;
use machinist_core::value::id::{NodeName, ObjectKey, ProviderName};

use crate::cache::Change;
use crate::machine_query::ReadyCondition;
use crate::metrics::{Milestone, Pool};

use crate::context::key::{Key, Kind};

/// A message to the event loop.
#[derive(Debug)]
pub(crate) enum Message {
    Machine(Change<Machine>),
    Class(Change<MachineClass>),
    Secret(Change<Secret>),
    Node(Change<Node>),
    Set(Change<MachineSet>),
    Deployment(Change<MachineDeployment>),
    InfraMachine(Change<MachinistMachine>),
    InfraCluster(Change<MachinistCluster>),
    InfraTemplate(Change<MachinistMachineTemplate>),
    InfraRemediation(Change<MachinistRemediation>),
    InfraIdentity(Change<MachinistIdentity>),
    OwnerMachine(Change<OwnerMachine>),
    OwnerCluster(Change<OwnerCluster>),
    /// Something changed that a drain of this Node may wait for: a VolumeAttachment, or a budget of its pods.
    DrainOf(NodeName),
    /// A drain slot is free for this Machine.
    DrainSlotFree(ObjectKey),
    /// A slot to call its driver is free for this object.
    CallSlotFree(Key),
    /// All VolumeAttachments are listed.
    AttachmentsListed,
    /// A cache has a complete listing, with this highest version; every change of it was reported.
    Synced(Kind, String),
    /// The plugins of these providers changed.
    Providers(Vec<ProviderName>),
    /// A health policy changed.
    Policies,
    /// Every ConfigMap with a plugin that was there at the start has been declared.
    PluginsListed,
    /// Its driver thinks otherwise of this class than before.
    ClassChecked(ObjectKey),
}

/// The last signal of a reconcile about its cloud account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountSignal {
    /// The account has answered.
    Answered,
    /// Nothing, or that it cannot serve the call now.
    Unavailable,
}

/// The result of a reconcile.
#[derive(Debug)]
pub(crate) struct Report {
    /// Versions that it wrote: the next reconcile of this key waits until the caches have them.
    pub wrote: Vec<(Kind, String)>,
    /// Sets that it wrote for their deployment, and the versions: their next reconciles wait for these as well, or a
    /// set would still act on its old spec.
    pub wrote_sets: Vec<(ObjectKey, String)>,
    /// A write that must not be repeated had no clear answer: no reconcile begins before it cannot arrive any more.
    pub is_unclear: bool,
    /// Kind and version of a listing that it made beside the caches, and decided on.
    pub listed: Option<(Kind, String)>,
    /// When to look again.
    pub wake: Requeue,
    /// The Events to write, unless the last one says the same.
    pub events: Vec<crate::events::Event>,
    /// Counted and timed points, by MachineDeployment if there is one.
    pub milestones: Vec<(Option<Pool>, Milestone)>,
    /// Machines that waited for a permit of this reconcile.
    pub wakes: Vec<ObjectKey>,
    /// The cloud has answered a call of it, or its last call has failed.
    pub cloud: Option<AccountSignal>,
    /// Why a Machine is as it is.
    pub ready: Option<ReadyCondition>,
    /// It has ended the object of this uid, which the cache may show for a moment.
    pub ended: Option<String>,
    /// The Secret with credentials that it has read by name.
    pub credentials: Option<CredentialsSeen>,
}

/// A Secret that no watch shows, as a reconcile has read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialsSeen {
    Missing,
    /// It is there, with this uid.
    There(String),
}

impl Report {
    /// Nothing was written and there is nothing to tell.
    pub(crate) fn only(wake: Requeue) -> Self {
        Self {
            wrote: Vec::new(),
            wrote_sets: Vec::new(),
            is_unclear: false,
            listed: None,
            wake,
            events: Vec::new(),
            milestones: Vec::new(),
            wakes: Vec::new(),
            cloud: None,
            ready: None,
            ended: None,
            credentials: None,
        }
    }

    /// Returns the last version of an object of this kind that the reconcile has written.
    pub(crate) fn last_written(&self, kind: Kind) -> Option<&str> {
        let last = self.wrote.iter().rev().find(|(wrote, _)| *wrote == kind);
        last.map(|(_, version)| version.as_str())
    }
}
