//! The vocabulary of driver calls. The nouns are those of `wit/provider`.
//!
//! This file has the operations, requests and answers.
//!
//! | module | what it does |
//! | --- | --- |
//! | `error` | the error codes between a driver, the plugin host and the controllers |
//! | `write_error` | how a write to an API server can fail |
//! | `alternatives` | other classes for a Machine that the cloud has no capacity for |
//! | `secret_rule` | which Secrets a class may use, and which plugins may get them |
//! | `addresses` | the addresses of a VM, merged from several sources |
//! | `user_data` | fills the placeholders of user data |
//! | `bootstrap_token` | the token with which a kubelet joins |
//! | `virtual_capacity` | extended resources that a class gives to its Nodes |

pub mod addresses;
pub mod alternatives;
pub mod bootstrap_token;
pub mod error;
pub mod secret_rule;
pub mod user_data;
pub mod virtual_capacity;
pub mod write_error;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::virtual_capacity::Quantities;
use crate::value::digest::DriverDigest;
use crate::value::id::{
    ClassName, FailureDomain, Name, Namespace, NodeName, PluginName, ProviderId, ProviderName, Uid,
};
use crate::value::words::words;

words! {
    /// The calls of the contract that concern a machine or a class, with the names of machine-controller-manager's
    /// metrics where it has one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Operation with name {
        Create = "CreateMachine",
        /// The step after creation.
        Initialize = "InitializeMachine",
        Delete = "DeleteMachine",
        /// Look at the machine.
        GetStatus = "GetMachineStatus",
        /// List the machines of a class.
        List = "ListMachines",
        GetVolumeIds = "GetVolumeIDs",
        Reboot = "RebootMachine",
        /// Remove one of two machines.
        DeleteById = "DeleteMachineByID",
        ValidateClass = "ValidateClass",
        /// Ask for the id that the Node of a machine has.
        NodeId = "GetNodeID",
        /// Ask for a class in an exact failure domain.
        Place = "PlaceClass",
        /// Ask whether the cloud may take VMs of a class away at any time.
        IsInterruptible = "IsInterruptible",
        /// Ask for the resources of a Node of a class.
        NodeCapacity = "GetNodeCapacity",
        /// Ask the driver who it is.
        Describe = "Describe",
    }
}

impl Operation {
    /// Returns the deadline of one call by the contract.
    pub fn deadline(self) -> SignedDuration {
        match self {
            // A cloud may take minutes; a driver answers "in progress" before that.
            Self::Create | Self::Initialize | Self::Delete | Self::DeleteById => SignedDuration::from_mins(5),
            Self::GetStatus | Self::List | Self::Reboot | Self::NodeCapacity => SignedDuration::from_mins(1),
            // No network: a longer call is broken.
            Self::GetVolumeIds
            | Self::ValidateClass
            | Self::NodeId
            | Self::Place
            | Self::IsInterruptible
            | Self::Describe => SignedDuration::from_secs(10),
        }
    }
}

/// A Machine as a driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineIdentity {
    pub namespace: Namespace,
    pub name: Name,
    pub uid: Uid,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// The cloud's id, once known.
    pub provider_id: Option<ProviderId>,
    pub node_template: Option<String>,
    /// The state that the driver returned last.
    pub last_known_state: Option<String>,
}

/// A MachineClass as a driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSpec {
    pub name: ClassName,
    pub provider: ProviderName,
    pub spec: String,
    pub node_template: Option<String>,
    /// Zones that may be used instead, best first.
    pub zones: Vec<String>,
    /// The one version of the driver that may answer, where the class pins it. Stays in the host.
    pub driver_digest: Option<DriverDigest>,
}

/// The values that stay in the host. `Debug` shows the keys only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues {
    /// Value by key, without user data.
    pub values: BTreeMap<String, Vec<u8>>,
    /// Rendered user data, where the call may send it.
    pub user_data: Option<Vec<u8>>,
    /// Hidden from the driver beside these.
    pub hidden: HiddenUserData,
    /// The plugins that may get the values; `None` for whichever serves.
    pub plugins: Option<BTreeSet<PluginName>>,
}

/// User data as the host looks for it in answers, logs and errors. The driver cannot ask for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HiddenUserData {
    /// User data as the Machine gets it at boot, where the call may not send it.
    pub rendered: Option<Vec<u8>>,
    /// The template that it is made of, the same for all Machines of a class.
    pub template: Option<Vec<u8>>,
}

