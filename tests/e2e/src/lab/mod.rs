//! Control plane, cloud, kubelets and host, started in order and taken down in order.
//!
//! | module | content |
//! | --- | --- |
//! | `objects` | creates and deletes objects, as a user does |
//! | `look` | queries and waits of a user |
//! | `deployments` | MachineDeployments as a user works with them |
//! | `workloads` | pods, budgets and volumes of a lab with workloads |
//! | `kubelets` | the kubelets of a lab, simulated or real |
//! | `compiled` | drivers that the hosts of earlier labs have compiled |

mod compiled;
mod deployments;
mod kubelets;
mod look;
mod objects;
mod workloads;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use control_plane::ControlPlane;
use kube::{Api, Client};
use machinist_api::{Machine, MachineClass};
use nodesim::{NodeSim, PodTiming, RealKubelets, Timing, VmSource, VolumeTiming, Workloads};
use serde_json::Value;

use crate::cloud::Cloud;
use crate::host::{Host, HostOptions};
use crate::manifests::NAMESPACE;

use compiled::Compiled;

pub use deployments::is_complete;

/// The parts of a lab.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Of the control plane. Where it authorises Nodes, real kubelets join, which run no simulated workloads.
    pub plane: control_plane::Options,
    /// Of the simulated cloud. A lab with another cloud does not look at it.
    pub cloud: simcloud::Config,
    /// When kubelets do what.
    pub kubelets: Timing,
    /// Which definitions of the kinds are installed.
    pub kinds: Kinds,
    /// With it, kubelets run pods, and volumes are attached and detached.
    pub workloads: Option<Workloads>,
}

impl LabOptions {
    /// A lab in which workloads work. Pods end a moment after SIGTERM, volumes move in a moment.
    pub fn with_workloads() -> Self {
        const MOMENT: Duration = Duration::from_millis(200);
        let workloads = Workloads {
            pods: PodTiming { start: MOMENT, exit: Some(MOMENT) },
            volumes: VolumeTiming { attach: MOMENT, detach: MOMENT },
        };
        Self {
            plane: control_plane::Options::with_workloads(),
            workloads: Some(workloads),
            ..Self::default()
        }
    }

    /// A lab whose VMs have real kubelets, which join by TLS bootstrap with nothing but their user data. A Node whose
    /// kubelet is gone becomes unreachable.
    pub fn with_real_kubelets() -> Self {
        let plane = control_plane::Options {
            node_lifecycle: true,
            ..control_plane::Options::with_node_authorization()
        };
        Self { plane, ..Self::default() }
    }
}

/// Definitions of the four kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    Own,
    /// Those of `deploy/crds` without their rules: the API server lets everything through that has the right shape, as
    /// it does with objects that were stored before there were rules.
    OwnWithoutRules,
    /// Those that a cluster has where machine-controller-manager was before.
    Known,
}

impl Kinds {
    async fn install(self, plane: &ControlPlane, here: &Path) -> Result<()> {
        let own = here.join("../../deploy/crds");
        match self {
            Self::Own => drop(plane.apply_path(own).await?),
            Self::Known => drop(plane.apply_path(here.join("src/manifests/mcm-crds")).await?),
            Self::OwnWithoutRules => {
                for entry in std::fs::read_dir(&own)? {
                    let text = std::fs::read_to_string(entry?.path())?;
                    let mut definition: Value = serde_yaml_ng::from_str(&text)?;
                    remove_rules(&mut definition);
                    plane.apply(&definition.to_string()).await?;
                }
            }
        }
        Ok(())
    }
}

fn remove_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(remove_rules);
        }
        Value::Array(all) => all.iter_mut().for_each(remove_rules),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            plane: control_plane::Options::without_controller_manager(),
            cloud: simcloud::Config::default(),
            kubelets: Timing::default(),
            kinds: Kinds::Own,
            workloads: None,
        }
    }
}

