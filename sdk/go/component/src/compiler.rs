//! The Go compiler, natively and for WebAssembly.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::build::Error;

/// Omits symbol tables: a component is a third smaller, and panics still name their place.
const SMALL: &str = "-s -w";

pub(crate) struct Compiler<'a> {
    pub(crate) go: &'a OsStr,
    pub(crate) folder: &'a Path,
    pub(crate) version: Option<&'a str>,
}

impl Compiler<'_> {
    /// Compiles a program for this machine.
    pub(crate) fn native(&self, program: &Path) -> Result<(), Error> {
        let mut command = self.command(program);
        // The program must run on this machine, whatever target the user's shell sets; it needs no C compiler.
        command.env_remove("GOOS").env_remove("GOARCH").env("CGO_ENABLED", "0").arg(".");
        self.run(command, "go build")
    }

    /// Compiles a module for the component.
    pub(crate) fn module(&self, module: &Path) -> Result<(), Error> {
        let mut command = self.command(module);
        command.env("GOOS", "wasip1").env("GOARCH", "wasm").arg("-buildmode=c-shared").arg(".");
        self.run(command, "go build for WebAssembly (GOOS=wasip1 GOARCH=wasm)")
    }

    fn command(&self, output: &Path) -> Command {
        let version = self.version.map(|version| format!(" -X main.version={version}")).unwrap_or_default();
        let mut command = Command::new(self.go);
        // Two builds of the same sources are the same bytes, in any folder.
        command.current_dir(self.folder).args(["build", "-trimpath", "-buildvcs=false"]);
        command.arg(format!("-ldflags={SMALL}{version}")).arg("-o").arg(output);
        command
    }

    fn run(&self, mut command: Command, doing: &'static str) -> Result<(), Error> {
        let output = command
            .output()
            .map_err(|source| Error::NoGo { go: self.go.to_string_lossy().into_owned(), source })?;
        if output.status.success() {
            return Ok(());
        }
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let said = said.trim().to_owned();
        // Go's own advice is to get the program itself, which does not help.
        if said.contains("missing go.sum entry") {
            return Err(Error::NoSums { folder: self.folder.to_owned(), said });
        }
        Err(Error::Go { doing, said })
    }
}
