//! The binary: command line, wiring, admin HTTP, shutdown, subcommands.
//!
//! | module | what it does |
//! | --- | --- |
//! | `args` | the command line, and the name by which the program was called |
//! | `flags` | the flags of `machinist run` |
//! | `run` | `machinist run`: wires runtime and plugin host together, and stops them in order |
//! | `admin` | HTTP for metrics, probes and `/debug` |
//! | `plugin` | `machinist plugin`: ships, shows and tries plugins |
//! | `driver` | `machinist driver`: new projects, builds, tests, replays |
//! | `explain` | `machinist explain` |
//! | `tree` | `machinist tree` |
//! | `rollout` | `machinist rollout` |
//! | `owner_tree` | which sets belong to a deployment |
//! | `cluster` | the cluster of a subcommand |
//! | `completion` | completes words for shells and kubectl |
//! | `output` | prints; a closed pipe ends the command quietly |
//! | `reference` | generates `deploy/reference` |
//! | `testing` | helpers for the tests of several commands |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[macro_use]
mod output;

mod admin;
mod args;
mod cluster;
mod completion;
mod driver;
mod explain;
mod flags;
mod owner_tree;
mod plugin;
mod reference;
mod rollout;
mod run;
#[cfg(test)]
mod testing;
mod tree;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use machinist_core::value::error_chain::chain;
use machinist_plugin_host::shown;

use args::invocation_name::{InvocationName, own_kubeconfig};
use args::{Command, Machinist, PluginCommand};
use flags::{BinaryChoice, BinaryName, CommandLine, RunFlags};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Before anything else, and under every name: the compiler limits its own process.
    if words.get(1).is_some_and(|word| word == COMPILE) {
        return machinist_plugin_host::compile_main();
    }
    match BinaryName::of(words.first().map(OsString::as_os_str)) {
        BinaryName::Machinist => by_flags(words),
        binary @ (BinaryName::MachineController | BinaryName::MachineControllerManager) => {
            in_place_of(binary, words)
        }
    }
}

/// Under its own name, or kubectl's: with a subcommand, or with the command line of another binary.
fn by_flags(words: Vec<OsString>) -> ExitCode {
    if InvocationName::of(words.first().map(OsString::as_os_str)) != InvocationName::Itself {
        return machinist(words);
    }
    match flags::chosen_binary(&words, std::env::var_os(flags::VARIABLE).as_deref()) {
        BinaryChoice::Itself => machinist(words),
        BinaryChoice::Binary(binary) => in_place_of(binary, words),
        BinaryChoice::Unclear(reason) => {
            eprintln!("machinist: {reason}");
            ExitCode::from(2)
        }
    }
}

fn in_place_of(binary: BinaryName, words: Vec<OsString>) -> ExitCode {
    let line = binary.parse(words).unwrap_or_else(|error| error.exit());
    report(async_main(run::run(line)))
}

/// The subcommand that compiles a component.
pub(crate) const COMPILE: &str = "compile-component";

fn machinist(words: Vec<OsString>) -> ExitCode {
    let invoked_as = InvocationName::of(words.first().map(OsString::as_os_str));
    let command = invoked_as.command(own_kubeconfig());
    if invoked_as == InvocationName::PluginCompletion {
        let words: Vec<String> = std::env::args().skip(1).collect();
        return report(async_main(async {
            completion::answer(command, &words).await;
            Ok(())
        }));
    }
    let matches = command.clone().get_matches_from(words);
    let given = Machinist::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match given.command {
        Command::CompileComponent => machinist_plugin_host::compile_main(),
        Command::Completion { shell } => {
            let (mut command, mut script) = (invoked_as.command(None), Vec::new());
            clap_complete::generate(shell, &mut command, invoked_as.file(), &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            ExitCode::SUCCESS
        }
        Command::Run(flags) => report(async_main(run::run(line(*flags, &command, &matches)))),
        Command::Reference { folder } => report(reference::write(&folder)),
        Command::Explain(flags) => report(async_main(explain::explain(*flags, invoked_as))),
        Command::Tree(flags) => report(async_main(tree::tree(flags, invoked_as))),
        Command::Rollout(command) => report(async_main(rollout::rollout(command, invoked_as))),
        Command::Driver(command) => report(async_main(driver::driver(command))),
        Command::Plugin(command) => report(async_main(plugin(command))),
    }
}

/// The flags of `run`, and which of them were typed.
fn line(flags: RunFlags, command: &clap::Command, matches: &clap::ArgMatches) -> CommandLine {
    match (command.find_subcommand("run"), matches.subcommand_matches("run")) {
        (Some(run), Some(given)) => CommandLine::of(flags, run, given),
        (Some(_) | None, _) => CommandLine::of(flags, command, matches),
    }
}

async fn plugin(command: PluginCommand) -> anyhow::Result<()> {
    match command {
        PluginCommand::List(flags) => plugin::show::list::list(flags).await,
        PluginCommand::Inspect(flags) => plugin::show::inspect::inspect(flags).await,
        PluginCommand::Push(flags) => plugin::ship::push::push(*flags).await,
        PluginCommand::Sign(flags) => plugin::ship::sign::sign(*flags).await,
        PluginCommand::Bundle(flags) => plugin::ship::bundle::bundle(*flags).await,
        PluginCommand::Keygen(flags) => plugin::ship::sign::keygen(&flags),
        PluginCommand::Resolve(flags) => plugin::ship::resolve::resolve(flags).await,
        PluginCommand::Logs(flags) => plugin::show::logs::logs(flags).await,
        PluginCommand::Diff(flags) => plugin::show::diff::diff(flags).await,
        PluginCommand::Trial(flags) => plugin::show::trial::show(flags).await,
        PluginCommand::Promote(flags) => plugin::show::trial::promote(flags).await,
        PluginCommand::Rollback(flags) => plugin::show::trial::roll_back(flags).await,
    }
}

fn async_main(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    // Fails only when another provider was installed before, and then there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}

fn report(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Lines are ours, such as a list of wrong flags; whatever else commands a terminal is others'.
            for (number, line) in chain(error.as_ref()).lines().enumerate() {
                eprintln!("{}{}", if number == 0 { "machinist: " } else { "" }, shown(line));
            }
            ExitCode::FAILURE
        }
    }
}