impl fmt::Debug for HiddenUserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HiddenUserData")
            .field("rendered_bytes", &self.rendered.as_ref().map(Vec::len))
            .field("template_bytes", &self.template.as_ref().map(Vec::len))
            .finish()
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretValues")
            .field("keys", &self.values.keys().collect::<Vec<_>>())
            .field("user_data_bytes", &self.user_data.as_ref().map(Vec::len))
            .field("hidden", &self.hidden)
            .field("plugins", &self.plugins)
            .finish()
    }
}

/// A call about one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineRequest {
    pub machine: MachineIdentity,
    pub class: ClassSpec,
    pub idempotency_key: String,
    /// Names the cluster towards the cloud.
    pub cluster: String,
    /// Stay in the host.
    pub secrets: SecretValues,
}

/// A call about all machines of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    pub class: ClassSpec,
    /// Names the cluster towards the cloud.
    pub cluster: String,
    /// The token of the previous page.
    pub token: Option<String>,
    /// Stay in the host.
    pub secrets: SecretValues,
}

/// A call about a class alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRequest {
    pub class: ClassSpec,
    /// Stay in the host.
    pub secrets: SecretValues,
}

/// The resources and the platform of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeResources {
    /// Valid Kubernetes quantities, by resource.
    pub resources: Quantities,
    pub architecture: Option<Architecture>,
    pub operating_system: Option<String>,
}

words! {
    /// The architectures of processors that Cluster API knows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Architecture with as_str {
        Amd64 = "amd64",
        Arm64 = "arm64",
        S390x = "s390x",
        Ppc64le = "ppc64le",
    }
}

/// One address of a machine. Ordered as its list is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
    pub kind: String,
    pub address: String,
}

/// A fact about a machine in the cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudCondition {
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    pub reason: String,
    pub message: String,
}

/// The power state of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmState {
    /// Being made or booting.
    Pending,
    Running,
    Stopping,
    Stopped,
    /// The cloud does not say.
    Unknown,
}

/// A machine as the cloud shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    pub provider_id: ProviderId,
    /// The name under which its Node registers.
    pub node_name: NodeName,
    pub state: VmState,
    pub addresses: Vec<Address>,
    /// Its zone or the like.
    pub failure_domain: Option<FailureDomain>,
    /// Further conditions that the cloud reports.
    pub conditions: Vec<CloudCondition>,
    /// The state to pass to the next call.
    pub last_known_state: Option<String>,
}

/// The cloud works on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgress {
    /// Stored as last known state and handed to the next call.
    pub resume_token: String,
    /// The earliest time to ask again, from the answer on.
    pub ask_again: SignedDuration,
    /// The awaited change, for people.
    pub message: String,
}

/// The answer to `create`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Creation {
    Created(Vm),
    InProgress(InProgress),
}

/// The answer to `delete`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The cloud accepted it, or nothing is there.
    Deleted {
        /// The state to store, if any.
        last_known_state: Option<String>,
    },
    InProgress(InProgress),
}

/// One machine of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub provider_id: ProviderId,
    /// The Machine's name; empty when the machine does not say.
    pub machine_name: Name,
    /// The Machine's uid, where the machine says.
    pub machine_uid: Option<Uid>,
    /// When it was made, where the cloud says.
    pub created_at: Option<Timestamp>,
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub machines: Vec<Listed>,
    /// Present: there is more.
    pub next: Option<String>,
}

/// The operations that a driver offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of the contract, one for one")]
pub struct Capabilities {
    pub status: bool,
    pub initialize: bool,
    pub listing: bool,
    pub volume_ids: bool,
    /// The cloud keeps idempotency keys.
    pub idempotency_key: bool,
    /// Offers `reboot`, an interface of its own.
    pub reboot: bool,
    /// Offers `delete-by-id`, an interface of its own.
    pub delete_by_id: bool,
    /// Offers `node-id`, an interface of its own.
    pub node_id: bool,
    /// Offers `placement`, an interface of its own.
    pub placement: bool,
    /// Offers `interruption`, an interface of its own.
    pub interruption: bool,
    /// Offers `capacity`, an interface of its own.
    pub capacity: bool,
}

/// Facts about the driver of a class, as controllers need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverFacts {
    pub plugin: PluginName,
    pub capabilities: Capabilities,
    /// How long reads may lag behind a create.
    pub consistency_window: SignedDuration,
}

pub type DriverResult<T> = Result<T, CallError>;

/// Returns whether the error means that the cloud has no such machine.
pub fn is_not_found(error: &CallError) -> bool {
    matches!(error, CallError::Guest(DriverError { code: Code::NotFound, .. }))
}
