//! Azure, with Microsoft's own models.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use azure_cloud::{Effect, Options, Rule, Server, VirtualMachine};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{Address, Polled, PolledSource, Vm, VmSource};

use super::{Cloud, LiveVm, Made};
use crate::manifests::azure;

/// How long reads and Resource Graph of a disturbed Azure lag.
const LAG_MS: u64 = 1_500;

/// A subscription that one cluster uses.
#[derive(Clone)]
pub struct Azure(Arc<Server>);

impl Azure {
    /// A subscription with networks, and with nothing in them.
    pub fn start() -> Result<Self> {
        let server = Server::start(Options::default()).context("failed to start Azure for tests")?;
        Ok(Self(Arc::new(server)))
    }
}

impl Deref for Azure {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

impl Polled for Azure {
    fn running(&self) -> BoxFuture<'_, Result<Vec<Vm>>> {
        let live = self.cloud().virtual_machines();
        let running = live.into_iter().filter(|vm| vm.is_running).map(vm);
        std::future::ready(Ok(running.collect())).boxed()
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, Result<Vec<u8>>> {
        let found = self.cloud().virtual_machines().into_iter().find(|live| live.id == vm.id);
        let data = found.and_then(|live| live.user_data);
        std::future::ready(data.context("the VM has no custom data")).boxed()
    }
}

fn vm(live: VirtualMachine) -> Vm {
    Vm {
        provider_id: node_id(&live),
        boot_id: format!("{}-{}", live.id, live.restarts),
        // The number of a zone means another place in each location.
        zone: format!("{}-{}", live.location, live.zone),
        id: live.id,
        region: live.location,
        instance_type: live.size,
        cpus: live.cores,
        memory_gib: live.memory_gib,
        gpus: 0,
        addresses: vec![Address { kind: "InternalIP".to_owned(), address: live.address }],
        node_name: live.name,
    }
}

/// As Azure's cloud controller manager writes it, with the resource group in lower case.
fn node_id(live: &VirtualMachine) -> String {
    let VirtualMachine { subscription, group, name, .. } = live;
    let group = group.to_lowercase();
    format!(
        "azure:///subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines/{name}"
    )
}

impl Cloud for Azure {
    const NAME: &'static str = "azure";
    const DRIVER: Driver = Driver::Rust { package: "azure-driver", version: "AZURE_DRIVER_VERSION" };
    const LARGE: (&'static str, &'static str) = ("/properties/hardwareProfile/vmSize", "Standard_D4s_v5");
    /// The user knows subscription and resource group.
    const PROVIDER_ID: &'static str = "azure:///subscriptions/sub-1/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/{{ v1.local_hostname }}";

    async fn begin(_settings: &simcloud::Config) -> Result<Self> {
        Self::start()
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        Ok(Arc::new(PolledSource(self.clone())))
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        // Cloned, so that no request waits while the driver is compressed.
        let tenant = self.cloud().options.tenant.clone();
        azure::plugin(Self::NAME, component, &self.url(), &tenant)
    }

    fn secret(&self, name: &str) -> Secret {
        azure::secret(name, &self.cloud().options)
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        azure::class(name, secret, &self.cloud().options)
    }

    fn failure_domains(&self) -> Vec<String> {
        ["1", "2"].map(str::to_owned).into()
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.cloud().virtual_machines().into_iter().map(|vm| vm.name).collect())
    }

    async fn leftovers(&self) -> Result<Vec<String>> {
        let cloud = self.cloud();
        let left = cloud.resources().map(|resource| format!("{:?} {}", resource.kind, resource.name));
        Ok(left.collect())
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.cloud().virtual_machines();
        let machines = live.into_iter().map(|vm| LiveVm {
            node_id: node_id(&vm),
            id: vm.name,
            key: vm.uid,
            zone: vm.zone,
        });
        Ok(machines.collect())
    }

    fn changes_asked(&self) -> u64 {
        let cloud = self.cloud();
        let asked = |operation: &str| cloud.counts().get(operation).copied().unwrap_or_default();
        asked("virtualMachines.createOrUpdate") + asked("virtualMachines.delete")
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.cloud().created().clone())
    }

    async fn remove(&self, id: &str) -> Result<()> {
        let mut cloud = self.cloud();
        let group = cloud.options.groups.first().cloned().context("the cloud has a resource group")?;
        ensure!(cloud.remove_by_hand(&group, id), "there is no VM {id}");
        Ok(())
    }

    fn disturb(&self) -> Result<()> {
        let mut cloud = self.cloud();
        cloud.options.read_lag_ms = LAG_MS;
        cloud.options.graph_lag_ms = LAG_MS;
        let lost = Rule::always("PUT", "/virtualMachines/", Effect::LoseAnswer);
        cloud.faults.add(Rule { after: 2, every: 3, ..lost });
        Ok(())
    }

    fn heal(&self) -> Result<()> {
        let mut cloud = self.cloud();
        cloud.faults.clear();
        cloud.options.read_lag_ms = 0;
        cloud.options.graph_lag_ms = 0;
        Ok(())
    }

    async fn made(&self) -> Result<Made> {
        let cloud = self.cloud();
        Ok(Made { created: cloud.created().values().sum(), duplicates: cloud.duplicates().try_into()? })
    }
}
