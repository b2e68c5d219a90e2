//! The kubelets of a lab, simulated or real.

use std::sync::Arc;

use anyhow::{Context, Result};
use control_plane::ControlPlane;
use futures::future::BoxFuture;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use nodesim::{NodeSim, RealKubelets, Target, Timing, VmEvent, VmSource, Workloads};
use tokio::sync::mpsc;

use super::Lab;
use crate::cloud::Cloud;

/// The mark that the host replaces by the bootstrap token of a Machine.
const TOKEN_MARK: &str = "<<BOOTSTRAP_TOKEN>>";
/// The label that the real kubelets of a lab register with.
const LABELS: &str = "--node-labels=joined=by-tls-bootstrap";

impl<C: Cloud> Lab<C> {
    /// The Secret of the lab's cloud. Where kubelets are real, its user data is what these join with.
    pub fn secret(&self, name: &str) -> Result<Secret> {
        let mut secret = self.cloud.secret(name);
        if self.real.is_some() {
            let kubeconfig = self.plane.bootstrap_kubeconfig(TOKEN_MARK)?;
            let user_data = nodesim::joining_user_data(&kubeconfig, C::PROVIDER_ID, LABELS);
            let data = secret.data.get_or_insert_default();
            data.insert("userData".to_owned(), ByteString(user_data.into_bytes()));
        }
        Ok(secret)
    }
}

/// Simulated kubelets of these VMs.
pub(super) fn simulated(
    plane: &ControlPlane,
    vms: Arc<dyn VmSource>,
    timing: Timing,
    workloads: Option<Workloads>,
) -> Result<NodeSim> {
    let mut config = nodesim::Config::new(Target::Kubeconfig(plane.nodesim_kubeconfig()));
    config.timing = timing;
    config.workloads = workloads;
    NodeSim::start(config, vms).context("failed to start the kubelets")
}

/// Real kubelets of these VMs.
pub(super) async fn real(vms: Arc<dyn VmSource>) -> Result<RealKubelets> {
    let started = tokio::task::spawn_blocking(|| RealKubelets::start(vms)).await;
    started.context("the builder panicked")?.context("failed to start the kubelets")
}

/// A cloud without VMs.
pub(super) fn no_vms() -> Arc<dyn VmSource> {
    Arc::new(NoVms)
}

struct NoVms;

impl VmSource for NoVms {
    fn follow(self: Arc<Self>, events: mpsc::Sender<VmEvent>) -> BoxFuture<'static, ()> {
        Box::pin(async move { events.closed().await })
    }

    fn user_data<'a>(&'a self, vm: &'a nodesim::Vm) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move { anyhow::bail!("there is no VM {}", vm.id) })
    }
}
