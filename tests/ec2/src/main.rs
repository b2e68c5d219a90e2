//! Sets up the EC2 of the tests.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "ec2")]
/// The EC2 of the tests: moto, in a virtual environment of its own.
enum Command {
    /// Installs moto unless it is installed, and prints the Python that has it
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
