//! Builds the control plane, or runs one until Ctrl-C.

use clap::{Parser, Subcommand};
use control_plane::{ControlPlane, Options};
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
    Build,
    /// Start a control plane, print the path of its kubeconfig, and stop it on Ctrl-C
    Run {
        /// Keep the folder with data, logs and kubeconfigs
        #[arg(long)]
        keep: bool,
        /// Run only etcd and kube-apiserver
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
