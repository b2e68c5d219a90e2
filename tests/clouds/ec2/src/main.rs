//! Sets up the EC2 of the tests.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "ec2")]
/// EC2 for tests: moto in a separate virtual environment.
enum Command {
    /// Install moto unless it is installed, and print the path of its Python
    Prepare,
}

fn main() -> ExitCode {
    let Command::Prepare = Command::parse();
    match ec2::moto::prepare() {
        Ok(python) => {
            println!("{}", python.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ec2: {error:#}");
            ExitCode::FAILURE
        }
    }
}
