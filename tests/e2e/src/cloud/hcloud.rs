//! Hetzner Cloud, with the types of its published API.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use guests::Driver;
use hetzner::{Effect, Hetzner, LiveServer, Options, Rule};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{Address, Polled, PolledSource, Vm, VmSource};

use super::{Cloud, LiveVm, Made};
use crate::manifests::hcloud;

/// How long Hetzner works on a server here.
const ACTION_TIME: Duration = Duration::from_millis(200);

/// A project of Hetzner Cloud that one cluster uses.
#[derive(Clone)]
pub struct Hcloud(Arc<Hetzner>);

impl Hcloud {
    /// A project with nothing in it.
    pub fn start() -> Result<Self> {
        let options = Options { action_time: ACTION_TIME, ..Options::default() };
        Ok(Self(Arc::new(Hetzner::start(options)?)))
    }
}

impl Deref for Hcloud {
    type Target = Hetzner;

    fn deref(&self) -> &Hetzner {
        &self.0
    }
}

impl Polled for Hcloud {
    fn running(&self) -> BoxFuture<'_, Result<Vec<Vm>>> {
        let running = self.servers().into_iter().filter(|server| server.is_running).map(vm);
        std::future::ready(Ok(running.collect())).boxed()
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, Result<Vec<u8>>> {
        let data = self.0.user_data(&vm.node_name).map(String::into_bytes);
        std::future::ready(data.context("the server has no user data")).boxed()
    }
}

fn vm(server: LiveServer) -> Vm {
    Vm {
        id: server.id.to_string(),
        provider_id: node_id(&server),
        region: server.location.clone(),
        zone: server.location,
        instance_type: server.server_type,
        cpus: server.cores,
        memory_gib: server.memory_gib,
        gpus: 0,
        addresses: vec![Address { kind: "InternalIP".to_owned(), address: server.address }],
        boot_id: format!("{}-{}", server.id, server.resets),
        node_name: server.name,
    }
}

/// As Hetzner's cloud controller manager writes it.
fn node_id(server: &LiveServer) -> String {
    format!("hcloud://{}", server.id)
}

impl Cloud for Hcloud {
    const NAME: &'static str = "hcloud";
    const DRIVER: Driver = Driver::Go { folder: "plugins/hcloud" };
    const LARGE: (&'static str, &'static str) = ("/serverType", "cx33");
    const PROVIDER_ID: &'static str = "hcloud://{{ v1.instance_id }}";

    async fn begin(_settings: &simcloud::Config) -> Result<Self> {
        Self::start()
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        Ok(Arc::new(PolledSource(self.clone())))
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        hcloud::plugin(Self::NAME, component, &self.url())
    }

    fn secret(&self, name: &str) -> Secret {
        hcloud::secret(name, self.token())
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        hcloud::class(name, secret)
    }

    fn failure_domains(&self) -> Vec<String> {
        ["hel1", "nbg1"].map(str::to_owned).into()
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.servers().into_iter().map(|server| server.id.to_string()).collect())
    }

    async fn leftovers(&self) -> Result<Vec<String>> {
        let left = self.0.leftovers();
        Ok(left.servers.into_iter().chain(left.floating_ips).collect())
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.servers().into_iter().map(|server| LiveVm {
            id: server.id.to_string(),
            node_id: node_id(&server),
            key: server.uid,
            zone: server.location,
        });
        Ok(live.collect())
    }

    fn changes_asked(&self) -> u64 {
        let is_change = |entry: &&hetzner::Entry| {
            entry.path.starts_with("/v1/servers") && ["POST", "DELETE"].contains(&entry.method.as_str())
        };
        self.journal().iter().filter(is_change).count().try_into().unwrap_or(u64::MAX)
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.created())
    }

    async fn remove(&self, id: &str) -> Result<()> {
        let id = id.parse().context("an id of a server is a number")?;
        ensure!(self.remove_by_hand(id), "server {id} cannot be deleted");
        Ok(())
    }

    fn disturb(&self) -> Result<()> {
        self.set_lag(Duration::from_millis(1_500));
        self.add(Rule::new(Effect::LostAnswer).on("POST", "/v1/servers").every(3));
        Ok(())
    }

    fn heal(&self) -> Result<()> {
        self.calm();
        self.set_lag(Duration::ZERO);
        Ok(())
    }

    async fn made(&self) -> Result<Made> {
        let duplicates = self.duplicates().try_into()?;
        Ok(Made { created: self.created().values().sum(), duplicates })
    }
}
