//! The simulated cloud as the cloud of a lab.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use guests::Driver;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{SimcloudSource, VmSource};
use simcloud::{Effect, EventKind, Faults, Match, Rule};

use super::{Cloud, LiveVm, Made};
use crate::manifests;

/// The tag that names the machine that a VM is for.
const UID_TAG: &str = "machine-uid";

impl Cloud for simcloud::Server {
    const NAME: &'static str = "sim";
    const DRIVER: Driver = Driver::Rust { package: "sim-driver", version: "SIM_DRIVER_VERSION" };
    const LARGE: (&'static str, &'static str) = ("/type", "sim.large");
    const PROVIDER_ID: &'static str = "sim:///{{ v1.availability_zone }}/{{ v1.instance_id }}";

    async fn begin(settings: &simcloud::Config) -> Result<Self> {
        Self::start(settings.clone()).context("failed to start the cloud")
    }

    fn vm_source(&self) -> Result<Arc<dyn VmSource>> {
        Ok(Arc::new(SimcloudSource::new(&self.url(), self.admin_token())?))
    }

    fn plugin(&self, component: &[u8]) -> Result<ConfigMap> {
        manifests::plugin(Self::NAME, component, &self.url())
    }

    fn secret(&self, name: &str) -> Secret {
        manifests::secret(name, self.token())
    }

    fn class(&self, name: &str, secret: &str) -> MachineClass {
        manifests::class(name, secret)
    }

    fn failure_domains(&self) -> Vec<String> {
        ["sim-1a", "sim-1b"].map(str::to_owned).into()
    }

    async fn live_machines(&self) -> Result<Vec<LiveVm>> {
        let live = self.live_vms().into_iter().map(|vm| LiveVm {
            key: vm.tags.get(UID_TAG).cloned().unwrap_or_default(),
            node_id: format!("sim:///{}/{}", vm.zone, vm.id),
            zone: vm.zone,
            id: vm.id,
        });
        Ok(live.collect())
    }

    fn changes_asked(&self) -> u64 {
        let stats = self.stats();
        ["vm.create", "vm.delete"].map(|operation| stats.calls_of(operation)).iter().sum()
    }

    fn made_by_key(&self) -> Result<BTreeMap<String, u64>> {
        let (mut made, mut since) = (BTreeMap::new(), 0);
        loop {
            let changes = self.with(|cloud, _| cloud.changes(Some(since)));
            for event in &changes.events {
                match (event.kind, &event.vm) {
                    (EventKind::Created, Some(vm)) => {
                        let key = vm.tags.get(UID_TAG).cloned().unwrap_or_default();
                        *made.entry(key).or_default() += 1;
                    }
                    (EventKind::Reset, _) => bail!("the cloud's journal is too short for this test"),
                    _ => {}
                }
            }
            if changes.next == since {
                let (counted, created): (u64, u64) = (made.values().sum(), self.stats().created);
                ensure!(counted == created, "the journal has {counted} creations of {created}");
                return Ok(made);
            }
            since = changes.next;
        }
    }

    async fn remove(&self, id: &str) -> Result<()> {
        self.kill_vm(id).map_err(|error| anyhow!("{error:?}"))
    }

    fn disturb(&self) -> Result<()> {
        let matches = Match {
            method: Some("POST".to_owned()),
            path: Some("/v1/vms".to_owned()),
            probability: Some(0.33),
            ..Match::default()
        };
        let lost = Effect::Timeout { after_commit: true, hold_ms: 50 };
        let rules = vec![Rule { name: Some("lost".to_owned()), matches, effect: lost }];
        let faults = Faults { rules, read_lag_ms: 1_500, ..Faults::default() };
        self.set_faults(faults).map_err(|error| anyhow!("{error:?}"))
    }

    fn heal(&self) -> Result<()> {
        self.clear_faults();
        Ok(())
    }

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.live_vms().into_iter().map(|vm| vm.id).collect())
    }

    async fn made(&self) -> Result<Made> {
        let stats = self.stats();
        Ok(Made { created: stats.created, duplicates: stats.duplicates_ever })
    }
}
