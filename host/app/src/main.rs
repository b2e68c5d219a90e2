//! The binary: arguments to settings, wiring, admin HTTP, shutdown, subcommands.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod adapter;
mod admin;
mod args;
mod explain;
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
mod run;
mod start;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Command, Machinist, PluginCommand};

fn main() -> ExitCode {
    match Machinist::parse().command {
        // Before anything else: the compiler limits its own process.
        Command::CompileComponent => machinist_plugin_host::compile_main(),
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut Machinist::command(), "machinist", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
        Command::Run(flags) => report(async_main(run::run(*flags))),
        Command::Reference { folder } => report(reference::write(&folder)),
        Command::Explain(flags) => report(async_main(explain::explain(*flags))),
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
