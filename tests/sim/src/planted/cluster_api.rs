//! Bugs in what is done to MachinistMachines and their VMs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request};
use kube::client::Body;
use machinist_core::driver::error::{Code, DriverError, Refusal};
use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest, MachineRequest,
    NodeResources, Page, Vm, VmState,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ProviderId, ProviderName};
use machinist_runtime::ports::Drivers;
use serde_json::{Value, json};
use tower::{BoxError, Service};

use super::owners::{Reply, asked, got};
use super::{Planted, again, patched};
use crate::names::NAMESPACE;

/// So often a VM is seen to run, before it is said to have stopped.
const SEEN_TO_RUN: u32 = 2;

/// The drivers with a bug that only MachinistMachines meet.
pub(super) struct InfraFaulty {
    drivers: Arc<dyn Drivers>,
    bug: Planted,
    /// How often each key's VM was seen to run.
    running: Mutex<BTreeMap<String, u32>>,
}

impl InfraFaulty {
    pub(super) fn new(drivers: Arc<dyn Drivers>, bug: Planted) -> Self {
        Self { drivers, bug, running: Mutex::default() }
    }

    /// The bug, where it is about this request.
    fn bug_of(&self, request: &MachineRequest) -> Option<Planted> {
        (request.machine.namespace.as_str() != NAMESPACE).then_some(self.bug)
    }

    fn was_seen_running(&self, key: &str) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(key.to_owned()).or_default();
        *count += 1;
        *count > SEEN_TO_RUN
    }
}

impl Drivers for InfraFaulty {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.drivers.facts(provider, pin)
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        let key = request.machine.uid.as_str();
        let second = match self.bug_of(&request) {
            Some(Planted::CreatesTwiceForKeys) => Some(again(&request, key)),
            Some(Planted::LeaksInfraVms) => Some(again(&request, &format!("{key}-nobody"))),
            _ => None,
        };
        async move {
            let made = self.drivers.create(request).await;
            if let Some(second) = second {
                let _ = self.drivers.create(second).await;
            }
            made
        }
        .boxed()
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        self.drivers.initialize(request)
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        match self.bug_of(&request) {
            Some(Planted::ForgetsInfraVms) => {
                async { Ok(Deletion::Deleted { last_known_state: None }) }.boxed()
            }
            _ => self.drivers.delete(request),
        }
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        match self.bug_of(&request) {
            Some(Planted::ForgetsInfraVms) => {
                async { Err(DriverError::new(Code::NotFound, "there is no such VM").into()) }.boxed()
            }
            Some(Planted::CallsTheRunningStopped) => async move {
                let key = request.machine.uid.to_string();
                let seen = self.drivers.get_status(request).await?;
                let is_called_stopped = seen.state == VmState::Running && self.was_seen_running(&key);
                Ok(if is_called_stopped { Vm { state: VmState::Stopped, ..seen } } else { seen })
            }
            .boxed(),
            _ => self.drivers.get_status(request),
        }
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        self.drivers.reboot(request)
    }

    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        self.drivers.delete_by_id(request, vm)
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        self.drivers.list(request)
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        self.drivers.get_volume_ids(provider, pin, specs)
    }

    fn node_id(&self, request: MachineRequest, vm: Vm) -> BoxFuture<'_, DriverResult<ProviderId>> {
        self.drivers.node_id(request, vm)
    }

    fn place(&self, request: MachineRequest, domain: FailureDomain) -> BoxFuture<'_, DriverResult<String>> {
        self.drivers.place(request, domain)
    }

    fn node_capacity(&self, request: ClassRequest) -> BoxFuture<'_, DriverResult<NodeResources>> {
        self.drivers.node_capacity(request)
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        self.drivers.validate_class(class)
    }
}

/// The request as the bug makes it. May send another one before.
pub(super) async fn bent<S>(
    way: &mut S,
    request: Request<Body>,
    bug: Planted,
) -> Result<Request<Body>, BoxError>
where
    S: Service<Request<Body>, Response = Reply, Error = BoxError>,
{
    let path = request.uri().path().to_owned();
    let is_status = path.contains("/machinistmachines/") && path.ends_with("/status");
    if !is_status || request.method() != Method::PATCH {
        return Ok(request);
    }
    match bug {
        Planted::RewritesProviderIds => {
            let path = path.trim_end_matches("/status");
            if got(way, path).await?["spec"]["providerID"].is_string() {
                let other = json!({ "spec": { "providerID": "sim:///sim-1a/other" } });
                way.call(asked(Method::PATCH, path, &other)?).await?;
            }
            Ok(request)
        }
        Planted::TakesProvisionedBack => {
            patched(request, |patch: &mut Value| {
                if patch["status"]["initialization"].is_null() {
                    patch["status"]["initialization"] = json!({ "provisioned": false });
                }
            })
            .await
        }
        _ => Ok(request),
    }
}
