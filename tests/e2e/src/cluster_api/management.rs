//! A control plane with Cluster API's programs, and Machinist's kinds for it.

use std::path::Path;

use anyhow::{Context, Result};
use cluster_api::{Managers, Migration, Programs};
use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::host::{Host, HostOptions};
use crate::lab::{Kinds, install};
use crate::manifests::parts::in_parts;

const CORE_ACCOUNT: &str = "system:serviceaccount:capi-system:manager";

/// Core and kubeadm bootstrap provider of a control plane. They end when this is dropped.
#[derive(Debug)]
pub struct Management {
    pub programs: Programs,
    pub managers: Managers,
}

/// Options of a control plane for Cluster API: the rights of its managers are collected from roles with labels.
pub fn plane_options() -> control_plane::Options {
    control_plane::Options {
        controllers: vec!["clusterrole-aggregation-controller".to_owned()],
        ..control_plane::Options::default()
    }
}

impl Management {
    /// Builds the programs if it must, installs Cluster API and `deploy/clusterctl`, and starts the managers.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        Self::start_with(plane, Migration::Skipped).await
    }

    /// As above, with a core that migrates its definitions, as it does after an upgrade.
    pub async fn start_migrating(plane: &ControlPlane) -> Result<Self> {
        Self::start_with(plane, Migration::Done).await
    }

    async fn start_with(plane: &ControlPlane, migration: Migration) -> Result<Self> {
        let programs = tokio::task::spawn_blocking(cluster_api::programs).await??;
        cluster_api::install(&programs, plane).await.context("failed to install Cluster API")?;
        install_provider(plane).await?;
        cluster_api::make_movable(plane).await.context("failed to write the inventory of clusterctl")?;
        for resource in [
            "infrastructure.machinist.dev/machinistclusters",
            "controlplane.machinist.dev/externalcontrolplanes",
        ] {
            plane.wait_until_allowed(CORE_ACCOUNT, &[], "list", resource).await?;
        }
        let managers = Managers::start(&programs, plane, migration).await?;
        Ok(Self { programs, managers })
    }

    /// The last lines of the managers' logs.
    pub fn logs(&self) -> String {
        let (core, kubeadm) = (self.managers.core.log_end(), self.managers.kubeadm.log_end());
        format!("core's log ends with:\n{core}\nand the bootstrap provider's with:\n{kubeadm}")
    }
}

/// Another management cluster: a control plane with Cluster API's programs and a host. All ends when this is dropped.
pub struct Elsewhere {
    pub host: Host,
    pub management: Management,
    pub plane: ControlPlane,
}

impl Elsewhere {
    /// Starts it with this plugin.
    pub async fn start(plugin: &ConfigMap) -> Result<Self> {
        let plane = ControlPlane::start(plane_options()).await?;
        let kubeconfig = install(&plane, Kinds::Own).await?;
        let management = Management::start(&plane).await?;
        let folder = plane.folder().join("machinist");
        std::fs::create_dir(&folder)?;
        let flags = ["--log", "info,machinist_runtime=debug", "--cluster-api=*"];
        let options = HostOptions {
            kubeconfig,
            cache: folder.join("cache"),
            log: folder.join("host.log"),
            flags: flags.map(str::to_owned).into(),
        };
        let host = Host::start_ready(&options).await?;
        for map in in_parts(plugin) {
            plane.apply(&serde_json::to_string(&typed(&map)?)?).await?;
        }
        Ok(Self { host, management, plane })
    }
}

/// The credentials of a cloud, as a Secret's `stringData`: without the user data, which Cluster API gives.
pub fn credentials(cloud: &impl Cloud) -> Result<Value> {
    let mut credentials = serde_json::Map::new();
    for (key, value) in cloud.secret("account").data.unwrap_or_default() {
        if key != "userData" {
            credentials.insert(key, Value::String(String::from_utf8(value.0)?));
        }
    }
    Ok(Value::Object(credentials))
}

/// With its kind, which the type has and its JSON lacks.
fn typed(plugin: &ConfigMap) -> Result<Value> {
    let mut object = serde_json::to_value(plugin)?;
    object["apiVersion"] = json!("v1");
    object["kind"] = json!("ConfigMap");
    Ok(object)
}

/// Installs the kinds, rights and policies of `deploy/clusterctl`.
pub async fn install_provider(plane: &ControlPlane) -> Result<()> {
    install_folders(plane, &["crds", "rbac", "policies"]).await
}

/// Installs these folders of `deploy/clusterctl`.
pub async fn install_folders(plane: &ControlPlane, folders: &[&str]) -> Result<()> {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/clusterctl");
    for folder in folders {
        let applied = plane.apply_path(deploy.join(folder)).await;
        applied.with_context(|| format!("failed to apply deploy/clusterctl/{folder}"))?;
    }
    Ok(())
}
