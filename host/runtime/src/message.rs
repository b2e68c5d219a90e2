//! What the loop is told: by watches, by plugins, and by passes at their end.

use k8s_openapi::api::core::v1::{Node, Secret};
use machinist_api::{Machine, MachineClass, MachineDeployment, MachineSet};
use machinist_core::machine::Wake;
use machinist_core::value::id::{NodeName, ObjectKey, ProviderName};

use crate::cache::Change;
use crate::machine_query::ReadyCondition;
use crate::metrics::{Milestone, Pool};

use crate::context::key::Kind;

/// What the loop is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// A Machine changed.
    Machine(Change<Machine>),
    /// A class changed.
    Class(Change<MachineClass>),
    /// A Secret changed.
    Secret(Change<Secret>),
    /// A Node changed.
    Node(Change<Node>),
    /// A set changed.
    Set(Change<MachineSet>),
    /// A deployment changed.
    Deployment(Change<MachineDeployment>),
    /// Something changed that a drain of this Node may wait for: a VolumeAttachment, or a budget of its pods.
    DrainOf(NodeName),
    /// A drain of this Machine stood in line, and it is its turn.
    DrainSlotFree(ObjectKey),
    /// This Machine found no room to call its driver, and there is some now.
    CallSlotFree(ObjectKey),
    /// All VolumeAttachments are listed.
    AttachmentsListed,
    /// A cache holds a complete listing, and every change of it was told. With the highest version in it.
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

/// What a pass has heard of its cloud account last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountSignal {
    /// An answer.
    Answered,
    /// Nothing, or that it cannot serve the call now.
    Unavailable,
}

/// What a pass did.
#[derive(Debug)]
pub(crate) struct Report {
    /// What it wrote: the next pass of this key waits until the caches have it.
    pub wrote: Vec<(Kind, String)>,
    /// Sets that it wrote for their deployment, and the versions: their next passes wait for these as well, or a set would still do
    /// what was wanted before.
    pub wrote_sets: Vec<(ObjectKey, String)>,
    /// A write that must not be repeated had no clear answer: no pass begins before it cannot arrive any more.
    pub is_unclear: bool,
    /// It has listed what the caches did not show, and decided on that: kind and version of the listing.
    pub listed: Option<(Kind, String)>,
    /// When to look again.
    pub wake: Wake,
    /// What to tell on the object, when it is not what was told last.
    pub events: Vec<crate::events::Event>,
    /// What is counted and timed, by MachineDeployment where there is one.
    pub milestones: Vec<(Option<Pool>, Milestone)>,
    /// Machines that waited for what this pass gave back.
    pub wakes: Vec<ObjectKey>,
    /// The cloud has answered a call of it, or its last call has failed.
    pub cloud: Option<AccountSignal>,
    /// Why a Machine is as it is.
    pub ready: Option<ReadyCondition>,
    /// It has ended the object of this uid, which the cache may show for a moment.
    pub ended: Option<String>,
}

impl Report {
    /// Nothing was written and there is nothing to tell.
    pub(crate) fn only(wake: Wake) -> Self {
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
        }
    }
}
