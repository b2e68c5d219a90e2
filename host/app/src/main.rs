//! The binary: arguments to settings, wiring, admin HTTP, shutdown, subcommands.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod adapter;
mod admin;
mod args;
mod called;
mod cluster;
mod completion;
mod explain;
mod family;
mod flags;
mod incidents;
mod plugin_cluster;
mod plugin_file;
mod plugin_inspect;
mod plugin_list;
mod plugin_ownership;
mod plugin_plan;
mod plugin_push;
mod plugin_view;
mod plugin_wait;
mod reference;
mod rollout;
mod run;
mod start;
mod subject;
mod tree;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Command, Machinist, PluginCommand};
use called::{Called, own_kubeconfig};

fn main() -> ExitCode {
    let called = Called::by(std::env::args_os().next().as_deref());
    let command = called.command(own_kubeconfig());
    if called == Called::PluginCompletion {
        let words: Vec<String> = std::env::args().skip(1).collect();
        return report(async_main(async { Ok(completion::answer(command, &words).await?) }));
    }
    let mut matches = command.get_matches();
    let parsed = Machinist::from_arg_matches_mut(&mut matches);
    match parsed.unwrap_or_else(|error| error.exit()).command {
        // Before anything else: the compiler limits its own process.
        Command::CompileComponent => machinist_plugin_host::compile_main(),
        Command::Completion { shell } => {
            let mut command = called.command(None);
            clap_complete::generate(shell, &mut command, called.file(), &mut std::io::stdout());
            ExitCode::SUCCESS
        }
        Command::Run(flags) => report(async_main(run::run(*flags))),
        Command::Reference { folder } => report(reference::write(&folder)),
        Command::Explain(flags) => report(async_main(explain::explain(*flags, called))),
        Command::Tree(flags) => report(async_main(tree::tree(flags, called))),
        Command::Rollout(command) => report(async_main(rollout::rollout(command, called))),
        Command::Plugin(command) => report(async_main(plugin(command))),
    }
}

async fn plugin(command: PluginCommand) -> anyhow::Result<()> {
    match command {
        PluginCommand::List(flags) => plugin_list::list(flags).await,
        PluginCommand::Inspect(flags) => plugin_inspect::inspect(flags).await,
        PluginCommand::Push(flags) => plugin_push::push(*flags).await,
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
            eprintln!("machinist: {error:#}");
            ExitCode::FAILURE
        }
    }
}
