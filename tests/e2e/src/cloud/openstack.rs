//! OpenStack: the released services.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use ::openstack::{Effect, LiveServer, Openstack, Options, Rule};
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{Address, Polled, PolledSource, Vm, VmSource};

use super::{Cloud, LiveVm, Made};
use crate::manifests::openstack;

/// Before each look at the servers: a listing costs Nova and Neutron a tenth of a second of a core each.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Requests that create or delete servers.
const CHANGES: [&str; 2] = ["POST compute/servers", "DELETE compute/servers/*"];

/// An OpenStack with a project that one cluster uses.
#[derive(Clone)]
pub struct OpenStack(Arc<Openstack>);

impl OpenStack {
    /// Starts the services in half a minute. Where they are not installed, the error names the command that does it.
    pub async fn start() -> Result<Self> {
        Ok(Self(Arc::new(Openstack::start_prepared(Options::default()).await?)))
    }
}

impl Deref for OpenStack {
    type Target = Openstack;

    fn deref(&self) -> &Openstack {
        &self.0
    }
}

impl Polled for OpenStack {
    fn running(&self) -> BoxFuture<'_, Result<Vec<Vm>>> {
        Box::pin(async move {
            tokio::time::sleep(LOOK_PAUSE).await;
            let region = &self.0.facts().region;
            let servers = self.0.servers().await?;
            Ok(servers
                .into_iter()
                .filter(|server| server.is_running)
                .map(|server| vm(region, server))
                .collect())
        })
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let found = self.0.servers().await?.into_iter().find(|server| server.id == vm.id);
            let server = found.context("the server is gone")?;
            STANDARD.decode(server.user_data).context("Nova's user data is no base64")
        })
    }
}

fn vm(region: &str, server: LiveServer) -> Vm {
    Vm {
        provider_id: node_id(&server.id),
        boot_id: format!("{}-{}", server.id, server.resets),
        id: server.id,
        node_name: server.name,
        region: region.to_owned(),
        zone: server.zone,
        instance_type: server.flavor,
        cpus: server.cores,
        memory_gib: server.memory_gib,
        gpus: 0,
        addresses: vec![Address { kind: "InternalIP".to_owned(), address: server.address }],
    }
}

/// As OpenStack's cloud controller manager writes it.
fn node_id(server: &str) -> String {
    format!("openstack:///{server}")
}

impl Cloud for OpenStack {
    const NAME: &'static str = "openstack";
    const DRIVER: Driver = Driver::Go { folder: "plugins/openstack" };
    const LARGE: (&'static str, &'static str) = ("/spec/flavorName", "m1.medium");
    const PROVIDER_ID: &'static str = "openstack:///{{ v1.instance_id }}";

    async fn begin(_settings: &simcloud::Config) -> Result<Self> {
        Self::start().await
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        Ok(Arc::new(PolledSource(self.clone())))
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        openstack::plugin(Self::NAME, component, &self.0.url())
    }

    fn secret(&self, name: &str) -> Secret {
        openstack::secret(name, &self.0.url(), self.0.facts())
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        openstack::class(name, secret, self.0.facts())
    }

    /// One alone: this OpenStack has one compute host.
    fn failure_domains(&self) -> Vec<String> {
        vec!["nova".to_owned()]
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.0.servers().await?.into_iter().map(|server| server.id).collect())
    }

    async fn leftovers(&self) -> Result<Vec<String>> {
        let left = self.0.leftovers().await?;
        let kinds = [("server", left.servers), ("port", left.ports), ("volume", left.volumes)];
        let named = |(kind, ids): (&str, Vec<String>)| -> Vec<String> {
            ids.into_iter().map(|id| format!("{kind} {id}")).collect()
        };
        Ok(kinds.into_iter().flat_map(named).collect())
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.0.servers().await?.into_iter().map(|server| LiveVm {
            node_id: node_id(&server.id),
            id: server.id,
            key: server.uid,
            zone: server.zone,
        });
        Ok(live.collect())
    }

    fn changes_asked(&self) -> u64 {
        let counts = self.0.counts();
        let asked: usize = CHANGES.iter().filter_map(|action| counts.get(*action)).sum();
        asked.try_into().unwrap_or(u64::MAX)
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.0.created())
    }

    async fn remove(&self, id: &str) -> Result<()> {
        self.0.remove_by_hand(id).await
    }

    fn disturb(&self) -> Result<()> {
        self.0.set_lag(Duration::from_millis(1_500));
        self.0.faults().add(Rule::new(Effect::LostAnswer).on("POST compute/servers").share(0.33, 1));
        Ok(())
    }

    fn heal(&self) -> Result<()> {
        self.0.faults().clear();
        self.0.set_lag(Duration::ZERO);
        Ok(())
    }

    async fn made(&self) -> Result<Made> {
        Ok(Made { created: self.0.created().values().sum(), duplicates: self.0.duplicates() })
    }
}
