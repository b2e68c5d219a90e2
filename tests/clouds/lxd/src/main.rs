//! Sets up the LXD of the tests, or runs one by hand.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "lxd")]
/// LXD for tests: Debian's daemon in a folder of its own
enum Command {
    /// Build the images unless they are built, and check that LXD is installed
    Prepare,
    /// Run an LXD until Ctrl-C, and print its addresses
    Run {
        /// Import the image of Debian, too
        #[arg(long)]
        debian: bool,
    },
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Prepare => prepare(),
        Command::Run { debian } => run(debian),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lxd: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare() -> anyhow::Result<()> {
    lxd::check()?;
    lxd::Images::prepare().map(drop)
}

#[tokio::main]
async fn run(has_debian: bool) -> anyhow::Result<()> {
    let cloud = lxd::Lxd::start(lxd::Options { has_debian, ..lxd::Options::default() }).await?;
    println!("url:   {}", cloud.url());
    println!("admin: {}", cloud.admin_url());
    println!("https: {}", cloud.https_url());
    println!("lxc:   LXD_DIR={} lxc list", cloud.folder().display());
    tokio::signal::ctrl_c().await?;
    // Drop stops the daemon and removes its folder.
    tokio::task::spawn_blocking(move || drop(cloud)).await?;
    Ok(())
}
