//! Builds the control plane, or runs one until Ctrl-C.

use clap::{Parser, Subcommand};
use control_plane::{ControlPlane, Kubelet, KubeletOptions, Options};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[derive(Parser)]
#[command(about = "Runs a real etcd, kube-apiserver and kube-controller-manager for the demo and tests")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the binary unless it is cached, and print its path
    Build {
        /// Build the kubelet instead
        #[arg(long)]
        kubelet: bool,
    },
    /// Start a control plane, print the path of its kubeconfig, and stop it on Ctrl-C
    Run {
        /// Keep the folder with data, logs and kubeconfigs
        #[arg(long)]
        keep: bool,
        /// Run only etcd and kube-apiserver
        #[arg(long)]
        no_controller_manager: bool,
        /// Authorise Nodes as kubeadm does, and let so many real kubelets join
        #[arg(long, default_value_t = 0, conflicts_with = "no_controller_manager")]
        kubelets: u16,
    },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::from_default_env();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match Arguments::parse().command {
        Command::Build { kubelet } => {
            let build = if kubelet { control_plane::build::kubelet } else { control_plane::binary };
            let binary = tokio::task::spawn_blocking(build).await??;
            println!("{}", binary.display());
        }
        Command::Run { keep, no_controller_manager, kubelets } => {
            let options = Options {
                keep,
                controller_manager: !no_controller_manager,
                node_authorization: kubelets > 0,
                ..Options::default()
            };
            // Listened for before the start, which then ends in the same orderly way.
            let (mut interrupt, mut terminate) =
                (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            let serve = async {
                let plane = ControlPlane::start(options).await?;
                let kubelets = join(&plane, kubelets).await?;
                println!("{}", plane.admin_kubeconfig().display());
                std::future::pending::<()>().await;
                drop((kubelets, plane));
                anyhow::Ok(())
            };
            tokio::select! {
                outcome = serve => outcome?,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
    }
    Ok(())
}

/// Starts so many kubelets with a bootstrap token of their own. They join a moment later.
async fn join(plane: &ControlPlane, count: u16) -> anyhow::Result<Vec<Kubelet>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let binary = tokio::task::spawn_blocking(control_plane::build::kubelet).await??;
    let token = plane.create_bootstrap_token().await?;
    let kubeconfig = plane.bootstrap_kubeconfig(&token)?;
    (0..count)
        .map(|number| {
            Kubelet::start(&binary, &KubeletOptions::new(&format!("node-{number}"), kubeconfig.clone()))
        })
        .collect()
}
