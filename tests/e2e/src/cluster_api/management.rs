//! A control plane with Cluster API's programs, and Machinist's kinds for it.

use std::path::Path;

use anyhow::{Context, Result};
use cluster_api::{Managers, Programs};
use control_plane::ControlPlane;

/// Core and kubeadm bootstrap provider of a control plane. They end when this is dropped.
#[derive(Debug)]
pub struct Management {
    pub programs: Programs,
    pub managers: Managers,
}

impl Management {
    /// Builds the programs if it must, installs Cluster API and `deploy/clusterctl`, and starts the managers.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        let programs = tokio::task::spawn_blocking(cluster_api::programs).await??;
        cluster_api::install(&programs, plane).await.context("failed to install Cluster API")?;
        install_provider(plane).await?;
        cluster_api::make_movable(plane).await.context("failed to write the inventory of clusterctl")?;
        let managers = Managers::start(&programs, plane).await?;
        Ok(Self { programs, managers })
    }

    /// The last lines of the managers' logs.
    pub fn logs(&self) -> String {
        let (core, kubeadm) = (self.managers.core.log_end(), self.managers.kubeadm.log_end());
        format!("core's log ends with:\n{core}\nand the bootstrap provider's with:\n{kubeadm}")
    }
}

/// Installs the kinds, rights and policies of `deploy/clusterctl`.
pub async fn install_provider(plane: &ControlPlane) -> Result<()> {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/clusterctl");
    for folder in ["crds", "rbac"] {
        let applied = plane.apply_path(deploy.join(folder)).await;
        applied.with_context(|| format!("failed to apply deploy/clusterctl/{folder}"))?;
    }
    Ok(())
}
