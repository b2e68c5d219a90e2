//! The ports of a process without the controller of Machines: it loads no plugin.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{
    ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest, Page, Vm,
};
use machinist_core::health_policy::{PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{PluginName, ProviderId, ProviderName};
use machinist_runtime::ports::{Drivers, HealthPolicies, PluginConfigMap, PluginMessage, Plugins};

pub(crate) struct WithoutDrivers;

fn refusal(provider: &ProviderName) -> Refusal {
    let hint = "; this process does not run the controller of Machines".to_owned();
    Refusal::UnknownProvider { provider: provider.to_string(), hint }
}

fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, CallError>> {
    Box::pin(ready(Err(CallError::Refused(refusal(&ProviderName::new(""))))))
}

impl Drivers for WithoutDrivers {
    fn facts(&self, provider: &ProviderName, _pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        Err(refusal(provider))
    }

    fn create(&self, _request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        refused()
    }

    fn initialize(&self, _request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        refused()
    }

    fn delete(&self, _request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        refused()
    }

    fn get_status(&self, _request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        refused()
    }

    fn reboot(&self, _request: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        refused()
    }

    fn delete_by_id(&self, _request: MachineRequest, _vm: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        refused()
    }

    fn list(&self, _request: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        refused()
    }

    fn get_volume_ids(
        &self,
        _provider: ProviderName,
        _pin: Option<DriverDigest>,
        _volume_specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        refused()
    }

    fn validate_class(&self, _class: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        refused()
    }
}

impl HealthPolicies for WithoutDrivers {
    fn policies(&self) -> Arc<[PolicyFact]> {
        Arc::new([])
    }

    fn evaluate(
        &self,
        _policy: &PluginName,
        _question: PolicyQuestion,
        _now: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        refused()
    }
}

impl Plugins for WithoutDrivers {
    fn declare(&self, _config_map: PluginConfigMap) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn withdraw(&self, _namespace: String, _name: String) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn messages(&self) -> BoxStream<'static, PluginMessage> {
        stream::pending().boxed()
    }
}
