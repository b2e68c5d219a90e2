//! The simulated cloud as the cloud of a lab.

use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use nodesim::{SimcloudSource, VmSource};

use super::{Cloud, Made};
use crate::manifests;

impl Cloud for simcloud::Server {
    const NAME: &'static str = "sim";
    const DRIVER: &'static str = "sim-driver";
    const VERSION: &'static str = "SIM_DRIVER_VERSION";
    const LARGE: (&'static str, &'static str) = ("type", "sim.large");

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

    async fn live(&self) -> Result<Vec<String>> {
        Ok(self.live_vms().into_iter().map(|vm| vm.id).collect())
    }

    async fn made(&self) -> Result<Made> {
        let stats = self.stats();
        Ok(Made { created: stats.created, duplicates: stats.duplicates_ever })
    }
}
