//! The driver: the calls of the port, in the words of the cloud.
#![expect(clippy::result_large_err, reason = "the port's own type of answers")]

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use machinist_core::driver::error::{CallError, Code, DriverError, GuestFailure, Limit, Refusal};
use machinist_core::driver::{
    Capabilities, ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, ListRequest,
    Listed, MachineRequest, NodeResources, Page, Vm, VmState as State,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ProviderId, ProviderName};
use machinist_runtime::ports::Drivers;
use simcloud::{CreateVm, Method, Request, VmState, VmView};
use world::carry;

use crate::check::Watchman;
use crate::cloud::SimCloud;
use crate::names::{UID_TAG, provider_id};

/// The cloud as one host reaches it.
struct HostDrivers {
    cloud: SimCloud,
    actor: String,
    watchman: Watchman,
}

/// The driver as one host reaches it.
pub(super) fn drivers(cloud: &SimCloud, actor: &str, watchman: &Watchman) -> Arc<dyn Drivers> {
    Arc::new(HostDrivers { cloud: cloud.clone(), actor: actor.to_owned(), watchman: watchman.clone() })
}

impl HostDrivers {
    fn call<'a, T: Send + 'a>(
        &'a self,
        function: &'static str,
        name: String,
        deadline: Duration,
        act: impl Future<Output = Result<T, DriverError>> + Send + 'a,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let act = act.map_err(CallError::from);
        let carried = carry(&self.cloud.wire, &self.actor, ("CALL", function, name), act);
        // The plugin host ends every call in time.
        let late = GuestFailure::Limit { limit: Limit::Deadline, detail: "5 min".into() };
        async move { tokio::time::timeout(deadline, carried).await.unwrap_or_else(|_| Err(late.into())) }
            .boxed()
    }

    fn of_machine<'a, T: Send + 'a, F: Future<Output = Result<T, DriverError>> + Send + 'a>(
        &'a self,
        function: &'static str,
        request: MachineRequest,
        act: impl FnOnce(&'a Self, MachineRequest) -> F,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let name = request.machine.name.to_string();
        let deadline = if matches!(function, "get-status" | "reboot") {
            Duration::from_mins(1)
        } else {
            Duration::from_mins(5)
        };
        self.call(function, name, deadline, act(self, request))
    }

    async fn make(&self, request: MachineRequest) -> Result<Creation, DriverError> {
        let uid = request.machine.uid.to_string();
        let class: serde_json::Value = serde_json::from_str(&request.class.spec).unwrap_or_default();
        let text = |field: &str| class[field].as_str().unwrap_or_default().to_owned();
        let tags = [
            ("cluster", request.cluster.clone()),
            (UID_TAG, uid.clone()),
            ("machine-name", request.machine.name.to_string()),
            ("zone", text("zone")),
        ];
        let wanted = CreateVm {
            name: request.machine.name.to_string(),
            zone: text("zone"),
            kind: text("type"),
            image: "linux-1".to_owned(),
            tags: tags.map(|(name, value)| (name.to_owned(), value)).into(),
            user_data: encoded(request.secrets.user_data.as_deref().unwrap_or_default()),
            volumes: Vec::new(),
            needs_initialize: self.cloud.habits.initializes,
        };
        let mut call = Request::new(Method::Post, "/v1/vms");
        if self.cloud.habits.keeps_keys {
            call = call.with_key(&request.idempotency_key);
        }
        let call =
            call.with_json(&wanted).map_err(|error| DriverError::new(Code::Internal, error.to_string()))?;
        self.watchman.create_asked(&uid, &self.actor);
        let made = self.cloud.ask::<VmView>(call).await;
        self.watchman.vm_made(&request.cluster);
        match made {
            Ok(made) => Ok(Creation::Created(shown(&made))),
            Err(error) if error.cloud_code.as_deref() == Some("idempotency_mismatch") => {
                let exists = |error| DriverError { may_have_happened: true, ..error };
                let found = self.find(&request.cluster, &uid).await.map_err(exists)?;
                only(found).map_err(exists)?.map(|vm| Creation::Created(shown(&vm))).ok_or(exists(error))
            }
            Err(error) => Err(error),
        }
    }

    async fn look(&self, request: MachineRequest) -> Result<Vm, DriverError> {
        let vm = self.locate(&request).await?.ok_or_else(not_found)?;
        if vm.state != VmState::Stopping && !vm.initialized {
            return Err(DriverError {
                provider_id: Some(provider_id(&vm.zone, &vm.id).into()),
                node_name: Some(vm.name.as_str().into()),
                ..DriverError::new(Code::Uninitialized, "the VM is made and not initialized yet")
            });
        }
        Ok(shown(&vm))
    }

    async fn finish(&self, request: MachineRequest) -> Result<Vm, DriverError> {
        let id = match own_id(&request) {
            Some(id) => id,
            None => self.locate(&request).await?.ok_or_else(not_found)?.id,
        };
        let call = Request::new(Method::Post, &format!("/v1/vms/{id}/initialize"));
        let call = call.with_json(&simcloud::Initialize::default());
        let call = call.map_err(|error| DriverError::new(Code::Internal, error.to_string()))?;
        Ok(shown(&self.cloud.ask::<VmView>(call).await?))
    }

