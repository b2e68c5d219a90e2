//! The arguments of `machinist driver`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use machinist_author::language::Language;
use machinist_author::name::Name;

use super::Output;

/// For those who write drivers.
#[derive(Debug, Subcommand)]
pub(crate) enum DriverCommand {
    /// Make a project for a driver: it builds and passes its tests, and the cloud's own calls are left to write
    New(NewFlags),
    /// Make the component of a project, with the tools of its language, and look at it as the host would
    ///
    /// The language is known by the project's files: Cargo.toml, go.mod, package.json or pyproject.toml. What is missing is
    /// named with the command that mends it. Health policies are built the same way.
    Build(BuildFlags),
    /// Play recordings of a driver's calls to a component, and tell what it does otherwise
    ///
    /// `machinist run --record FOLDER` makes recordings. The component is asked the same and sees the same: answers of the
    /// cloud, times, random numbers. Nothing leaves this process. Other requests, answers and lines of the log are told, call by call;
    /// the exit code is 0 when nothing is otherwise.
    Replay(ReplayFlags),
    /// Run the conformance kit: what every driver does right, tried on the real sandbox against a cloud in trouble
    ///
    /// The driver runs as the host would run it, and a proxy between it and its cloud loses answers, holds them, cuts them, asks for
    /// patience and plays outages. What has to be known of the driver stands in its conformance.yaml. The cloud is the simulated one,
    /// or one that runs already: an emulator, or an account of its own, since machines are made and removed there.
    Test(Box<TestFlags>),
}

#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    /// The component: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// A recording, or a folder: then all in it and in its folders
    #[arg(value_name = "RECORDING", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) recording: PathBuf,
    /// `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct NewFlags {
    /// rust, go, js or python
    #[arg(long, short, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// The provider that it serves, such as my-cloud; the folder is called so, too
    #[arg(value_name = "NAME")]
    pub(crate) name: Name,
    /// Where to make the folder NAME
    #[arg(long, value_name = "FOLDER", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// Use the SDK of this checkout of Machinist, instead of the published one
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) sdk: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BuildFlags {
    /// The project
    #[arg(value_name = "FOLDER", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Where the component goes; by default into the project, under its name
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TestFlags {
    /// The component: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(required_unless_present = "list", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// What has to be known of the driver; by default conformance.yaml beside the component, else in this folder
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) profile: Option<PathBuf>,
    /// The cloud, instead of the one that the profile names
    #[arg(long, value_name = "URL")]
    pub(crate) cloud: Option<String>,
    /// Where `{admin}` in the profile leads to; by default the cloud
    #[arg(long, value_name = "URL")]
    pub(crate) admin: Option<String>,
    /// Only this group, or this check of it; may be given several times
    #[arg(long, value_name = "GROUP[/CHECK]")]
    pub(crate) only: Vec<String>,
    /// Print the checks, and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Write the report as JUnit XML, too
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
}
