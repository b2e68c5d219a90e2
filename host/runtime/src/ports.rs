//! The traits that the app implements for the runtime, which knows neither plugins nor clouds.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Page, Vm,
};
use machinist_core::health_policy::{PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, PluginName, ProviderId, ProviderName};

/// The calls of drivers, one row each. `$table` is a macro that gets all rows: [`Drivers`] is made of them, and so is
/// each type that wraps drivers. The rows about a Machine name their operation.
#[macro_export]
macro_rules! each_driver_call {
    ($table:ident) => {
        $table! {
            machine {
                create = Create(request: MachineRequest) -> Creation;
                initialize = Initialize(request: MachineRequest) -> Vm;
                delete = Delete(request: MachineRequest) -> Deletion;
                get_status = GetStatus(request: MachineRequest) -> Vm;
                /// Reboots the VM. See `wit/provider`.
                reboot = Reboot(request: MachineRequest) -> ();
                /// Removes this VM and no other; the request names the one that the Machine keeps. See
                /// `wit/delete-by-id`.
                delete_by_id = DeleteById(request: MachineRequest, vm: ProviderId) -> ();
                /// The id that the Node of this VM has. See `wit/node-id`.
                node_id = NodeId(request: MachineRequest, vm: Vm) -> ProviderId;
                /// The `providerSpec` of the request's class in this failure domain. See `wit/placement`.
                place = Place(request: MachineRequest, failure_domain: FailureDomain) -> String;
                /// Whether the cloud may take VMs of the request's class away at any time. See `wit/interruption`.
                is_interruptible = IsInterruptible(request: MachineRequest) -> bool;
            }
            other {
                /// One page of the machines that carry the cluster's mark. See `wit/provider`.
                list(request: ListRequest) -> Page;
                /// The cloud's ids of these volumes, in order; `None` for a volume of another kind. `volume_specs` is
                /// JSON of PersistentVolume specs. See `wit/provider`.
                get_volume_ids(
                    provider: ProviderName,
                    pin: Option<DriverDigest>,
                    volume_specs: Vec<String>
                ) -> Vec<Option<String>>;
                /// The resources of a Node of a class. See `wit/capacity`.
                node_capacity(request: ClassRequest) -> NodeResources;
                /// Warnings about a class that can be used, or `invalid-argument` with what is wrong. See
                /// `wit/provider`.
                validate_class(class: ClassSpec) -> Vec<String>;
            }
        }
    };
}

macro_rules! drivers {
    ($($about:ident { $(
        $(#[$doc:meta])*
        $call:ident $(= $operation:ident)? ($($name:ident: $type:ty),*) -> $answer:ty;
    )+ })+) => {
        /// The drivers, by provider.
        pub trait Drivers: Send + Sync {
            /// Returns the facts of the driver that serves this provider, or of its version with this digest. Fast:
            /// called in each reconcile.
            fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal>;
            $($($(#[$doc])* fn $call(&self, $($name: $type),*) -> BoxFuture<'_, DriverResult<$answer>>;)+)+
        }
    };
}

each_driver_call!(drivers);

pub trait HealthPolicies: Send + Sync {
    /// Returns all declared policies, by name. Fast: called in each reconcile.
    fn policies(&self) -> Arc<[PolicyFact]>;
    /// Returns the answer of a policy about a Machine. See `wit/policy`.
    fn evaluate(
        &self,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>>;
}

/// A ConfigMap with the label of plugins.
#[derive(Clone, Debug)]
pub struct PluginConfigMap {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub data: BTreeMap<String, String>,
    pub binary_data: BTreeMap<String, Vec<u8>>,
}

/// The status of a plugin, for its ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginStatus {
    /// Where it comes from, for people.
    pub source: String,
    /// Name of the ConfigMap; `None` for a plugin from elsewhere, which has no object for a status.
    pub config_map: Option<String>,
    /// Uid of the ConfigMap.
    pub uid: String,
    /// The state, one word.
    pub state: String,
    /// It stays so until something changes: worth an Event. Steps on the way are not.
    pub is_final: bool,
    /// True if an operator should act.
    pub is_warning: bool,
    pub message: String,
    /// JSON for the status annotation.
    pub status: String,
    /// The providers that it serves or wanted to serve: their Machines are requeued.
    pub providers: Vec<ProviderName>,
    /// It is, or wanted to be, a health policy: Machines that have joined are requeued.
    pub is_policy: bool,
}

/// Something that one plugin tried and was not let do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFailure {
    /// Name of the ConfigMap.
    pub config_map: String,
    /// Uid of the ConfigMap.
    pub uid: String,
    /// CamelCase reason of the Event.
    pub reason: String,
    pub message: String,
}

/// Messages about plugins, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginMessage {
    /// A state has changed.
    State(PluginStatus),
    /// The host has refused a request of a plugin.
    Failure(PluginFailure),
}

/// Where plugins go that were found.
pub trait Plugins: Send + Sync {
    /// A ConfigMap is there, or has changed. The same content again changes nothing.
    fn declare(&self, config_map: PluginConfigMap) -> BoxFuture<'_, ()>;
    /// A ConfigMap is gone.
    fn withdraw(&self, namespace: String, name: String) -> BoxFuture<'_, ()>;
    /// All ConfigMaps are about to be declared: which plugin a provider belongs to is open until [`Plugins::listed`].
    fn listing(&self) {}
    /// All ConfigMaps that are there have been declared.
    fn listed(&self) {}
    /// Returns messages from now on.
    fn messages(&self) -> BoxStream<'static, PluginMessage>;
}

#[derive(Clone)]
pub struct Ports {
    pub drivers: Arc<dyn Drivers>,
    pub policies: Arc<dyn HealthPolicies>,
    pub plugins: Arc<dyn Plugins>,
}

impl Ports {
    /// One object that is all of the ports.
    pub fn of<P: Drivers + HealthPolicies + Plugins + 'static>(port: P) -> Self {
        let port = Arc::new(port);
        Self { drivers: port.clone(), policies: port.clone(), plugins: port }
    }
}
