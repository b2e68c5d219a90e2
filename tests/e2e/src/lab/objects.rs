//! Objects that a user creates and deletes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use machinist_api::{Machine, MachineClass};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Lab;
use crate::cloud::Cloud;
use crate::manifests::{self, NAMESPACE};
use crate::wait::eventually;

impl Lab {
    /// As [`Lab::install_driver`], with a driver that uses no idempotency keys and declares this consistency window.
    pub async fn install_driver_without_keys(&self, component: &[u8], window: Duration) -> Result<()> {
        let url = self.cloud.url();
        self.install(&manifests::plugin_without_keys("sim", component, &url, window)?).await
    }
}

impl<C: Cloud> Lab<C> {
    /// Creates the driver's ConfigMap, a Secret and the class `small`, and waits until the driver serves.
    pub async fn install_driver(&self, component: &[u8]) -> Result<()> {
        self.install(&self.cloud.plugin(component)?).await
    }

    async fn install(&self, plugin: &ConfigMap) -> Result<()> {
        self.put_plugin(plugin).await?;
        self.put_secret(&self.secret(C::NAME)?).await?;
        self.put_class(&self.cloud.class("small", C::NAME)).await?;
        self.plugin_state(C::NAME, "Ready").await
    }

    /// Creates a plugin's ConfigMap, or replaces the one that is there. A component that is larger than a ConfigMap
    /// comes in parts.
    pub async fn put_plugin(&self, map: &ConfigMap) -> Result<()> {
        for map in manifests::parts::in_parts(map) {
            self.put_config_map(&map).await?;
        }
        Ok(())
    }

    async fn put_config_map(&self, map: &ConfigMap) -> Result<()> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let name = map.metadata.name.as_deref().context("a plugin has a name")?;
        match api.create(&PostParams::default(), map).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                // As `kubectl replace` does, but for the status that the host keeps there.
                let data = map.data.clone().unwrap_or_default();
                let binary_data = map.binary_data.clone().unwrap_or_default();
                let patch = serde_json::from_value(json!([
                    { "op": "add", "path": "/data", "value": data },
                    { "op": "add", "path": "/binaryData", "value": binary_data },
                ]))?;
                api.patch(name, &PatchParams::default(), &Patch::Json::<()>(patch)).await?;
                Ok(())
            }
            Err(error) => Err(error).with_context(|| format!("failed to create ConfigMap {name}")),
        }
    }

    pub async fn put_secret(&self, secret: &Secret) -> Result<()> {
        create(&Api::namespaced(self.client.clone(), NAMESPACE), secret).await.map(drop)
    }

    pub async fn put_class(&self, class: &MachineClass) -> Result<()> {
        create(&self.classes(), class).await.map(drop)
    }

    /// Creates a Machine of a class.
    pub async fn create_machine(&self, name: &str, class: &str) -> Result<Machine> {
        create(&self.machines(), &manifests::machine(name, class)).await
    }

    pub async fn delete_machine(&self, name: &str) -> Result<()> {
        self.machines()
            .delete(name, &DeleteParams::default())
            .await
            .with_context(|| format!("failed to delete Machine {name}"))?;
        Ok(())
    }

    /// Deletes all deployments, sets and Machines, then all classes and Secrets, and checks that nothing of them is
    /// left anywhere. The error says what.
    pub async fn clear(&self) -> Result<()> {
        let everything = ListParams::default();
        self.deployments().delete_collection(&DeleteParams::default(), &everything).await?;
        self.sets().delete_collection(&DeleteParams::default(), &everything).await?;
        self.no_deployments().await?;
        self.machines().delete_collection(&DeleteParams::default(), &everything).await?;
        self.no_machines().await?;
        let vms = self.cloud.live().await?;
        ensure!(vms.is_empty(), "VMs are left: {vms:?}");
        let (nodes, tokens) = self.left_in_target().await?;
        ensure!(nodes.is_empty(), "Nodes are left: {nodes:?}");
        ensure!(tokens.is_empty(), "bootstrap tokens are left: {tokens:?}");
        self.classes().delete_collection(&DeleteParams::default(), &everything).await?;
        eventually("no class is left", async || {
            Ok(self.classes().list(&everything).await?.items.is_empty().then_some(()))
        })
        .await?;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        secrets.delete_collection(&DeleteParams::default(), &everything).await?;
        eventually("no Secret is left", async || {
            Ok(secrets.list(&everything).await?.items.is_empty().then_some(()))
        })
        .await
    }
}

/// Creates an object. The error names it.
pub(super) async fn create<K>(api: &Api<K>, object: &K) -> Result<K>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let created = api.create(&PostParams::default(), object).await;
    created.with_context(|| format!("failed to create {} {}", K::kind(&()), object.name_any()))
}
