//! Azure for tests, as a program.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;

use azure_cloud::{Options, Server};
use clap::Parser;

#[derive(Parser)]
#[command(name = "azure-cloud")]
/// Azure for tests on loopback, until it is ended
struct Command {
    /// Address of HTTP
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Rows of a page of Resource Graph
    #[arg(long, default_value_t = 1_000)]
    page_rows: usize,
    /// Milliseconds that Azure works on a VM
    #[arg(long, default_value_t = 200)]
    create_ms: u64,
}

fn main() -> ExitCode {
    let Command { listen, page_rows, create_ms } = Command::parse();
    let options = Options { page_rows, create_ms, ..Options::default() };
    match Server::start_at(options, listen) {
        Ok(server) => {
            println!("{}", server.url());
            println!("{}", server.secure_url());
            loop {
                thread::park();
            }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