    async fn remove(&self, request: MachineRequest) -> Result<Deletion, DriverError> {
        let uid = request.machine.uid.to_string();
        let found = self.find(&request.cluster, &uid).await?;
        let mut ids: Vec<String> = found.iter().map(|vm| vm.id.clone()).collect();
        if let Some(id) = own_id(&request).filter(|id| !ids.contains(id)) {
            match self.cloud.ask::<VmView>(Request::new(Method::Get, &format!("/v1/vms/{id}"))).await {
                Ok(vm) if vm.state != VmState::Terminated => of_this_cluster(&vm, &request.cluster)?,
                Ok(_) => {}
                Err(error) if error.code == Code::NotFound => {}
                Err(error) => return Err(error),
            }
            ids.push(id);
        }
        for id in ids {
            if found.iter().any(|vm| vm.id == id && vm.state == VmState::Stopping) {
                continue;
            }
            self.watchman.delete_asked(&id, &self.actor);
            match self.cloud.ask::<VmView>(Request::new(Method::Delete, &format!("/v1/vms/{id}"))).await {
                Ok(_) => {}
                Err(error) if error.code == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Deletion::Deleted { last_known_state: None })
    }

    async fn remove_one(&self, request: MachineRequest, vm: ProviderId) -> Result<(), DriverError> {
        let Some(id) = vm.as_str().rsplit('/').next() else { return Ok(()) };
        self.watchman.delete_by_id_asked(id, &self.actor);
        if own_id(&request).as_deref() == Some(id) {
            return Err(DriverError::new(Code::FailedPrecondition, "the Machine keeps this VM"));
        }
        match self.cloud.ask::<VmView>(Request::new(Method::Delete, &format!("/v1/vms/{id}"))).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == Code::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn locate(&self, request: &MachineRequest) -> Result<Option<VmView>, DriverError> {
        if let Some(id) = own_id(request) {
            match self.cloud.ask::<VmView>(Request::new(Method::Get, &format!("/v1/vms/{id}"))).await {
                Ok(vm) if vm.state != VmState::Terminated => {
                    of_this_cluster(&vm, &request.cluster)?;
                    return Ok(Some(vm));
                }
                Ok(_) => {}
                Err(error) if error.code == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        only(self.find(&request.cluster, request.machine.uid.as_str()).await?)
    }

    async fn find(&self, cluster: &str, uid: &str) -> Result<Vec<VmView>, DriverError> {
        let target = format!("/v1/vms?tag=cluster:{cluster}&tag={UID_TAG}:{uid}");
        let page = self.cloud.ask_page(Request::new(Method::Get, &target)).await?;
        Ok(page.vms.iter().filter(|vm| vm.state != VmState::Terminated).map(|vm| VmView::clone(vm)).collect())
    }

    async fn page(&self, request: ListRequest) -> Result<Page, DriverError> {
        let cursor = request.token.map(|token| format!("&cursor={token}")).unwrap_or_default();
        let class: serde_json::Value = serde_json::from_str(&request.class.spec).unwrap_or_default();
        let zone = class["zone"].as_str().filter(|_| self.cloud.habits.lists_by_zone);
        let zone = zone.map(|zone| format!("&tag=zone:{zone}")).unwrap_or_default();
        let target = format!("/v1/vms?tag=cluster:{}{zone}&limit=500{cursor}", request.cluster);
        let page = self.cloud.ask_page(Request::new(Method::Get, &target)).await?;
        let there = page.vms.iter().filter(|vm| vm.state != VmState::Terminated);
        let machines = there.filter_map(|vm| self.cloud.shown_by_listing(vm)).map(|vm| listed(&vm)).collect();
        Ok(Page { machines, next: page.next_cursor })
    }

    async fn reboot_vm(&self, request: MachineRequest) -> Result<(), DriverError> {
        let vm = self.locate(&request).await?.ok_or_else(not_found)?;
        self.watchman.reboot_asked(&vm.id, &self.actor);
        self.cloud.ask::<VmView>(Request::new(Method::Post, &format!("/v1/vms/{}/reboot", vm.id))).await?;
        Ok(())
    }
}

/// A VM with another cluster's mark is neither the Machine's nor gone.
fn of_this_cluster(vm: &VmView, cluster: &str) -> Result<(), DriverError> {
    match vm.tags.get("cluster") {
        Some(mark) if mark != cluster => {
            let message = format!("the VM {} carries the mark of cluster {mark}", vm.id);
            Err(DriverError::new(Code::FailedPrecondition, message))
        }
        Some(_) | None => Ok(()),
    }
}

fn listed(vm: &VmView) -> Listed {
    Listed {
        provider_id: provider_id(&vm.zone, &vm.id).into(),
        machine_name: vm.tags.get("machine-name").map(String::as_str).unwrap_or_default().into(),
        machine_uid: vm.tags.get(UID_TAG).map(|uid| uid.as_str().into()),
        created_at: Some(vm.created),
    }
}

fn own_id(request: &MachineRequest) -> Option<String> {
    let id = request.machine.provider_id.as_ref()?;
    id.as_str().rsplit('/').next().map(str::to_owned)
}

fn not_found() -> DriverError {
    DriverError::new(Code::NotFound, "there is no such VM")
}

/// The one that works; else one that goes.
fn only(vms: Vec<VmView>) -> Result<Option<VmView>, DriverError> {
    let (going, working): (Vec<VmView>, Vec<VmView>) =
        vms.into_iter().partition(|vm| vm.state == VmState::Stopping);
    if working.len() > 1 {
        return Err(DriverError::new(Code::OutOfRange, "several VMs carry this Machine's uid"));
    }
    Ok(working.into_iter().next().or(going.into_iter().next()))
}

fn shown(vm: &VmView) -> Vm {
    Vm {
        provider_id: provider_id(&vm.zone, &vm.id).into(),
        node_name: vm.name.as_str().into(),
        state: match vm.state {
            VmState::Pending => State::Pending,
            VmState::Running => State::Running,
            VmState::Stopping => State::Stopping,
            VmState::Terminated => State::Stopped,
        },
        addresses: Vec::new(),
        failure_domain: Some(vm.zone.as_str().into()),
        conditions: Vec::new(),
        last_known_state: None,
    }
}

fn encoded(bytes: &[u8]) -> String {
    memory_api::encode(bytes)
}

/// The provider of all classes that are whole.
pub(crate) const PROVIDER: &str = "sim";

impl Drivers for HostDrivers {
    fn facts(&self, provider: &ProviderName, _: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        let provider = provider.to_string();
        if provider != PROVIDER {
            return Err(Refusal::UnknownProvider { provider, hint: String::new() });
        }
        Ok(DriverFacts {
            plugin: "sim".into(),
            capabilities: Capabilities {
                status: true,
                initialize: self.cloud.habits.initializes,
                listing: true,
                volume_ids: true,
                idempotency_key: self.cloud.habits.keeps_keys,
                reboot: true,
                delete_by_id: self.cloud.deletes_by_id(),
                node_id: false,
                placement: false,
                interruption: false,
                capacity: false,
            },
            consistency_window: self.cloud.window(),
        })
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        let uid = request.machine.uid.to_string();
        async move {
            self.watchman.change_sent("create", &request.machine, &self.actor);
            self.watchman.create_sent(&uid, &self.actor);
            let answer = self.of_machine("create", request, Self::make).await;
            self.watchman.create_ended(&uid, &self.actor, &answer);
            answer
        }
        .boxed()
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        let uid = request.machine.uid.to_string();
        async move {
            self.watchman.call_sent(&uid, &self.actor);
            let answer = self.of_machine("initialize", request, Self::finish).await;
            self.watchman.call_ended(&uid, &self.actor, None);
            answer
        }
        .boxed()
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        async move {
            self.watchman.change_sent("delete", &request.machine, &self.actor);
            self.of_machine("delete", request, Self::remove).await
        }
        .boxed()
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        let uid = request.machine.uid.to_string();
        async move {
            self.watchman.call_sent(&uid, &self.actor);
            let answer = self.of_machine("get-status", request, Self::look).await;
            self.watchman.call_ended(&uid, &self.actor, answer.as_ref().err().map(CallError::code));
            answer
        }
        .boxed()
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        self.of_machine("reboot", request, Self::reboot_vm)
    }

    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        self.of_machine("delete-by-id", request, move |account, request| account.remove_one(request, vm))
    }

    fn node_id(&self, _: MachineRequest, vm: Vm) -> BoxFuture<'_, DriverResult<ProviderId>> {
        async move { Ok(vm.provider_id) }.boxed()
    }

    fn place(&self, request: MachineRequest, _: FailureDomain) -> BoxFuture<'_, DriverResult<String>> {
        async move { Ok(request.class.spec) }.boxed()
    }

    fn is_interruptible(&self, _: MachineRequest) -> BoxFuture<'_, DriverResult<bool>> {
        async { Ok(false) }.boxed()
    }

    fn node_capacity(&self, _: ClassRequest) -> BoxFuture<'_, DriverResult<NodeResources>> {
        async { Ok(NodeResources::default()) }.boxed()
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        let name = request.class.name.to_string();
        self.call("list", name, Duration::from_mins(1), self.page(request))
    }

    fn get_volume_ids(
        &self,
        _: ProviderName,
        _: Option<DriverDigest>,
        specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        let id = |spec: &String| {
            let spec: serde_json::Value = serde_json::from_str(spec).ok()?;
            spec["csi"]["volumeHandle"].as_str().map(str::to_owned)
        };
        let ids: Vec<Option<String>> = specs.iter().map(id).collect();
        async move { Ok(ids) }.boxed()
    }

    fn validate_class(&self, _: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        async { Ok(Vec::new()) }.boxed()
    }
}
