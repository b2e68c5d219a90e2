//! Starts the tools of a language.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Error, version};

/// The requirement of a tool.
pub(super) struct Need {
    /// The tool's name in messages.
    pub(super) name: &'static str,
    /// The argument that prints its version.
    pub(super) asks: &'static str,
    /// The minimum major and minor version.
    pub(super) least: (u32, u32),
    /// The command that installs it.
    pub(super) install: &'static str,
    /// The command that upgrades it.
    pub(super) renew: &'static str,
}

impl Need {
    /// Checks the version of the tool.
    pub(super) fn check(&self, program: &OsStr, folder: &Path) -> Result<(), Error> {
        let least = format!("{} {}.{} or later", self.name, self.least.0, self.least.1);
        let said = said(Command::new(program).arg(self.asks).current_dir(folder))?;
        let Some(said) = said else {
            return Err(Error::Missing { what: least, fix: self.install.to_owned() });
        };
        match version::first(&said) {
            Some(found) if found < self.least => {
                let found = said.lines().next().unwrap_or_default().to_owned();
                Err(Error::TooOld { what: least, found, fix: self.renew.to_owned() })
            }
            // A tool with an unknown version format may work all the same.
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the output of a command. `None`: there is no such program, or it does not work.
pub(super) fn said(command: &mut Command) -> Result<Option<String>, Error> {
    match command.stdin(Stdio::null()).stderr(Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Start { program: line(command), source }),
    }
}

/// Runs a command to its end. Its output is written to standard error, since standard output is for the result.
pub(super) fn run(command: &mut Command) -> Result<(), Error> {
    let status = command.stdin(Stdio::null()).stdout(io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::Failed { line: line(command) }),
        Err(source) => Err(Error::Start { program: line(command), source }),
    }
}

/// Returns a command as a user types it.
pub(super) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let word = |word: &OsStr| {
        let text = word.to_string_lossy();
        let is_plain = !text.is_empty()
            && !text.contains(|letter: char| letter.is_whitespace() || "'\"\\$;".contains(letter));
        if is_plain { text.into_owned() } else { format!("'{text}'") }
    };
    words.map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: Need =
        Need { name: "Tool", asks: "--version", least: (3, 2), install: "install it", renew: "renew it" };

    /// Creates a tool that prints this.
    fn tool(folder: &Path, prints: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join("tool");
        std::fs::write(&path, format!("#!/bin/sh\n{prints}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn missing_or_old_tools_are_reported_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let check = |prints: &str| {
            NEED.check(tool(folder.path(), prints).as_os_str(), folder.path())
                .map_err(|error| error.to_string())
        };
        assert_eq!(check("echo Tool 3.2.0"), Ok(()));
        assert_eq!(check("echo Tool of today"), Ok(()));
        assert_eq!(
            check("echo Tool 3.1.9").unwrap_err(),
            "Tool 3.2 or later is needed, and here is Tool 3.1.9: renew it"
        );
        assert_eq!(check("exit 1").unwrap_err(), "Tool 3.2 or later is missing: install it");
        let error = NEED.check(OsStr::new("there-is-no-such-tool"), folder.path()).unwrap_err().to_string();
        assert_eq!(error, "Tool 3.2 or later is missing: install it");
    }

    #[test]
    fn a_tool_that_fails_is_named_as_it_was_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = tool(folder.path(), "exit 3");
        let error = run(Command::new(&path).args(["-o", "a b"])).unwrap_err().to_string();
        assert_eq!(error, format!("`{} -o 'a b'` failed: its messages are above", path.display()));
    }
}
