//! From a project to a component, with the tools of its language.
//!
//! Before it starts a tool, the build checks the tool's requirements, and names a missing one with the command that
//! installs it. The tools' own messages are written to standard error.
//!
//! | module | what it does |
//! | --- | --- |
//! | `rust` | cargo with the target wasm32-wasip2, whose linker makes the component |
//! | `go` | the Go compiler, and a library that makes a component of its module |
//! | `javascript` | the SDK's own tool, from the project's packages; for TypeScript too |
//! | `python` | the SDK's own module, run by the Python of the project |
//! | `tool` | starts the tools of a language |
//! | `version` | parses the versions that tools print |

mod go;
mod javascript;
mod python;
mod rust;
mod tool;
mod version;

use std::io;
use std::path::{Path, PathBuf};

use crate::project::{self, Project};

/// The reason why a build failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is not a project.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A required tool is not installed.
    #[error("{what} is missing: {fix}")]
    Missing {
        /// The name of the tool.
        what: String,
        /// The command that fixes it.
        fix: String,
    },
    /// A required tool is too old.
    #[error("{what} is needed, and here is {found}: {fix}")]
    TooOld {
        what: String,
        found: String,
        /// The command that fixes it.
        fix: String,
    },
    /// A tool cannot be started.
    #[error("failed to start {program}")]
    Start {
        /// The name of the program.
        program: String,
        /// The cause of the error.
        #[source]
        source: io::Error,
    },
    /// A tool failed with an error.
    #[error("`{line}` failed: its messages are above")]
    Failed {
        /// The command line that was started.
        line: String,
    },
    /// The library for Go programs failed.
    #[error("Go gives no component")]
    Go(#[source] go_component::Error),
    /// A tool succeeded and wrote no component.
    #[error("`{line}` made no component: {fix}")]
    Nothing {
        /// The command line that was started.
        line: String,
        /// The next step for the author.
        fix: String,
    },
    /// A file cannot be moved.
    #[error("failed to write {}", at.display())]
    Write {
        /// The path of the file.
        at: PathBuf,
        /// The cause of the error.
        #[source]
        source: io::Error,
    },
}

/// Builds the component of the project in a folder. Returns its path: `output`, or a file in the folder.
///
/// # Errors
/// If the folder is not a project, a requirement is missing, or a tool fails.
pub fn build(folder: &Path, output: Option<&Path>) -> Result<PathBuf, Error> {
    let project = project::look(folder)?;
    let output = output.map_or_else(|| folder.join(project.component()), Path::to_owned);
    // Tools run in the project's folder; `output` is relative to the current one.
    let output =
        std::path::absolute(&output).map_err(|source| Error::Write { at: output.clone(), source })?;
    match &project {
        Project::Rust { .. } => rust::build(folder, &output)?,
        Project::Go { .. } => go::build(folder, &output)?,
        Project::JavaScript { .. } => javascript::build(folder, &output)?,
        Project::Python { driver, .. } => python::build(folder, driver, &output)?,
    }
    Ok(output)
}
