//! A cloud in this process: a create takes as long as in the other figures, and its VM runs at once.
#![expect(clippy::result_large_err, reason = "the port's own type of answers")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, future};
use jiff::SignedDuration;
use machinist_core::driver::error::{Code, DriverError, Refusal};
use machinist_core::driver::{
    Address, Capabilities, ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult,
    ListRequest, MachineRequest, NodeResources, Page, Vm, VmState,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ProviderId, ProviderName};
use machinist_runtime::ports::Drivers;

/// How long a create takes.
const CREATES_IN: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct InfraCloud {
    /// The VM of each key.
    vms: Mutex<BTreeMap<String, Vm>>,
    calls: AtomicU64,
}

impl InfraCloud {
    /// The number of calls so far.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// As long as a create takes.
    pub(super) async fn wait(&self) {
        tokio::time::sleep(CREATES_IN).await;
    }

    fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn find(&self, request: &MachineRequest) -> DriverResult<Vm> {
        self.count();
        let vms = self.vms.lock().unwrap_or_else(PoisonError::into_inner);
        let found = vms.get(request.machine.uid.as_str()).cloned();
        found.ok_or_else(|| DriverError::new(Code::NotFound, "there is no such VM").into())
    }
}

impl Drivers for InfraCloud {
    fn facts(&self, _: &ProviderName, _: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        Ok(DriverFacts {
            plugin: "memory".into(),
            capabilities: Capabilities {
                status: true,
                initialize: false,
                listing: false,
                volume_ids: false,
                idempotency_key: true,
                reboot: false,
                delete_by_id: false,
                node_id: false,
                placement: false,
                interruption: false,
                capacity: false,
            },
            consistency_window: SignedDuration::ZERO,
        })
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        async move {
            self.count();
            self.wait().await;
            let key = request.machine.uid.to_string();
            let vm = Vm {
                provider_id: format!("memory:///zone/{key}").as_str().into(),
                node_name: request.machine.name.as_str().into(),
                state: VmState::Running,
                addresses: vec![Address { kind: "InternalIP".into(), address: "10.0.0.1".into() }],
                failure_domain: Some("zone".into()),
                conditions: Vec::new(),
                last_known_state: None,
            };
            let mut vms = self.vms.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(Creation::Created(vms.entry(key).or_insert(vm).clone()))
        }
        .boxed()
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        future::ready(self.find(&request)).boxed()
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        self.count();
        self.vms.lock().unwrap_or_else(PoisonError::into_inner).remove(request.machine.uid.as_str());
        future::ready(Ok(Deletion::Deleted { last_known_state: None })).boxed()
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        future::ready(self.find(&request)).boxed()
    }

    fn reboot(&self, _: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        future::ready(Ok(())).boxed()
    }

    fn delete_by_id(&self, _: MachineRequest, _: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        future::ready(Ok(())).boxed()
    }

    fn list(&self, _: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        future::ready(Ok(Page { machines: Vec::new(), next: None })).boxed()
    }

    fn get_volume_ids(
        &self,
        _: ProviderName,
        _: Option<DriverDigest>,
        specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        future::ready(Ok(vec![None; specs.len()])).boxed()
    }

    fn node_id(&self, _: MachineRequest, vm: Vm) -> BoxFuture<'_, DriverResult<ProviderId>> {
        future::ready(Ok(vm.provider_id)).boxed()
    }

    fn place(&self, _: MachineRequest, _: FailureDomain) -> BoxFuture<'_, DriverResult<String>> {
        future::ready(Err(not_offered())).boxed()
    }

    fn is_interruptible(&self, _: MachineRequest) -> BoxFuture<'_, DriverResult<bool>> {
        future::ready(Err(not_offered())).boxed()
    }

    fn node_capacity(&self, _: ClassRequest) -> BoxFuture<'_, DriverResult<NodeResources>> {
        future::ready(Err(not_offered())).boxed()
    }

    fn validate_class(&self, _: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        future::ready(Ok(Vec::new())).boxed()
    }
}

/// The host asks for nothing that the capabilities do not name.
fn not_offered() -> machinist_core::driver::error::CallError {
    DriverError::new(Code::Unimplemented, "not offered").into()
}
