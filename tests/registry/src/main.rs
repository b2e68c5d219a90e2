//! Sets up the registry of the tests.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "registry")]
/// OCI registry for tests: Debian's `docker-registry`.
enum Command {
    /// Download the registry unless it is cached, and print its path
    Prepare,
    /// Run a registry without authentication until standard input ends; print its address
    Run,
}

fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::Prepare => registry::prepare().map(|program| println!("{}", program.display())),
        Command::Run => registry::Registry::start(registry::Door::Open).map(|registry| {
            println!("{}", registry.address());
            // However it ends, it ends.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        }),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("registry: {error:#}");
            ExitCode::FAILURE
        }
    }
}
