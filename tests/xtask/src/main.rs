//! The commands of this repository. `cargo xtask --help` lists them.
//!
//! This crate has few dependencies and knows no other but `cache`: it is there within seconds, and starts the others.
//!
//! | module | what it does |
//! | --- | --- |
//! | `steps` | the steps of `cargo xtask test` |
//! | `setup` | the prerequisites of a machine, and their installation |
//! | `components` | builds the components of this workspace: drivers and tests' components |
//! | `generate` | writes files of the repository that are made from code |
//! | `sdk` | runs the tests of the SDKs for other languages than Rust |
//! | `drivers` | runs the tests of the drivers in other languages than Rust |
//! | `journeys` | runs one life of Machines on each cloud of real parts |
//! | `launch` | builds what demo and benchmark start, then becomes them |
//! | `deny` | checks licences, versions, sources and advisories of dependencies |
//! | `shell` | starts other programs, and passes their output through |
//! | `paths` | the folders of the clone and of binaries |

mod components;
mod deny;
mod drivers;
mod generate;
mod journeys;
mod launch;
mod paths;
mod sdk;
mod setup;
mod shell;
mod steps;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
/// Commands of this repository. Each one does its own setup.
///
/// Slow build products (components, the control plane of the tests, cloud emulators, tools) are cached outside the
/// clone: in $MACHINIST_CACHE, by default machinist in $XDG_CACHE_HOME or ~/.cache.
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check that this machine has the tools that the other commands need
    ///
    /// Adds the WebAssembly target to the toolchain if it is missing. All other commands run this check first.
    Setup,
    /// Run all checks and tests, as the CI does
    ///
    /// Stops at the first step that fails, and prints the command that repeats this step alone. Takes about 20 minutes
    /// on two cores once everything is compiled; several hours with --nightly.
    Test {
        /// Run only this step; may be repeated
        #[arg(long, value_name = "STEP", value_enum)]
        only: Vec<steps::Name>,
        /// Also run the long steps: thousands of seeds, many inputs, all figures
        #[arg(long, conflicts_with = "only")]
        nightly: bool,
        /// List the steps and exit
        #[arg(long)]
        list: bool,
    },
    /// Run a demo of Machinist on a real control plane with a simulated cloud
    ///
    /// Builds the demo (about 20 minutes the first time on a machine) and starts it. `cargo xtask demo -- --help` shows
    /// the demo's own options, for example --machines N, --api capi and --keep.
    Demo {
        /// Arguments for the demo
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the benchmark; writes tests/bench/FIGURES.md with `-- --write`
    ///
    /// Built with optimisation, like `demo`. `cargo xtask bench -- --help` shows the options.
    Bench {
        /// Arguments for the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Simulate clusters with faults, each from its seed
    ///
    /// Builds only the simulator, with optimisation. For a failure, prints the seed that repeats it. `cargo xtask sim
    /// --seeds N [--seed S] [--machines M] [--hours H]`; `cargo xtask sim --help` shows all options.
    #[command(disable_help_flag = true)]
    Sim {
        /// Arguments for the simulator
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Fuzz everything that parses input from outside
    ///
    /// Built with optimisation. For a broken promise, prints the command that repeats it. `cargo xtask fuzz --inputs N
    /// [--target NAME] [--seed S]`; `cargo xtask fuzz --help` shows all options.
    #[command(disable_help_flag = true)]
    Fuzz {
        /// Arguments for the fuzzer
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Regenerate the files of deploy that are generated from code
    Generate,
    /// Check the dependencies against the advisory database
    ///
    /// Not a part of `test`, because its outcome can change without a change in the repository.
    Advisories,
}

fn main() -> ExitCode {
    let outcome = run(Arguments::parse().command);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    if let Command::Test { list: true, .. } = command {
        return steps::list();
    }
    setup::check()?;
    match command {
        Command::Setup => Ok(()),
        Command::Test { only, nightly, .. } => {
            steps::run(&only, if nightly { steps::Tier::Nightly } else { steps::Tier::Commit })
        }
        Command::Demo { arguments } => launch::demo(&arguments),
        Command::Bench { arguments } => launch::bench(&arguments),
        Command::Sim { arguments } => launch::sim(&arguments),
        Command::Fuzz { arguments } => launch::fuzz(&arguments),
        Command::Generate => generate::run(),
        Command::Advisories => deny::check(&["advisories"]),
    }
}
