//! Runs the simulated cloud until it is interrupted.

use std::net::SocketAddr;

use anyhow::Context as _;
use clap::Parser;
use simcloud::{AccountConfig, Config, Latency, Role, Server, Token};

/// A simulated cloud: VMs over HTTP, with faults. Its API is in API.md.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Token of the admin API
    #[arg(long, env = "SIMCLOUD_ADMIN_TOKEN", default_value = "sim-admin", hide_env_values = true)]
    admin_token: String,
    /// Account as NAME=TOKEN or NAME=TOKEN,READ_ONLY_TOKEN; may be repeated
    #[arg(long = "account", value_parser = account)]
    accounts: Vec<AccountConfig>,
    /// Tag that names the Machine of a VM
    #[arg(long, default_value = "machine-uid")]
    machine_tag: String,
    /// Milliseconds until a create request is answered
    #[arg(long, default_value_t = Latency::default().create_ms)]
    create_ms: u64,
    /// Milliseconds until a read of one object is answered
    #[arg(long, default_value_t = Latency::default().get_ms)]
    get_ms: u64,
    /// Milliseconds until a list request is answered
    #[arg(long, default_value_t = Latency::default().list_ms)]
    list_ms: u64,
    /// Milliseconds until a delete request is answered
    #[arg(long, default_value_t = Latency::default().delete_ms)]
    delete_ms: u64,
    /// Milliseconds until any other change is answered
    #[arg(long, default_value_t = Latency::default().change_ms)]
    change_ms: u64,
    /// Milliseconds from the creation of a VM until it runs
    #[arg(long, default_value_t = Latency::default().boot_ms)]
    boot_ms: u64,
    /// Milliseconds from the deletion of a VM until it is terminated
    #[arg(long, default_value_t = Latency::default().terminate_ms)]
    terminate_ms: u64,
    /// Random variation of all these times, in percent
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    jitter_percent: u8,
    /// Milliseconds for which a terminated VM can still be read
    #[arg(long, default_value_t = Config::default().terminated_visible_ms)]
    terminated_visible_ms: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Arguments {
    fn into_config(self) -> Config {
        let defaults = Config::default();
        Config {
            listen: self.listen,
            admin_token: self.admin_token,
            accounts: if self.accounts.is_empty() { defaults.accounts } else { self.accounts },
            machine_tag: self.machine_tag,
            latency: Latency {
                create_ms: self.create_ms,
                get_ms: self.get_ms,
                list_ms: self.list_ms,
                delete_ms: self.delete_ms,
                change_ms: self.change_ms,
                boot_ms: self.boot_ms,
                terminate_ms: self.terminate_ms,
                jitter_percent: self.jitter_percent,
            },
            terminated_visible_ms: self.terminated_visible_ms,
            seed: self.seed,
            ..defaults
        }
    }
}

fn account(text: &str) -> Result<AccountConfig, String> {
    let (name, tokens) = text.split_once('=').ok_or("expected NAME=TOKEN")?;
    let roles = [Role::ReadWrite, Role::ReadOnly];
    let tokens: Vec<Token> =
        tokens.split(',').zip(roles).map(|(token, role)| Token { token: token.to_owned(), role }).collect();
    if name.is_empty() || tokens.iter().any(|token| token.token.is_empty()) {
        return Err("neither name nor token may be empty".to_owned());
    }
    Ok(AccountConfig { name: name.to_owned(), tokens, quota: None })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let server =
        Server::start(Arguments::parse().into_config()).context("failed to start the simulated cloud")?;
    println!("{}", server.url());
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("failed to listen for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("failed to listen for interrupts")?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
