//! A program as a child process that never outlives us.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use crate::files;

/// Makes the program exit when its standard input ends. The programs in Go have the same name.
const EXIT_ON_STDIN_EOF: &str = "CONTROL_PLANE_EXIT_ON_STDIN_EOF";
/// The folder that the program removes when it exits for that reason. The programs in Go have the same name.
const REMOVE_ON_STDIN_EOF: &str = "CONTROL_PLANE_REMOVE_ON_STDIN_EOF";
/// How much of its log the error of a dead process shows.
const LINES_OF_LOG: usize = 20;

/// A running program. The write end of its standard input is in `child` and stays open as long as this process
/// lives; the kernel closes it however we end, and the program exits then. Dropping it kills the program at once.
pub(crate) struct Process {
    program: String,
    child: Child,
    log: PathBuf,
}

/// The arguments that all programs of one control plane share.
pub(crate) struct Launcher {
    /// The binary that [`crate::build`] made.
    pub(crate) binary: PathBuf,
    /// Working folder, also for the logs.
    pub(crate) folder: PathBuf,
    /// Whether the folder stays when this process dies.
    pub(crate) keep: bool,
}

impl Launcher {
    /// Starts `program` with its output in `<folder>/<program>.log`.
    pub(crate) fn spawn(&self, program: &str, args: &[String]) -> anyhow::Result<Process> {
        let mut command = Command::new(&self.binary);
        // Memory for processor time: a start takes a quarter less of it.
        command.arg(program).args(args).env("GOGC", "400");
        let is_last = program == "etcd" && !self.keep;
        Process::start(command, program, &self.folder, is_last.then_some(self.folder.as_path()))
    }
}

impl Process {
    /// Starts a command in `folder`, with its output in `<folder>/<program>.log`. When this process dies, the program
    /// removes the folder `last` on its way out.
    pub(crate) fn start(
        mut command: Command,
        program: &str,
        folder: &Path,
        last: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let log = folder.join(format!("{program}.log"));
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log)
            .with_context(|| format!("failed to create {}", log.display()))?;
        command
            .current_dir(folder)
            .env(EXIT_ON_STDIN_EOF, "1")
            // A proxy for the outside world must not come between the parts of a cluster.
            .env("NO_PROXY", "127.0.0.1,localhost")
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output);
        if let Some(last) = last {
            command.env(REMOVE_ON_STDIN_EOF, last);
        }
        let child = command.spawn();
        let child = child.with_context(|| {
            format!("failed to start {program} from {}", command.get_program().to_string_lossy())
        })?;
        Ok(Self { program: program.to_owned(), child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// An error with the end of its log if the program has exited.
    pub(crate) fn ensure_running(&mut self) -> anyhow::Result<()> {
        match self
            .child
            .try_wait()
            .with_context(|| format!("failed to ask for the state of {}", self.program))?
        {
            None => Ok(()),
            Some(status) => anyhow::bail!(
                "{} exited with {status}; the last lines of its log:\n{}",
                self.program,
                files::tail(&self.log, LINES_OF_LOG)
            ),
        }
    }
}

impl Process {
    /// Kills it. Once it has ended, this does nothing.
    pub(crate) fn end(&mut self) {
        // Killed first and only then waited for (which closes its input), so that it does not begin its own exit. A
        // failure means that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(folder: &Path) -> Launcher {
        Launcher { binary: PathBuf::from("/bin/sh"), folder: folder.to_owned(), keep: true }
    }

    #[test]
    fn the_error_of_a_dead_process_shows_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        // `sh etcd` runs the script of that name in the working folder.
        std::fs::write(folder.path().join("etcd"), "echo the disk is full >&2; exit 3").unwrap();
        let mut process = shell(folder.path()).spawn("etcd", &[]).unwrap();
        process.child.wait().unwrap();
        let error = process.ensure_running().unwrap_err().to_string();
        assert!(error.contains("etcd exited") && error.contains("the disk is full"), "{error}");
    }

    #[test]
    fn dropping_a_process_kills_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("etcd"), "while read -r line; do :; done").unwrap();
        let mut process = shell(folder.path()).spawn("etcd", &[]).unwrap();
        process.ensure_running().unwrap();
        let proc = PathBuf::from(format!("/proc/{}", process.pid()));
        assert!(proc.exists());
        drop(process);
        assert!(!proc.exists());
    }
}
