//! The ports of a process without the controller of Machines: it loads no plugin.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{
    Answer, ClassSpec, Creation, Deletion, DriverFacts, ListRequest, MachineRequest, Page, Vm,
};
use machinist_core::health_policy::{PolicyFact, Question, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{PluginName, ProviderId, ProviderName};
use machinist_runtime::ports::{Drivers, HealthPolicies, PluginConfigMap, PluginMessage, Plugins, Ports};

pub(crate) fn ports() -> Ports {
    let none = Arc::new(WithoutDrivers);
    Ports { drivers: none.clone(), policies: none.clone(), plugins: none }
}

struct WithoutDrivers;

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

    fn create(&self, _request: MachineRequest) -> BoxFuture<'_, Answer<Creation>> {
        refused()
    }

    fn initialize(&self, _request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        refused()
    }

    fn delete(&self, _request: MachineRequest) -> BoxFuture<'_, Answer<Deletion>> {
        refused()
    }

    fn get_status(&self, _request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        refused()
    }

    fn reboot(&self, _request: MachineRequest) -> BoxFuture<'_, Answer<()>> {
        refused()
    }

    fn delete_by_id(&self, _request: MachineRequest, _vm: ProviderId) -> BoxFuture<'_, Answer<()>> {
        refused()
    }

    fn list(&self, _request: ListRequest) -> BoxFuture<'_, Answer<Page>> {
        refused()
    }

    fn get_volume_ids(
        &self,
        _provider: ProviderName,
        _pin: Option<DriverDigest>,
        _volume_specs: Vec<String>,
    ) -> BoxFuture<'_, Answer<Vec<Option<String>>>> {
        refused()
    }

    fn validate_class(&self, _class: ClassSpec) -> BoxFuture<'_, Answer<Vec<String>>> {
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
        _question: Question,
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
