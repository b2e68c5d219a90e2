//! Builds the control plane, or runs one until Ctrl-C.

use clap::{Parser, Subcommand};
use control_plane::{ControlPlane, Options};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[derive(Parser)]
#[command(about = "A real etcd, kube-apiserver and kube-controller-manager for demo and tests")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds the binary if the cache does not have it, and prints its path
    Build,
    /// Starts a control plane, prints the path of its kubeconfig, and stops it on Ctrl-C
    Run {
        /// Leave the folder with data, logs and kubeconfigs behind
        #[arg(long)]
        keep: bool,
        /// Run etcd and kube-apiserver alone
        #[arg(long)]
        no_controller_manager: bool,
    },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::from_default_env();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match Arguments::parse().command {
        Command::Build => {
            let binary = tokio::task::spawn_blocking(control_plane::binary).await??;
            println!("{}", binary.display());
        }
        Command::Run { keep, no_controller_manager } => {
            let options = Options { keep, controller_manager: !no_controller_manager, ..Options::default() };
            // Listened for before the start, which then ends in the same orderly way.
            let (mut interrupt, mut terminate) =
                (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            let serve = async {
                let plane = ControlPlane::start(options).await?;
                println!("{}", plane.admin_kubeconfig().display());
                std::future::pending::<()>().await;
                drop(plane);
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
