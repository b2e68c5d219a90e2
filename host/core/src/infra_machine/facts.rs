//! Facts of one reconcile of an infrastructure machine.

use jiff::SignedDuration;

use crate::machine::node::health::ConditionStatus;
use crate::machine::{DriverFact, MachineView};
use crate::value::id::{FailureDomain, ObjectKey};

use super::conclusion::InfraReason;

/// All facts of one reconcile.
#[derive(Clone, Debug)]
pub struct InfraMachineView {
    /// The facts about its VM, as a Machine without a target cluster has them. `uid` is the key of the VM, by which
    /// the cloud recognises a repeated create and the driver finds the VM. `has_priority` says that the key is stored;
    /// without it no VM was ever requested.
    pub machine: MachineView,
    /// The Machine of Cluster API that it belongs to.
    pub owner: OwnerFact,
    /// The Cluster of that Machine.
    pub cluster: ClusterFact,
    /// Why nothing may be done to it, if so.
    pub paused: Option<PauseCause>,
    /// Other objects with the same key: they come from a copy or a restore.
    pub contested_by: Vec<ObjectKey>,
    /// The data that the VM gets at boot.
    pub bootstrap: BootstrapFact,
    /// How long ago this process has noticed that the data is not that of the create before; `None` where it is, or
    /// where there was none.
    pub data_changed: Option<SignedDuration>,
    /// The credentials of the cloud.
    pub identity: IdentityFact,
    /// The mark that its VM would get, if this host has it for the VMs of its own Machines.
    pub reserved_mark: Option<String>,
    /// The failure domain that the VM has to be in: as noted with its key, else as its Machine asks for it.
    pub failure_domain: Option<FailureDomain>,
    /// Its status says that the VM was provided. It stays so.
    pub is_provisioned: bool,
    /// Its status says whether the cloud may take the VM away at any time; `None` where it does not. It stays so.
    pub interruptible: Option<bool>,
    /// The condition `Ready` of its status.
    pub reported: Option<ReportedReady>,
    pub names: &'static InfraNames,
}

impl InfraMachineView {
    /// Returns whether the driver puts a VM exactly where it is asked to.
    pub fn honours_failure_domain(&self) -> bool {
        match &self.machine.driver {
            DriverFact::Ready(driver) => driver.capabilities.placement,
            DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => false,
        }
    }
}

/// Names that messages say. The core defines none.
#[derive(Debug)]
pub struct InfraNames {
    /// The annotation with the key of the VM.
    pub key: &'static str,
    /// The finalizer that holds an object until its VM is gone.
    pub finalizer: &'static str,
    /// The label with the name of the Cluster.
    pub cluster: &'static str,
}

/// The Machine of Cluster API that an infrastructure machine belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerFact {
    /// No owner reference names one yet, or it does not exist.
    Missing,
    Present,
}

/// The Cluster of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterFact {
    /// The Machine's label names none.
    NotNamed,
    /// The Cluster of this name does not exist.
    Missing(String),
    /// Its infrastructure is not provided yet.
    WithoutInfrastructure(String),
    Ready,
}

/// Why an infrastructure machine is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// The Cluster of this name is paused.
    Cluster(String),
    /// The object has the annotation that pauses it.
    Annotation(&'static str),
    /// The object has moved elsewhere, and this copy is being deleted.
    Moved,
}

impl PauseCause {
    /// Returns the cause for people, with the way to go on.
    pub fn message(&self) -> String {
        match self {
            Self::Cluster(name) => format!("Cluster {name} is paused: nothing is done until it goes on"),
            Self::Annotation(name) => format!("paused by the annotation {name}: take it off to go on"),
            Self::Moved => "this object has moved to another management cluster".to_owned(),
        }
    }
}

/// The bootstrap data of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootstrapFact {
    /// The Machine names no Secret yet.
    NotNamed,
    /// The Secret of this name does not exist.
    Missing(String),
    /// The Secret of this name has no data under its key.
    WithoutValue(String),
    Ready,
}

/// The credentials of an infrastructure machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityFact {
    /// Neither the machine nor its cluster names any. Some clouds need none.
    NotNamed,
    /// The named object does not exist, as this sentence says.
    Missing(String),
    /// The named object may not be used here, as this sentence says.
    Refused(String),
    Ready,
}

/// The condition `Ready` as an earlier reconcile has reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedReady {
    pub status: ConditionStatus,
    /// `None`: a word that is not about a VM.
    pub reason: Option<InfraReason>,
    pub message: String,
}
