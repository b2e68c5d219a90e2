//! moto's server as a child process that never outlives us.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use tempfile::TempDir;

const SERVE: &str = include_str!("serve.py");
/// It listens after half a second on an idle machine; this is for a busy one.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How much of its log an error shows.
const LINES_OF_LOG: usize = 20;

/// A running moto. The write end of its standard input is in `child` and stays open as long as this process lives; the
/// kernel closes it however we end, and moto exits then. (A death signal from the kernel is not used: it would come
/// when the *thread* that started moto ends.) Dropping it kills moto at once.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    hello: Hello,
    // Its log is in there.
    _folder: TempDir,
}

/// The line that moto prints when it listens.
#[derive(Debug, Deserialize)]
struct Hello {
    port: u16,
    regions: Vec<String>,
}

impl Process {
    /// Starts it with the environment's Python and waits until it listens. Blocks.
    pub(crate) fn start(python: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("moto-").tempdir().context("no temporary folder")?;
        let log = folder.path().join("moto.log");
        let output =
            std::fs::File::create(&log).with_context(|| format!("failed to create {}", log.display()))?;
        let mut child = Command::new(python)
            // Nothing of the user's own Python.
            .args(["-I", "-c", SERVE])
            .current_dir(folder.path())
            // As the real one, it refuses instance types that do not exist.
            .env("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            .spawn()
            .with_context(|| format!("failed to start moto with {}", python.display()))?;
        let said = child.stdout.take().context("moto has no standard output")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(said).read_line(&mut line);
            sender.send(read.map(|_| line)).ok();
        });
        let line = lines.recv_timeout(READY_WITHIN);
        // From here on dropping it kills it.
        let mut process = Self { child, hello: Hello { port: 0, regions: Vec::new() }, _folder: folder };
        let line = line.with_context(|| format!("moto did not listen within {READY_WITHIN:?}"))?;
        let line = line.context("failed to read what moto says")?;
        let Ok(hello) = serde_json::from_str(&line) else {
            let _ = process.child.wait();
            bail!("moto did not start; the last lines of its log:\n{}", tail(&log));
        };
        process.hello = hello;
        Ok(process)
    }

    /// Where it listens, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.hello.port)
    }

    /// The regions that it knows.
    pub(crate) fn regions(&self) -> &[String] {
        &self.hello.regions
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failure means that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_OF_LOG)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_moto_that_did_not_start_shows_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        std::fs::write(&python, "#!/bin/sh\necho no module named moto >&2\n").unwrap();
        std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = Process::start(&python).unwrap_err().to_string();
        assert!(error.contains("no module named moto"), "{error}");
    }
}
