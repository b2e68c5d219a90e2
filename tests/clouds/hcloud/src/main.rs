//! Runs Hetzner Cloud for tests until it is interrupted.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use hetzner::{Hetzner, Options};

/// Hetzner Cloud for tests. API.md beside the sources lists its behaviour.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Milliseconds that an action takes
    #[arg(long, default_value_t = 0)]
    action_ms: u64,
    /// Requests an hour
    #[arg(long, default_value_t = 3_600)]
    requests_per_hour: u32,
    /// Let names of servers be unique for each cluster instead of the whole project, as the conformance kit needs it
    #[arg(long)]
    project_for_each_cluster: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let cloud = Hetzner::start(Options {
        listen: arguments.listen,
        action_time: Duration::from_millis(arguments.action_ms),
        requests_per_hour: arguments.requests_per_hour,
        is_project_for_each_cluster: arguments.project_for_each_cluster,
        ..Options::default()
    })?;
    println!("{}", cloud.url());
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("failed to listen for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("failed to listen for interrupts")?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
