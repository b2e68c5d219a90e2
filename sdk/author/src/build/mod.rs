//! From a project to a component, with the tools of its language.
//!
//! Before a tool starts, all of its prerequisites are checked, so that an error names the missing one and the command
//! that installs it. The tools' own messages go to standard error as they come.

mod go;
mod javascript;
mod python;
mod rust;
mod tool;
mod version;

use std::io;
use std::path::{Path, PathBuf};

use crate::project::{self, Project};

/// A component cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is no project.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// Something is not installed.
    #[error("{what} is missing: {fix}")]
    Missing {
        what: String,
        /// The command that fixes it.
        fix: String,
    },
    /// Something is too old.
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
        program: String,
        #[source]
        source: io::Error,
    },
    /// A tool said no.
    #[error("`{line}` failed: its messages are above")]
    Failed {
        /// As it was started.
        line: String,
    },
    /// The tool that makes components of Go programs refused.
    #[error("Go gives no component")]
    Go(#[source] go_component::Error),
    /// A tool was content, and nothing is there.
    #[error("`{line}` made no component: {fix}")]
    Nothing {
        /// As it was started.
        line: String,
        fix: String,
    },
    /// A file cannot be moved.
    #[error("failed to write {}", at.display())]
    Write {
        at: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Makes the component of the project in a folder. Answers where it is: `output`, or a file in the folder.
///
/// # Errors
/// When the folder is no project, something is missing, or a tool fails.
pub fn build(folder: &Path, output: Option<&Path>) -> Result<PathBuf, Error> {
    let project = project::look(folder)?;
    let output = output.map_or_else(|| folder.join(project.component()), Path::to_owned);
    // Tools run in the project's folder, whatever the output is relative to.
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
