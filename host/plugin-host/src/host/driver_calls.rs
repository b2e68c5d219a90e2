//! The calls of drivers, as functions of the host.

use machinist_core::driver::{
    ClassRequest, ClassSpec, Creation, Deletion, DriverResult, ListRequest, MachineRequest, NodeResources,
    Page, SecretValues, Vm,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ProviderId, ProviderName};

use super::PluginHost;
use super::dispatch::Target;
use crate::calls::convert;
use crate::calls::exports as ask;
use crate::registry::canary::Caller;
use crate::sources;

impl PluginHost {
    pub async fn list(&self, request: ListRequest) -> DriverResult<Page> {
        let target = Target::of(&request.class, None, Some(&request.secrets));
        self.inner().dispatch(target, ask::List(request)).await
    }

    pub async fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        volume_specs: Vec<String>,
    ) -> DriverResult<Vec<Option<String>>> {
        let target =
            Target { provider, pin: pin.map(sources::of_core), caller: Caller::default(), plugins: None };
        self.inner().dispatch(target, ask::GetVolumeIds(volume_specs)).await
    }

    /// `node-id`: the id that the Node of `vm` has. The driver gets no secrets.
    pub async fn node_id(&self, mut request: MachineRequest, vm: Vm) -> DriverResult<ProviderId> {
        request.secrets = SecretValues::default();
        let target = Target::of(&request.class, Some(&request.machine), None);
        let vm = convert::vm_record(&vm);
        self.inner().dispatch(target, ask::NodeId { request, vm }).await
    }

    /// `placement`: the `providerSpec` of the request's class in this failure domain. The driver gets no secrets.
    pub async fn place(
        &self,
        mut request: MachineRequest,
        failure_domain: FailureDomain,
    ) -> DriverResult<String> {
        request.secrets = SecretValues::default();
        let target = Target::of(&request.class, Some(&request.machine), None);
        let failure_domain = failure_domain.to_string();
        self.inner().dispatch(target, ask::Place { request, failure_domain }).await
    }

    /// `interruption`: whether the cloud may take VMs of the request's class away. The driver gets no secrets.
    pub async fn is_interruptible(&self, mut request: MachineRequest) -> DriverResult<bool> {
        request.secrets = SecretValues::default();
        let target = Target::of(&request.class, Some(&request.machine), None);
        self.inner().dispatch(target, ask::IsInterruptible { request }).await
    }

    /// `capacity`: the resources of a Node of a class.
    pub async fn node_capacity(&self, request: ClassRequest) -> DriverResult<NodeResources> {
        let target = Target::of(&request.class, None, Some(&request.secrets));
        self.inner().dispatch(target, ask::NodeCapacity(request)).await
    }

    pub async fn validate_class(&self, class: ClassSpec) -> DriverResult<Vec<String>> {
        self.inner().dispatch(Target::of(&class, None, None), ask::ValidateClass(class)).await
    }
}

/// The calls about a Machine.
macro_rules! machine_calls {
    ($($(#[$doc:meta])* $call:ident($($extra:ident: $type:ty),*) -> $answer:ty = $ask:ident;)+) => {
        impl PluginHost {
            $($(#[$doc])* pub async fn $call(&self, request: MachineRequest $(, $extra: $type)*) -> DriverResult<$answer> {
                let target = Target::of(&request.class, Some(&request.machine), Some(&request.secrets));
                self.inner().dispatch(target, ask::$ask { request $(, $extra: $extra.to_string())* }).await
            })+
        }
    };
}

machine_calls! {
    create() -> Creation = Create;
    initialize() -> Vm = Initialize;
    delete() -> Deletion = Delete;
    get_status() -> Vm = GetStatus;
    reboot() -> () = Reboot;
    /// `delete-by-id`: removes `vm`, and leaves the one that the request names.
    delete_by_id(vm: ProviderId) -> () = DeleteById;
}
