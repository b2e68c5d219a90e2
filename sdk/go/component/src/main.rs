//! Generates the bindings of the SDK for Go, and builds components.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, Subcommand};
use go_component::{Build, bindings};

/// Builds components of Go programs, and generates the bindings of the SDK for Go
#[derive(Parser)]
#[command(name = "go-component", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds a component from the Go program in a folder
    Build {
        /// The folder of package main, which calls component.Serve
        folder: PathBuf,
        /// The file to write the component to
        #[arg(short, long, value_name = "FILE.wasm")]
        output: PathBuf,
        /// The value of the variable `version` of package main
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        /// The command of Go
        #[arg(long, default_value = "go", value_name = "COMMAND")]
        go: OsString,
    },
    /// Generates the bindings of the SDK
    Bindings {
        /// The folder of the SDK
        #[arg(default_value = "sdk/go")]
        sdk: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Build { folder, output, version, go } => {
            let built = Build { folder, component: output.clone(), version, go }.run()?;
            println!(
                "{}: {} {}, world {}, {} bytes",
                output.display(),
                built.name,
                built.version,
                built.world.name(),
                built.bytes
            );
            Ok(())
        }
        Command::Bindings { sdk } => write(&sdk),
    }
}

fn write(sdk: &Path) -> Result<()> {
    ensure!(sdk.join("go.mod").is_file(), "{} is not the folder of the SDK: it has no go.mod", sdk.display());
    let root = sdk.join("internal/bindings");
    let files = bindings::generate()?;
    // Removes files that are no longer generated.
    if root.exists() {
        std::fs::remove_dir_all(&root).with_context(|| format!("failed to empty {}", root.display()))?;
    }
    let mut folders = BTreeSet::new();
    for (path, text) in &files {
        let path = root.join(path);
        let folder = path.parent().unwrap_or(&root).to_owned();
        if folders.insert(folder.clone()) {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("failed to make {}", folder.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    println!("{} files in {}", files.len(), root.display());
    Ok(())
}
