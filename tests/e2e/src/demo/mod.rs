//! The demo: what a user does, in the order in which a user does it, and whether all of it held.
//!
//! | module | content |
//! | --- | --- |
//! | `story` | the story itself, the same on every cloud |
//! | `stages` | the stages of the story, and the state at every moment of each |
//! | `cluster_api` | the story of a workload cluster of Cluster API |
//! | `progress` | the output: a live table on a terminal, plain lines elsewhere |
//! | `summary` | the result of the demo, and whether it held |

mod cluster_api;
mod progress;
mod stages;
mod story;
mod summary;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use tokio::time::Instant;

use crate::cloud::{Aws, Azure, Cloud, Gcp, Hcloud, Lxd, OpenStack};
use crate::lab::{Lab, LabOptions};
use crate::manifests;

use progress::Progress;
use story::Drivers;

/// Runs Machinist on a real kube-apiserver: creates a MachineDeployment, scales it, rolls it to another class while its
/// driver is replaced, rolls it back, and deletes it without a leak. A watch counts all Machines and the available ones
/// at each moment.
///
/// However the demo ends (Ctrl-C, SIGTERM or kill -9), all its processes end and its folder is removed.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask demo")]
pub struct Options {
    /// Cloud of the demo
    #[arg(long, value_enum, ignore_case = true, default_value_t = Provider::Sim)]
    pub provider: Provider,
    /// API of the demo's Machines
    #[arg(long, value_enum, ignore_case = true, default_value_t = DemoApi::Mcm)]
    pub api: DemoApi,
    /// Initial number of Machines; the demo scales it up by half
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=5_000))]
    pub machines: u32,
    /// Keep everything running until Ctrl-C, and print the kubeconfig for kubectl
    #[arg(long)]
    pub keep: bool,
}

/// The APIs of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoApi {
    /// MachineDeployments of machine-controller-manager
    Mcm,
    /// Cluster API: a workload cluster with its own core, kubeadm bootstrap provider and clusterctl, which moves
    Capi,
}

/// The clouds of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Provider {
    /// The simulated cloud
    Sim,
    /// AWS EC2, simulated by moto, with requests that the host signs
    Aws,
    /// Hetzner Cloud, typed by its published API, with a driver in Go
    Hcloud,
    /// Google Compute Engine, typed by Google's discovery document, with tokens that the host fetches
    Gcp,
    /// Azure, typed by Microsoft's own models, with tokens that the host fetches
    Azure,
    /// OpenStack, its released services, with a driver in Go; two cores are busy with 6 Machines
    Openstack,
    /// LXD, whose containers boot and join with kubelets of their own, with a driver in TypeScript; two cores are busy
    /// with 4 Machines. With Cluster API the kubelets are simulated
    Lxd,
}

const SIMULATED: &str = "the simulated cloud";
const MOTO: &str = "moto as EC2";
const HETZNER: &str = "Hetzner Cloud for tests";
const GOOGLE: &str = "Google Compute Engine for tests";
const AZURE: &str = "Azure for tests";
const OPENSTACK: &str = "the services of OpenStack";
const DEBIAN: &str = "LXD for containers of Debian";
const BUSYBOX: &str = "LXD for small containers";

/// True when all of it held.
pub async fn run(options: Options) -> Result<bool> {
    match (options.provider, options.api) {
        (Provider::Sim, DemoApi::Mcm) => tell(&options, SIMULATED, async || simulated()).await,
        (Provider::Aws, DemoApi::Mcm) => tell(&options, MOTO, Aws::start).await,
        (Provider::Hcloud, DemoApi::Mcm) => tell(&options, HETZNER, async || Hcloud::start()).await,
        (Provider::Gcp, DemoApi::Mcm) => tell(&options, GOOGLE, async || Gcp::start()).await,
        (Provider::Azure, DemoApi::Mcm) => tell(&options, AZURE, async || Azure::start()).await,
        (Provider::Openstack, DemoApi::Mcm) => tell(&options, OPENSTACK, OpenStack::start).await,
        (Provider::Lxd, DemoApi::Mcm) => tell(&options, DEBIAN, Lxd::<true>::start).await,
        (Provider::Sim, DemoApi::Capi) => cluster_api::tell(&options, SIMULATED, async || simulated()).await,
        (Provider::Aws, DemoApi::Capi) => cluster_api::tell(&options, MOTO, Aws::start).await,
        (Provider::Hcloud, DemoApi::Capi) => {
            cluster_api::tell(&options, HETZNER, async || Hcloud::start()).await
        }
        (Provider::Gcp, DemoApi::Capi) => cluster_api::tell(&options, GOOGLE, async || Gcp::start()).await,
        (Provider::Azure, DemoApi::Capi) => cluster_api::tell(&options, AZURE, async || Azure::start()).await,
        (Provider::Openstack, DemoApi::Capi) => {
            cluster_api::tell(&options, OPENSTACK, OpenStack::start).await
        }
        // Images without kubeadm could not join.
        (Provider::Lxd, DemoApi::Capi) => cluster_api::tell(&options, BUSYBOX, Lxd::<false>::start).await,
    }
}

/// A cloud that takes its time, so that there is something to see.
fn simulated() -> Result<simcloud::Server> {
    let mut config = simcloud::Config::default();
    config.latency = simcloud::Latency {
        create_ms: 200,
        boot_ms: 800,
        delete_ms: 50,
        terminate_ms: 400,
        ..config.latency
    };
    simcloud::Server::start(config).context("failed to start the simulated cloud")
}

async fn tell<C: Cloud>(
    options: &Options,
    cloud_name: &str,
    start_cloud: impl AsyncFnOnce() -> Result<C>,
) -> Result<bool> {
    let started = Instant::now();
    let mut progress = Progress::start();
    let [first, second] = story::VERSIONS;
    progress.say(&format!("building the driver {} in two versions, {first} and {second}", C::DRIVER));
    let drivers = tokio::task::spawn_blocking(Drivers::build::<C>).await??;
    progress.say(&format!("starting {cloud_name}"));
    let cloud = start_cloud().await?;
    progress.say("starting a control plane (etcd, kube-apiserver, kube-controller-manager) and kubelets");
    let mut lab_options = if C::BOOTS { LabOptions::with_real_kubelets() } else { LabOptions::default() };
    lab_options.plane.controller_manager = true;
    let lab = Lab::around(cloud, lab_options).await?;
    lab.cloud.connect(&lab.plane.server()).await?;
    progress.say("starting Machinist under its least-privilege account (deploy/rbac)");
    let mut host = lab.start_host().await?;
    let summary = match story::tell(&lab, &mut host, options, &drivers, &mut progress).await {
        Ok(summary) => summary,
        Err(error) => {
            progress.say(&format!("the host's log ends with:\n{}", host.log_end()));
            return Err(error);
        }
    };
    if options.keep {
        keep(&lab, &mut progress).await;
    }
    let ended = host.terminate().await?;
    Ok(summary.print(started.elapsed(), ended.success()))
}

/// Until a signal ends the demo.
async fn keep<C: Cloud>(lab: &Lab<C>, progress: &mut Progress) {
    progress.say(&format!(
        "everything goes on running. In another terminal:\n\n  export KUBECONFIG={}\n  kubectl -n {namespace} get machinedeployments,machinesets,machines\n  \
         kubectl -n {namespace} scale machinedeployment {name} --replicas=3\n\nCtrl-C ends it.",
        lab.plane.admin_kubeconfig().display(),
        namespace = manifests::NAMESPACE,
        name = story::NAME,
    ));
    std::future::pending::<()>().await;
}
