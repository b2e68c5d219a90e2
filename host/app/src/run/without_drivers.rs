//! The ports of a process without the controller of Machines: it loads no plugin.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Page, Vm,
};
use machinist_core::health_policy::{PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, PluginName, ProviderId, ProviderName};
use machinist_runtime::each_driver_call;
use machinist_runtime::ports::{Drivers, HealthPolicies, PluginConfigMap, PluginMessage, Plugins};

pub(crate) struct WithoutDrivers;

fn refusal(provider: &ProviderName) -> Refusal {
    let hint = "; this process does not run the controller of Machines".to_owned();
    Refusal::UnknownProvider { provider: provider.to_string(), hint }
}

fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, CallError>> {
    Box::pin(ready(Err(CallError::Refused(refusal(&ProviderName::new(""))))))
}

macro_rules! refused {
    ($($about:ident { $(
        $(#[$doc:meta])*
        $call:ident $(= $operation:ident)? ($($_name:ident: $type:ty),*) -> $answer:ty;
    )+ })+) => {
        $($(fn $call(&self, $(_: $type),*) -> BoxFuture<'_, DriverResult<$answer>> {
            refused()
        })+)+
    };
}

impl Drivers for WithoutDrivers {
    fn facts(&self, provider: &ProviderName, _pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        Err(refusal(provider))
    }

    each_driver_call!(refused);
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
