//! Debian's LXD with real containers.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::lxd::{DEBIAN, Effect, LiveInstance, Options, Rule, SMALL};
use anyhow::{Context, Result};
use futures::future::BoxFuture;
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{Address, Polled, PolledSource, Vm, VmSource};

use super::{Cloud, LiveVm, Made};
use crate::manifests::lxd;

/// Before each look at the containers: a listing costs LXD a few milliseconds for each of them.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// The folder of the program that the unit `kubelet` of the image runs.
const KUBELET_FOLDER: &str = "/opt/kubelet";

/// An LXD that one cluster uses.
///
/// With `BOOTS` its containers are of Debian: systemd boots them, cloud-init runs their user data, which starts a
/// kubelet in each. Without it they run one program, and their kubelets are simulated.
#[derive(Clone)]
pub struct Lxd<const BOOTS: bool>(Arc<::lxd::Lxd>);

impl<const BOOTS: bool> Lxd<BOOTS> {
    /// Starts the daemon in seconds. Where a package or the images are missing, the error names the command to run.
    pub async fn start() -> Result<Self> {
        let options = Options { has_debian: BOOTS, ..Options::default() };
        Ok(Self(Arc::new(::lxd::Lxd::start_prepared(options).await?)))
    }
}

impl<const BOOTS: bool> Deref for Lxd<BOOTS> {
    type Target = ::lxd::Lxd;

    fn deref(&self) -> &::lxd::Lxd {
        &self.0
    }
}

impl<const BOOTS: bool> Polled for Lxd<BOOTS> {
    fn running(&self) -> BoxFuture<'_, Result<Vec<Vm>>> {
        Box::pin(async move {
            tokio::time::sleep(LOOK_PAUSE).await;
            // Containers that boot need no kubelets beside their own.
            if BOOTS {
                return Ok(Vec::new());
            }
            let live = self.0.live_instances().await?;
            Ok(live.into_iter().filter(|instance| instance.is_running).map(vm).collect())
        })
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let found = self.0.live_instances().await?.into_iter().find(|instance| instance.name == vm.id);
            Ok(found.context("the container is gone")?.user_data.into_bytes())
        })
    }
}

fn vm(instance: LiveInstance) -> Vm {
    Vm {
        provider_id: node_id(&instance),
        boot_id: instance.boot_id,
        id: instance.name.clone(),
        region: instance.zone.clone(),
        zone: instance.zone,
        instance_type: instance.kind,
        cpus: instance.cores,
        memory_gib: instance.memory_gib,
        gpus: 0,
        addresses: vec![Address { kind: "Hostname".to_owned(), address: instance.name.clone() }],
        node_name: instance.name,
    }
}

/// LXD has no cloud controller manager: its kubelets are started with the driver's own id.
fn node_id(instance: &LiveInstance) -> String {
    format!("lxd:///{}/{}", instance.project, instance.name)
}

impl<const BOOTS: bool> Cloud for Lxd<BOOTS> {
    const NAME: &'static str = "lxd";
    const DRIVER: Driver = Driver::JavaScript { folder: "plugins/lxd" };
    const LARGE: (&'static str, &'static str) = ("/config/limits.memory", "1GiB");
    const PROVIDER_ID: &'static str = "lxd:///default/{{ v1.instance_id }}";
    const BOOTS: bool = BOOTS;

    async fn begin(_settings: &simcloud::Config) -> Result<Self> {
        Self::start().await
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        Ok(Arc::new(PolledSource(self.clone())))
    }

    async fn connect(&self, api_server: &str) -> Result<()> {
        if !BOOTS {
            return Ok(());
        }
        let port = api_server.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        self.0.pass_port(port.context("the address of an API server ends with a port")?).await?;
        let built = tokio::task::spawn_blocking(control_plane::build::kubelet).await;
        let program = built.context("the builder panicked")??;
        let folder = program.parent().and_then(Path::to_str).context("the kubelet is in no folder")?;
        self.0.pass_folder("kubelet", folder, KUBELET_FOLDER).await
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        lxd::plugin(Self::NAME, component, &self.0.url())
    }

    fn secret(&self, name: &str) -> Secret {
        lxd::secret(name)
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        lxd::class(name, secret, if BOOTS { DEBIAN } else { SMALL })
    }

    /// One alone: this LXD is a cluster of one member.
    fn failure_domains(&self) -> Vec<String> {
        Options::default().member.into_iter().collect()
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.0.live_instances().await?.into_iter().map(|instance| instance.name).collect())
    }

    async fn leftovers(&self) -> Result<Vec<String>> {
        self.0.leftovers().await
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.0.live_instances().await?.into_iter().map(|instance| LiveVm {
            node_id: node_id(&instance),
            id: instance.name,
            key: instance.uid,
            zone: instance.zone,
        });
        Ok(live.collect())
    }

    fn changes_asked(&self) -> u64 {
        let is_change = |entry: &&::lxd::Entry| ["create", "delete"].contains(&entry.action);
        self.0.journal().iter().filter(is_change).count().try_into().unwrap_or(u64::MAX)
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.0.created())
    }

    async fn remove(&self, id: &str) -> Result<()> {
        self.0.remove_by_hand(id).await
    }

    fn disturb(&self) -> Result<()> {
        self.0.set_lag(Duration::from_millis(1_500));
        self.0.faults().add(Rule::new(Effect::LostAnswer).on("create").every(3));
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
