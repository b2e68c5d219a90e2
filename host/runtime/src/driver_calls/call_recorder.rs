//! Drivers whose calls are recorded in the history and counted, and during which reconciles hold no slot.

use std::sync::Arc;

use futures::future::BoxFuture;
use machinist_core::driver::error::Refusal;
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Operation, Page, Vm,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ObjectKey, ProviderId, ProviderName};

use crate::context::clock::Clock;
use crate::driver_calls::leader_only::LeaderOnly;
use crate::driver_calls::slots;
use crate::each_driver_call;
use crate::machine_query::history::{Call, CallHistory, Success};
use crate::metrics::Metrics;
use crate::ports::Drivers;

/// Drivers whose calls are recorded and counted.
pub(crate) struct CallRecorder {
    pub(crate) drivers: LeaderOnly,
    pub(crate) history: Arc<CallHistory>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Clock,
}

impl CallRecorder {
    fn about_machine<'a, T: Answer + Send + 'a>(
        &'a self,
        operation: Operation,
        request: MachineRequest,
        call: impl FnOnce(MachineRequest) -> BoxFuture<'a, DriverResult<T>>,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let machine =
            ObjectKey { namespace: request.machine.namespace.clone(), name: request.machine.name.clone() };
        let provider = request.class.provider.clone();
        let started = self.clock.now();
        let number = self.history.begin(
            machine.clone(),
            Call {
                operation: operation.name().to_owned(),
                provider: provider.to_string(),
                machine_uid: request.machine.uid.to_string(),
                started,
                took_ms: None,
                outcome: "running".to_owned(),
                code: None,
                cloud_code: None,
            },
        );
        let answer = call(request);
        Box::pin(slots::without_slot(async move {
            let answer = answer.await;
            let now = self.clock.now();
            let took = now.duration_since(started);
            self.metrics.drivers.called(&provider, operation, took, answer.as_ref().err());
            self.history.end(&machine, number, now, answer.as_ref().map(T::success));
            answer
        }))
    }

    /// Counts a call that is about no Machine. The history has none of these.
    fn about_none<'a, T: Send + 'a>(
        &'a self,
        operation: Operation,
        provider: ProviderName,
        answer: BoxFuture<'a, DriverResult<T>>,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let started = self.clock.now();
        Box::pin(slots::without_slot(async move {
            let answer = answer.await;
            let took = self.clock.now().duration_since(started);
            self.metrics.drivers.called(&provider, operation, took, answer.as_ref().err());
            answer
        }))
    }
}

/// An answer about a Machine.
trait Answer {
    /// Whether the operation is over.
    fn success(&self) -> Success {
        Success::Done
    }
}

impl Answer for Creation {
    fn success(&self) -> Success {
        match self {
            Self::Created(_) => Success::Done,
            Self::InProgress(_) => Success::InProgress,
        }
    }
}

impl Answer for Deletion {
    fn success(&self) -> Success {
        match self {
            Self::Deleted { .. } => Success::Done,
            Self::InProgress(_) => Success::InProgress,
        }
    }
}

impl Answer for Vm {}

impl Answer for ProviderId {}

impl Answer for String {}

impl Answer for bool {}

impl Answer for () {}

macro_rules! about_machine {
    (
        machine { $(
            $(#[$doc:meta])*
            $call:ident = $operation:ident($request:ident: $type:ty $(, $more:ident: $more_type:ty)*) -> $answer:ty;
        )+ }
        other { $($other:tt)* }
    ) => {
        $(fn $call(&self, $request: $type $(, $more: $more_type)*) -> BoxFuture<'_, DriverResult<$answer>> {
            let call = move |$request| self.drivers.$call($request $(, $more)*);
            self.about_machine(Operation::$operation, $request, call)
        })+
    };
}

impl Drivers for CallRecorder {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.drivers.facts(provider, pin)
    }

    each_driver_call!(about_machine);

    fn list(&self, request: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        let provider = request.class.provider.clone();
        self.about_none(Operation::List, provider, self.drivers.list(request))
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        volume_specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        let answer = self.drivers.get_volume_ids(provider.clone(), pin, volume_specs);
        self.about_none(Operation::GetVolumeIds, provider, answer)
    }

    fn node_capacity(&self, request: ClassRequest) -> BoxFuture<'_, DriverResult<NodeResources>> {
        let provider = request.class.provider.clone();
        self.about_none(Operation::NodeCapacity, provider, self.drivers.node_capacity(request))
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        let provider = class.provider.clone();
        self.about_none(Operation::ValidateClass, provider, self.drivers.validate_class(class))
    }
}
