//! Google Compute Engine, with requests and answers that Google's discovery document types.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use ::gcp::test_key::TestAccount;
use ::gcp::{Config, Effect, LiveInstance, Rule, Server};
use anyhow::{Context, Result, ensure};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{Address, Polled, PolledSource, Vm, VmSource};

use super::{Cloud, LiveVm, Made};
use crate::manifests::gcp;

/// How long a disturbed Google works on an instance, and how long reads do not show it.
const LAG_MS: u64 = 1_500;

/// A project that one cluster uses.
#[derive(Clone)]
pub struct Gcp {
    server: Arc<Server>,
    account: TestAccount,
}

impl Gcp {
    /// A project with nothing in it, and a service account that may use it.
    pub fn start() -> Result<Self> {
        let config = Config::default();
        let account = TestAccount::make(&config.project)?;
        let server = Server::start(config).context("failed to start Google Compute Engine for tests")?;
        server.cloud().identity.add_account(&account.email, &account.public_key);
        Ok(Self { server: Arc::new(server), account })
    }
}

impl Deref for Gcp {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Polled for Gcp {
    fn running(&self) -> BoxFuture<'_, Result<Vec<Vm>>> {
        let live = self.cloud().live_instances();
        let running = live.into_iter().filter(|instance| instance.is_running).map(vm);
        std::future::ready(Ok(running.collect())).boxed()
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, Result<Vec<u8>>> {
        let found = self.cloud().live_instances().into_iter().find(|instance| instance.id == vm.id);
        let data = found.and_then(|instance| instance.user_data).map(String::into_bytes);
        std::future::ready(data.context("the instance has no user data")).boxed()
    }
}

fn vm(instance: LiveInstance) -> Vm {
    let region = instance.zone.rsplit_once('-').map_or(instance.zone.as_str(), |(region, _)| region);
    Vm {
        provider_id: node_id(&instance),
        boot_id: format!("{}-{}", instance.id, instance.resets),
        region: region.to_owned(),
        id: instance.id,
        zone: instance.zone,
        instance_type: instance.machine_type,
        cpus: instance.cores,
        memory_gib: instance.memory_gib,
        gpus: 0,
        addresses: vec![Address { kind: "InternalIP".to_owned(), address: instance.address }],
        node_name: instance.name,
    }
}

/// As Google's cloud controller manager writes it.
fn node_id(instance: &LiveInstance) -> String {
    format!("gce://{}/{}", instance.project, place(instance))
}

/// Zone and name, as the driver's ids have them: a name alone is unique in its zone only.
fn place(instance: &LiveInstance) -> String {
    format!("{}/{}", instance.zone, instance.name)
}

impl Cloud for Gcp {
    const NAME: &'static str = "gcp";
    const DRIVER: Driver = Driver::Rust { package: "gcp-driver", version: "GCP_DRIVER_VERSION" };
    const LARGE: (&'static str, &'static str) = ("/machineType", "n2-standard-4");
    /// No variable of cloud-init has the project, which the user knows.
    const PROVIDER_ID: &'static str =
        "gce://machinist-lab/{{ v1.availability_zone }}/{{ v1.local_hostname }}";

    async fn begin(_settings: &simcloud::Config) -> Result<Self> {
        Self::start()
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        Ok(Arc::new(PolledSource(self.clone())))
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        gcp::plugin(Self::NAME, component, &self.url(), &self.account.project)
    }

    fn secret(&self, name: &str) -> Secret {
        gcp::secret(name, &self.account)
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        gcp::class(name, secret)
    }

    fn failure_domains(&self) -> Vec<String> {
        ["europe-west1-b", "europe-west1-c"].map(str::to_owned).into()
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.cloud().live_instances().iter().map(place).collect())
    }

    async fn leftovers(&self) -> Result<Vec<String>> {
        Ok(self.cloud().leftovers())
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.cloud().live_instances();
        let machines = live.into_iter().map(|instance| LiveVm {
            id: place(&instance),
            node_id: node_id(&instance),
            key: instance.uid,
            zone: instance.zone,
        });
        Ok(machines.collect())
    }

    fn changes_asked(&self) -> u64 {
        let is_change = |(method, _): &&(String, u16)| {
            ["instances.insert", "instances.delete"].contains(&method.as_str())
        };
        self.cloud().journal.iter().filter(is_change).count().try_into().unwrap_or(u64::MAX)
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        let created = self.cloud().created.clone();
        let mut made = BTreeMap::new();
        for (uid, count) in created {
            made.insert(uid, u64::try_from(count)?);
        }
        Ok(made)
    }

    async fn remove(&self, id: &str) -> Result<()> {
        let (zone, name) = id.split_once('/').context("an id is a zone and a name")?;
        ensure!(self.cloud().remove_by_hand(zone, name), "there is no instance {id}");
        Ok(())
    }

    fn disturb(&self) -> Result<()> {
        let mut cloud = self.cloud();
        cloud.config.operation_ms = LAG_MS;
        cloud.config.read_lag_ms = LAG_MS;
        cloud.faults.add(Rule::every("instances.insert", 3, Effect::LostAnswer));
        Ok(())
    }

    fn heal(&self) -> Result<()> {
        let calm = Config::default();
        let mut cloud = self.cloud();
        cloud.faults.clear();
        cloud.config.operation_ms = calm.operation_ms;
        cloud.config.read_lag_ms = calm.read_lag_ms;
        Ok(())
    }

    async fn made(&self) -> Result<Made> {
        let duplicates = self.cloud().duplicates().try_into()?;
        Ok(Made { created: self.made_by_key()?.values().sum(), duplicates })
    }
}
