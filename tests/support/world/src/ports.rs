//! A host without plugins: its driver is there without one.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt, pending};
use futures::{FutureExt, future};
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Code, DriverError};
use machinist_core::health_policy::{PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::id::PluginName;
use machinist_runtime::ports::{HealthPolicies, PluginConfigMap, PluginMessage, Plugins};

/// No plugins and no policies.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Plugins for Nothing {
    fn declare(&self, _: PluginConfigMap) -> BoxFuture<'_, ()> {
        future::ready(()).boxed()
    }

    fn withdraw(&self, _: String, _: String) -> BoxFuture<'_, ()> {
        future::ready(()).boxed()
    }

    fn messages(&self) -> BoxStream<'static, PluginMessage> {
        pending().boxed()
    }
}

impl HealthPolicies for Nothing {
    fn policies(&self) -> Arc<[PolicyFact]> {
        Arc::from([])
    }

    fn evaluate(
        &self,
        _: &PluginName,
        _: PolicyQuestion,
        _: Timestamp,
    ) -> BoxFuture<'_, Result<RawAnswer, CallError>> {
        future::ready(Err(DriverError::new(Code::Internal, "there are no policies").into())).boxed()
    }
}
