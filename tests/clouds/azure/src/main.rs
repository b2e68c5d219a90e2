//! Azure for tests, as a program.

use std::env;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::str::FromStr;
use std::thread;

use azure_cloud::{Options, Server};

const USAGE: &str = "azure-cloud: Azure for tests on loopback, until it is ended

  --listen ADDRESS     address of HTTP; default: a free port of 127.0.0.1
  --page-rows N        rows of a page of Resource Graph; default: 1000
  --create-ms N        milliseconds that Azure works on a VM; default: 200";

fn main() -> ExitCode {
    match options()
        .and_then(|(options, listen)| Server::start_at(options, listen).map_err(|error| error.to_string()))
    {
        Ok(server) => {
            println!("{}", server.url());
            loop {
                thread::park();
            }
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<(Options, SocketAddr), String> {
    let mut options = Options::default();
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match name.as_str() {
            "--listen" => listen = parsed(&name, &value)?,
            "--page-rows" => options.page_rows = parsed(&name, &value)?,
            "--create-ms" => options.create_ms = parsed(&name, &value)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((options, listen))
}

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} {value:?} is not valid\n\n{USAGE}"))
}
