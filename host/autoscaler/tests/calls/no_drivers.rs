//! The ports of a process without drivers.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::*;
use machinist_core::health_policy::{PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::*;
use machinist_runtime::each_driver_call;
use machinist_runtime::ports::{Drivers, HealthPolicies, PluginConfigMap, PluginMessage, Plugins};

pub(crate) struct NoDrivers;

fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, CallError>> {
    Box::pin(ready(Err(CallError::Refused(Refusal::ShuttingDown))))
}

macro_rules! refuse {
    ($($about:ident { $(
        $(#[$doc:meta])*
        $call:ident $(= $operation:ident)? ($($_name:ident: $type:ty),*) -> $answer:ty;
    )+ })+) => {
        $($(fn $call(&self, $(_: $type),*) -> BoxFuture<'_, DriverResult<$answer>> {
            refused()
        })+)+
    };
}

impl Drivers for NoDrivers {
    fn facts(&self, _: &ProviderName, _: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        Err(Refusal::ShuttingDown)
    }

    each_driver_call!(refuse);
}

impl HealthPolicies for NoDrivers {
    fn policies(&self) -> Arc<[PolicyFact]> {
        Arc::new([])
    }

    fn evaluate(
        &self,
        _: &PluginName,
        _: PolicyQuestion,
        _: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        refused()
    }
}

impl Plugins for NoDrivers {
    fn declare(&self, _: PluginConfigMap) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn withdraw(&self, _: String, _: String) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn messages(&self) -> BoxStream<'static, PluginMessage> {
        stream::pending().boxed()
    }
}
