//! Sets up and runs the OpenStack of the tests.

use std::io::Read as _;
use std::process::ExitCode;

use clap::Parser;
use openstack::{Openstack, Options, environment};
use serde_json::json;

#[derive(Parser)]
#[command(name = "openstack")]
/// OpenStack for tests: the released services in a separate virtual environment
enum Command {
    /// Install the services unless they are installed, and print the path of their Python
    Prepare,
    /// Run the cloud until standard input closes, and print its addresses and objects as JSON
    Run {
        /// Also listen with TLS
        #[arg(long)]
        tls: bool,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Prepare => {
            environment::prepare().map(|environment| println!("{}", environment.python().display()))
        }
        Command::Run { tls } => run(tls).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("openstack: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(has_tls: bool) -> anyhow::Result<()> {
    // Fails only if another provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cloud = Openstack::start(Options { has_tls }).await?;
    let tls = cloud.tls();
    let facts = json!({
        "url": cloud.url(),
        "admin": cloud.admin_url(),
        "tls": tls.as_ref().map(|(url, _)| url),
        "authority": tls.as_ref().map(|(_, authority)| authority),
        "secret": cloud.password_secret(),
        "facts": cloud.facts(),
    });
    println!("{facts}");
    let wait = || std::io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(wait).await??;
    Ok(())
}
