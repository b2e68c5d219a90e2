//! What the runtime needs from others. It knows neither plugins nor clouds; the app adapts.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{
    Answer, ClassSpec, Creation, Deletion, DriverFacts, ListRequest, MachineRequest, Page, Vm,
};
use machinist_core::health_policy::{PolicyFact, Question, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{PluginName, ProviderId, ProviderName};

/// The drivers, by provider.
pub trait Drivers: Send + Sync {
    /// What the driver that serves this provider can do, or the version of it with this digest. Fast: asked in each pass.
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal>;
    /// See `wit/provider`.
    fn create(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Creation>>;
    /// See `wit/provider`.
    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>>;
    /// See `wit/provider`.
    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Deletion>>;
    /// See `wit/provider`.
    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>>;
    /// Starts the VM anew. See `wit/provider`.
    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, Answer<()>>;
    /// Removes this VM and no other; the request names the one that the Machine keeps. See `wit/delete-by-id`.
    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, Answer<()>>;
    /// One page of the machines that carry the cluster's mark. See `wit/provider`.
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Answer<Page>>;
    /// The cloud's ids of these volumes, in order; `None` for a volume of another kind. `volume_specs` is JSON of
    /// PersistentVolume specs. See `wit/provider`.
    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        volume_specs: Vec<String>,
    ) -> BoxFuture<'_, Answer<Vec<Option<String>>>>;
    /// Warnings about a class that can be used, or `invalid-argument` with what is wrong. See `wit/provider`.
    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, Answer<Vec<String>>>;
}

/// The health policies.
pub trait HealthPolicies: Send + Sync {
    /// All that are declared, by name. Fast: asked in each pass.
    fn policies(&self) -> Arc<[PolicyFact]>;
    /// What one of them says about a Machine. See `wit/policy`.
    fn evaluate(
        &self,
        policy: &PluginName,
        question: Question,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>>;
}

/// A ConfigMap that claims to hold a plugin.
#[derive(Clone, Debug)]
pub struct PluginConfigMap {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// `data`.
    pub data: BTreeMap<String, String>,
    /// `binaryData`.
    pub binary_data: BTreeMap<String, Vec<u8>>,
}

/// What is to be told about a plugin on its ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginStatus {
    /// Where it comes from, for people.
    pub source: String,
    /// Name of the ConfigMap; `None` when it comes from elsewhere, and there is no object that could tell.
    pub config_map: Option<String>,
    /// Uid of the ConfigMap.
    pub uid: String,
    /// The state, one word.
    pub state: String,
    /// It stays so until something changes: worth an Event. Steps on the way are not.
    pub is_final: bool,
    /// Something is wrong that the operator should look at.
    pub is_warning: bool,
    /// For people.
    pub message: String,
    /// JSON for the status annotation.
    pub status: String,
    /// The providers that it serves or wanted to serve: their Machines are looked at anew.
    pub providers: Vec<ProviderName>,
    /// It is, or wanted to be, a health policy: Machines that have joined are looked at anew.
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
    /// For people.
    pub message: String,
}

/// News of plugins, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginMessage {
    /// A state has changed.
    State(PluginStatus),
    /// Something was refused.
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
    /// News from now on.
    fn messages(&self) -> BoxStream<'static, PluginMessage>;
}

/// All ports, shared.
#[derive(Clone)]
pub struct Ports {
    /// The drivers.
    pub drivers: Arc<dyn Drivers>,
    /// The health policies.
    pub policies: Arc<dyn HealthPolicies>,
    /// The plugins.
    pub plugins: Arc<dyn Plugins>,
}
