//! The arguments of `machinist driver`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use machinist_author::language::Language;
use machinist_author::name::{Name, Provider};

use super::Output;

/// Subcommands for driver authors.
#[derive(Debug, Subcommand)]
pub(crate) enum DriverCommand {
    /// Create a driver project that builds and passes its tests; the calls to your cloud are left for you to write
    New(NewFlags),
    /// Build the component of a project with the tools of its language, and check it as the host does
    ///
    /// The project's files determine the language: Cargo.toml, go.mod, package.json or pyproject.toml. If a tool is
    /// missing, the command says how to install it. Health policies are built the same way.
    Build(BuildFlags),
    /// Replay recorded driver calls against a component, and report the differences
    ///
    /// `machinist run --record FOLDER` writes recordings. The component gets the same inputs: the cloud's answers,
    /// times and random numbers. No request leaves this process. The command lists differing requests, answers and log
    /// lines, call by call; the exit code is 0 if there are none.
    Replay(ReplayFlags),
    /// Run the conformance kit: the checks that each driver has to pass, in the real sandbox with a faulty cloud
    ///
    /// The driver runs as in the host. A proxy between the driver and its cloud drops, delays and truncates answers,
    /// throttles requests and simulates outages. The driver's conformance.yaml describes the driver to the kit. The
    /// cloud is the simulated one or one that already runs: an emulator, or a separate account, since the kit creates
    /// and deletes machines there.
    Test(Box<TestFlags>),
}

#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    /// Component file: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Recording, or a folder with recordings, searched recursively
    #[arg(value_name = "RECORDING", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) recording: PathBuf,
    /// Format of the output: `table` for people, `json` for programs
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct NewFlags {
    /// Language of the project: rust, go, js or python
    #[arg(long, short, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// Name of the driver, such as my-cloud; also the name of the folder
    #[arg(value_name = "NAME")]
    pub(crate) name: Name,
    /// Folder in which to create the folder NAME
    #[arg(long, value_name = "FOLDER", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// Provider that the driver serves, as MachineClasses name it, such as OpenStack; default: NAME
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<Provider>,
    /// Use the SDK of a checkout of Machinist, or of a tag such as git:v0.1.0, instead of the published one
    #[arg(long, value_name = "PATH|git:TAG", value_hint = clap::ValueHint::DirPath)]
    pub(crate) sdk: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BuildFlags {
    /// Folder of the project
    #[arg(value_name = "FOLDER", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// File to write the component to; default: a file in the project with the project's name
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TestFlags {
    /// Component file: `.wasm`, `.wasm.zst` or `.wasm.gz`
    #[arg(required_unless_present = "list", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// File that describes the driver; default: conformance.yaml next to the component, else in the current folder
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) profile: Option<PathBuf>,
    /// URL of the cloud, instead of the one in the profile
    ///
    /// For a real account: https:// and the host that the profile's grants name. The profile authenticates: its grants
    /// say how, and `secrets: { KEY: { env: NAME } }` takes a value out of the environment.
    #[arg(long, visible_alias = "against", value_name = "URL")]
    pub(crate) cloud: Option<String>,
    /// URL for `{admin}` in the profile; default: the URL of the cloud
    #[arg(long, value_name = "URL")]
    pub(crate) admin: Option<String>,
    /// Run only this group or this check of a group; may be repeated
    #[arg(long, value_name = "GROUP[/CHECK]")]
    pub(crate) only: Vec<String>,
    /// List the checks without running them
    #[arg(long)]
    pub(crate) list: bool,
    /// Also write the report to this file, as JUnit XML
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// Also write the report to this file, as a Markdown page to publish beside the driver
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}
