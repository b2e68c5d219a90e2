//! Builds a component from a folder with a Go program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::contract::World;
use crate::{compiler, encode, look};

/// One build: its source and its target.
#[derive(Clone, Debug)]
pub struct Build {
    /// The folder of package main, which calls `component.Serve`.
    pub folder: PathBuf,
    /// The file to write the component to.
    pub component: PathBuf,
    /// The value of the variable `version` of package main. Absent: the value in the source.
    pub version: Option<String>,
    /// The command of Go: `go`, or a path.
    pub go: OsString,
}

/// The result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The world of the component.
    pub world: World,
    /// The name that `Describe` returns.
    pub name: String,
    /// The version that `Describe` returns.
    pub version: String,
    /// The size of the file.
    pub bytes: u64,
}

/// The reason why a build failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder holds no Go module.
    #[error("{0} is no Go module: there is no go.mod in it or above; run `go mod init NAME` there")]
    NoModule(PathBuf),
    /// The command of Go cannot be started.
    #[error(
        "failed to start {go}: install Go 1.24 or later from https://go.dev/dl/, and put its bin folder into PATH"
    )]
    NoGo {
        go: String,
        #[source]
        source: std::io::Error,
    },
    /// The compiler failed, with its own message.
    #[error("{doing} failed:\n{said}")]
    Go {
        doing: &'static str,
        /// The output of the command.
        said: String,
    },
    /// go.sum lacks modules that Go may download.
    #[error("go.sum lacks modules that the program needs: run `go mod tidy` in {}\n{said}", folder.display())]
    NoSums {
        /// The folder of the program.
        folder: PathBuf,
        said: String,
    },
    /// A linker flag cannot hold this version.
    #[error("{0:?} is no version: write a semantic version such as 0.1.0")]
    Version(String),
    /// The program serves nothing.
    #[error(
        "{0} serves nothing: call component.Serve in an init function of package main (not in main), with a driver or a policy"
    )]
    NothingServed(PathBuf),
    /// The host would reject the driver or policy.
    #[error("{0}")]
    Unfit(String),
    /// The module cannot be made a component.
    #[error("failed to make a component of what Go compiled")]
    Encode(#[source] anyhow::Error),
    /// A file cannot be read or written.
    #[error("failed to {doing} {path}")]
    File {
        /// The action: read, write and so on.
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl Build {
    /// Inspects the served driver or policy natively, compiles the program, and writes the component. The file is
    /// complete or absent.
    pub fn run(&self) -> Result<Built, Error> {
        self.check()?;
        let drafts = tempfile::tempdir().map_err(|source| Error::File {
            doing: "make a folder in",
            path: std::env::temp_dir(),
            source,
        })?;
        let compiler =
            compiler::Compiler { go: &self.go, folder: &self.folder, version: self.version.as_deref() };
        let program = drafts.path().join("look");
        compiler.native(&program)?;
        let seen = look::at(&program, &self.folder)?;
        let module = drafts.path().join("module.wasm");
        compiler.module(&module)?;
        let module = std::fs::read(&module).map_err(|source| Error::File {
            doing: "read",
            path: module.clone(),
            source,
        })?;
        let component = encode::component(&module, &seen.world).map_err(Error::Encode)?;
        write(&self.component, &component)?;
        Ok(Built { world: seen.world, name: seen.name, version: seen.version, bytes: component.len() as u64 })
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(version) = &self.version {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
            if version.is_empty() || !version.bytes().all(is_plain) {
                return Err(Error::Version(version.clone()));
            }
        }
        let folder = std::fs::canonicalize(&self.folder).map_err(|source| Error::File {
            doing: "open the folder",
            path: self.folder.clone(),
            source,
        })?;
        if !folder.ancestors().any(|folder| folder.join("go.mod").is_file()) {
            return Err(Error::NoModule(self.folder.clone()));
        }
        Ok(())
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |doing| move |source| Error::File { doing, path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed("make the folder of"))?;
    let draft =
        tempfile::Builder::new().prefix(".component-").tempfile_in(folder).map_err(failed("write"))?;
    std::fs::write(draft.path(), content).map_err(failed("write"))?;
    readable_for_all(draft.path()).map_err(failed("write"))?;
    draft.persist(path).map_err(|error| failed("write")(error.error))?;
    Ok(())
}

/// Temporary files are private; a component has the permissions of an ordinary file.
#[cfg(unix)]
fn readable_for_all(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_for_all(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
