//! Runs the kubelets of a simulated cloud's VMs until it is interrupted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use nodesim::{Config, NodeSim, SimcloudSource, Target, Timing};

/// The kubelets of simulated VMs: they join a real cluster with the bootstrap tokens of their user data.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Base URL of the simulated cloud
    #[arg(long)]
    cloud: String,
    /// Admin token of the simulated cloud
    #[arg(long, env = "SIMCLOUD_ADMIN_TOKEN", default_value = "sim-admin", hide_env_values = true)]
    admin_token: String,
    /// Only VMs with this tag, as KEY=VALUE
    #[arg(long, value_parser = tag)]
    tag: Option<(String, String)>,
    /// Kubeconfig of the target cluster
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    /// Seconds between two renewals of a Lease
    #[arg(long, default_value_t = 10)]
    heartbeat_seconds: u64,
    /// Milliseconds until the kubelet of a running VM starts
    #[arg(long, default_value_t = 0)]
    boot_delay_ms: u64,
    /// Milliseconds until a kubelet that started joins
    #[arg(long, default_value_t = 0)]
    join_delay_ms: u64,
    /// Up to so many milliseconds are added to these
    #[arg(long, default_value_t = 0)]
    spread_ms: u64,
    /// Seconds of silence after which a Node's conditions are set to Unknown; needed where no node lifecycle controller
    /// runs
    #[arg(long)]
    unknown_after_seconds: Option<u64>,
    /// Requests in flight
    #[arg(long, default_value_t = 32)]
    concurrency: usize,
}

fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let arguments = Arguments::parse();
    let mut source = SimcloudSource::new(&arguments.cloud, &arguments.admin_token)
        .context("failed to set up the cloud's client")?;
    if let Some((key, value)) = &arguments.tag {
        source = source.only_tagged(key, value);
    }
    let mut config = Config::new(Target::Kubeconfig(arguments.kubeconfig));
    config.concurrency = arguments.concurrency;
    config.timing = Timing {
        boot_delay: Duration::from_millis(arguments.boot_delay_ms),
        join_delay: Duration::from_millis(arguments.join_delay_ms),
        spread: Duration::from_millis(arguments.spread_ms),
        heartbeat: Duration::from_secs(arguments.heartbeat_seconds.max(1)),
        unknown_after: arguments.unknown_after_seconds.map(Duration::from_secs),
        ..Timing::default()
    };
    let nodesim = NodeSim::start(config, Arc::new(source)).context("failed to start the node simulator")?;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("failed to listen for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("failed to listen for interrupts")?,
        _ = terminate.recv() => {}
    }
    println!("{}", serde_json::to_string(&nodesim.stats())?);
    Ok(())
}
