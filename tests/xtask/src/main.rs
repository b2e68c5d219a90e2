//! The commands of this repository. `cargo xtask --help` lists them.
//!
//! This crate has few dependencies and no knowledge of the others: it is there within seconds, and starts them.

mod components;
mod deny;
mod generate;
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
/// The commands of this repository: each does its own set-up.
///
/// What takes long to make (components, the control plane of the tests, cloud emulators, tools) is kept in a cache folder outside the
/// clone: $MACHINIST_CACHE, by default machinist in $XDG_CACHE_HOME or ~/.cache.
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks that this machine has what the other commands need
    ///
    /// Adds the WebAssembly target to the tool chain when it is missing. All other commands do this first.
    Setup,
    /// Runs all checks and tests, as the CI does
    ///
    /// Stops at the first step that fails, and says how to repeat that step alone. Takes about 20 minutes on two cores
    /// once everything is compiled; with --nightly some hours.
    Test {
        /// Only this step; may be given several times
        #[arg(long, value_name = "STEP", value_enum)]
        only: Vec<steps::Name>,
        /// Also run the long steps: thousands of seeds, many inputs, all figures
        #[arg(long, conflicts_with = "only")]
        nightly: bool,
        /// Lists the steps and ends
        #[arg(long)]
        list: bool,
    },
    /// Shows Machinist at work on a real control plane with a simulated cloud
    ///
    /// Builds what is needed (the first time on a machine: about twenty minutes) and starts the demo. `cargo xtask demo
    /// -- --help` shows the demo's own options, for example --machines N and --keep.
    Demo {
        /// Handed to the demo
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measures, and writes tests/bench/FIGURES.md
    ///
    /// Like `demo`, built with optimisation. `cargo xtask bench -- --help` shows the options.
    Bench {
        /// Handed to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Simulates clusters with faults, each from its seed
    ///
    /// Built with optimisation, without what the simulator does not need. For a failure it says which seed repeats it.
    /// `cargo xtask sim --seeds N [--seed S] [--machines M] [--hours H]`; `cargo xtask sim --help` shows the rest.
    #[command(disable_help_flag = true)]
    Sim {
        /// Handed to the simulator
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Tries inputs that strangers could send on everything that parses them
    ///
    /// Built with optimisation. For a broken promise it says how to repeat it. `cargo xtask fuzz --inputs N [--target
    /// NAME] [--seed S]`; `cargo xtask fuzz --help` shows the rest.
    #[command(disable_help_flag = true)]
    Fuzz {
        /// Handed to the fuzzer
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Writes the files anew that are made from code: deploy/crds and deploy/reference
    Generate,
    /// Asks the advisory database about the dependencies
    ///
    /// Apart from `test`, because its outcome changes without a change here.
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
