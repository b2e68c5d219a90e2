//! Starting other programs, with what they print passed through.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use crate::paths;

/// One command line, to be run at the root of the clone.
pub(crate) struct Line {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, PathBuf)>,
    removed: &'static [&'static str],
    folder: Option<PathBuf>,
}

impl Line {
    pub(crate) fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            removed: &[],
            folder: None,
        }
    }

    /// The cargo that runs us.
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        Self::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())).with(arguments)
    }

    pub(crate) fn with<A: AsRef<OsStr>>(mut self, arguments: &[A]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<PathBuf>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn without(mut self, names: &'static [&'static str]) -> Self {
        self.removed = names;
        self
    }

    pub(crate) fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Runs it to its end. It prints where we print.
    pub(crate) fn run(&self) -> Result<()> {
        println!("$ {}", self.shown());
        let status = self.command()?.status().with_context(|| self.not_started())?;
        if !status.success() {
            bail!("`{}` failed ({status})", self.shown());
        }
        Ok(())
    }

    /// Becomes that program: its signals, terminal and exit code are ours.
    pub(crate) fn become_it(&self) -> Result<()> {
        println!("$ {}", self.shown());
        Err(anyhow!(self.command()?.exec()).context(self.not_started()))
    }

    /// Returns the output of a command on stdout; nothing if it cannot be run or fails.
    pub(crate) fn answer(&self) -> Option<String> {
        let output = self.command().ok()?.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// As a person would type it.
    pub(crate) fn shown(&self) -> String {
        let program = Path::new(&self.program).file_name().unwrap_or(&self.program);
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={} ", value.display()));
        let arguments = self.arguments.iter().map(|argument| format!(" {}", argument.to_string_lossy()));
        variables.chain([program.to_string_lossy().into_owned()]).chain(arguments).collect()
    }

    fn command(&self) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(match &self.folder {
            Some(folder) => folder.clone(),
            None => paths::root()?,
        });
        // All that we start agrees with us on where the cache is.
        command.env("MACHINIST_CACHE", cache::folder()?);
        // Variables that cargo sets for this crate are wrong for others. Build scripts that watch these variables would
        // run again, and crates that depend on them would be compiled again, whenever you and this command call cargo
        // in turn.
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_crate(name)) {
            command.env_remove(name);
        }
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        for name in self.removed {
            command.env_remove(name);
        }
        Ok(command)
    }

    fn not_started(&self) -> String {
        format!("failed to start `{}`", self.shown())
    }
}

fn is_of_this_crate(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_as_one_would_type_it() {
        let line = Line::new("/somewhere/bin/cargo").with(&["build", "--locked"]).variable("A", "b");
        assert_eq!(line.shown(), "A=b cargo build --locked");
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_the_line() {
        let error = Line::new("false").in_folder("/").run().unwrap_err().to_string();
        assert!(error.contains("`false` failed"), "{error}");
    }

    #[test]
    fn variables_that_cargo_set_for_this_crate_are_not_passed_on() {
        let all = Line::new("env").in_folder("/").answer().unwrap();
        assert!(env::var_os("CARGO_PKG_NAME").is_some() && all.contains("PATH="), "{all}");
        assert!(!all.contains("CARGO_PKG_") && !all.contains("CARGO_MANIFEST_"), "{all}");
    }

    #[test]
    fn a_program_that_is_not_there_gives_no_answer() {
        assert_eq!(Line::new("no-such-program-anywhere").in_folder("/").answer(), None);
        assert_eq!(Line::new("echo").with(&["yes"]).in_folder("/").answer().as_deref(), Some("yes"));
    }
}