/// A running lab. The fields end in the order in which they stand.
pub struct Lab<C = simcloud::Server> {
    /// The simulated kubelets; without VMs where these have real ones.
    pub nodes: NodeSim,
    /// The real kubelets, where the control plane authorises Nodes.
    pub real: Option<RealKubelets>,
    pub cloud: C,
    pub client: Client,
    /// Code that its hosts compile.
    _compiled: Compiled,
    /// etcd, kube-apiserver, and kube-controller-manager if asked for.
    pub plane: ControlPlane,
    kubeconfig: PathBuf,
    hosts: AtomicU32,
    /// Of the hosts. It goes with the control plane's, in which it is, also when this process is killed.
    folder: PathBuf,
}

impl Lab {
    /// Starts everything but the host around a simulated cloud, and installs `deploy/` as a user would.
    pub async fn start(options: LabOptions) -> Result<Self> {
        let cloud = simcloud::Server::start(options.cloud.clone()).context("failed to start the cloud")?;
        Self::around(cloud, options).await
    }
}

impl<C: Cloud> Lab<C> {
    /// Starts everything but the host around a cloud that runs, and installs `deploy/` as a user would.
    pub async fn around(cloud: C, options: LabOptions) -> Result<Self> {
        let is_real = options.plane.node_authorization;
        let plane = ControlPlane::start(options.plane).await.context("failed to start the control plane")?;
        let kubeconfig = install(&plane, options.kinds).await?;
        let client = plane.client()?;
        let (nodes, real) = if is_real {
            let nodes = kubelets::simulated(&plane, kubelets::no_vms(), options.kubelets, None)?;
            (nodes, Some(kubelets::real(cloud.vm_source()?).await?))
        } else {
            (kubelets::simulated(&plane, cloud.vm_source()?, options.kubelets, options.workloads)?, None)
        };
        let folder = plane.folder().join("machinist");
        std::fs::create_dir(&folder).context("failed to make a folder for the host")?;
        let compiled = Compiled::lend(folder.join("cache"))?;
        let hosts = AtomicU32::new(0);
        Ok(Self { nodes, real, cloud, client, _compiled: compiled, plane, kubeconfig, hosts, folder })
    }

    /// Kubelets for the VMs of one more cloud, which run no pods. They end when they are dropped.
    pub fn kubelets_of(&self, vms: Arc<dyn VmSource>, timing: Timing) -> Result<NodeSim> {
        kubelets::simulated(&self.plane, vms, timing, None)
    }

    /// How a host of this lab is started. All hosts share their cache, as a pod that comes back does.
    pub fn host_options(&self) -> HostOptions {
        let number = self.hosts.fetch_add(1, Ordering::Relaxed);
        let mut flags: Vec<String> = vec!["--log".into(), "info,machinist_runtime=debug".into()];
        flags.extend(self.cloud.cluster().map(|cluster| format!("--cluster-id={cluster}")));
        HostOptions {
            kubeconfig: self.kubeconfig.clone(),
            cache: self.folder.join("cache"),
            log: self.folder.join(format!("host-{number}.log")),
            flags,
        }
    }

    /// Starts a host and waits until it is ready.
    pub async fn start_host(&self) -> Result<Host> {
        Host::start_ready(&self.host_options()).await
    }

    /// Machines of the lab's namespace.
    pub fn machines(&self) -> Api<Machine> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Classes of the lab's namespace.
    pub fn classes(&self) -> Api<MachineClass> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Kubeconfig of the host's account.
    pub fn host_kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

/// Installs `deploy/` into a control plane, and returns the kubeconfig of the host's account.
pub async fn install(plane: &ControlPlane, kinds: Kinds) -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let deploy = here.join("../../deploy");
    kinds.install(plane, here).await.context("failed to apply the CRDs")?;
    for folder in ["rbac", "policies"] {
        let applied = plane.apply_path(deploy.join(folder)).await;
        applied.with_context(|| format!("failed to apply deploy/{folder}"))?;
    }
    let account = "system:serviceaccount:machinist-system:machinist";
    for (verb, resource) in [("patch", "nodes"), ("list", "nodes")] {
        plane.wait_until_allowed(account, &[], verb, resource).await?;
    }
    plane.kubeconfig_for_service_account(NAMESPACE, "machinist").await
}
