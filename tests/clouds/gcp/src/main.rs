//! Serves the cloud for a person or for the conformance kit.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use gcp::test_key::TestAccount;
use gcp::{Config, Server};

#[derive(Parser)]
#[command(name = "gcp")]
/// Google Compute Engine for tests, until the standard input ends
struct Options {
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Milliseconds that an operation takes
    #[arg(long, default_value_t = 200)]
    operation_ms: u64,
    /// A profile of the conformance kit, in which SERVICE_ACCOUNT is replaced by the JSON of a service account
    #[arg(long, requires = "filled")]
    profile: Option<PathBuf>,
    /// Where the profile with the service account is written
    #[arg(long)]
    filled: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let config = Config { operation_ms: options.operation_ms, ..Config::default() };
    let account = TestAccount::make(&config.project)?;
    let server = Server::start_at(config, options.listen)?;
    server.cloud().identity.add_account(&account.email, &account.public_key);
    if let (Some(profile), Some(filled)) = (&options.profile, &options.filled) {
        fill(profile, filled, &account)?;
    }
    println!("{}", server.url());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())
        .context("failed to read the standard input")?;
    Ok(())
}

fn fill(profile: &Path, filled: &Path, account: &TestAccount) -> anyhow::Result<()> {
    let text =
        std::fs::read_to_string(profile).with_context(|| format!("failed to read {}", profile.display()))?;
    let text = gcp::test_key::filled_profile(&text, account);
    std::fs::write(filled, text).with_context(|| format!("failed to write {}", filled.display()))
}
