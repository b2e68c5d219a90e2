//! LXD's daemon, with all that it starts, which never outlives us.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::tools;

const SERVE: &str = include_str!("serve.sh");
/// It listens after a second on an idle machine; this is for a busy one.
const READY_WITHIN: Duration = Duration::from_secs(90);
const STOPPED_WITHIN: Duration = Duration::from_secs(120);
const LINES_OF_LOG: usize = 20;

/// A running daemon and its folder. A script holds them; it cleans up when this process lets go of its standard input,
/// however it ends.
#[derive(Debug)]
pub(crate) struct Process {
    script: Child,
    folder: PathBuf,
}

impl Process {
    /// Starts the daemon and waits until it answers on its socket. Blocks.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // The script removes it. LXD's sockets must have short paths.
        let folder = tempfile::Builder::new().prefix("lxd-").tempdir().context("no temporary folder")?.keep();
        let script = Command::new("sh")
            .args(["-c", SERVE, "serve.sh"])
            .arg(&folder)
            .env("PATH", tools::path())
            .env("LXD_CONF", folder.join("client"))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal for the group of the test, such as that of Ctrl-C, must not reach it.
            .process_group(0)
            .spawn()
            .context("failed to start LXD")?;
        // From here on dropping it cleans up.
        let process = Self { script, folder };
        let ready = process
            .command("lxd")
            .args(["waitready", "--timeout"])
            .arg(READY_WITHIN.as_secs().to_string())
            .output();
        let ready = ready.context("failed to run lxd waitready")?;
        if !ready.status.success() {
            bail!("LXD did not start within {READY_WITHIN:?}; the last lines of its log:\n{}", process.log());
        }
        Ok(process)
    }

    /// The process id of the script that holds the daemon.
    pub(crate) fn pid(&self) -> u32 {
        self.script.id()
    }

    /// The folder with everything: daemon, disks of containers, logs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command that talks to this daemon as its administrator.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("PATH", tools::path())
            .env("LXD_DIR", &self.folder)
            .env("LXD_CONF", self.folder.join("client"))
            .stdin(Stdio::null());
        command
    }

    /// Runs `lxc` to a good end. Blocks.
    pub(crate) fn lxc(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let said = self.command("lxc").args(arguments).output().context("failed to run lxc")?;
        text_of(&said).with_context(|| format!("lxc {} failed", arguments.join(" ")))
    }

    /// Gives `lxd init` its configuration. Blocks.
    pub(crate) fn configure(&self, preseed: &str) -> anyhow::Result<()> {
        let file = self.folder.join("preseed.yaml");
        std::fs::write(&file, preseed).with_context(|| format!("failed to write {}", file.display()))?;
        let input = File::open(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let said = self.command("lxd").args(["init", "--preseed"]).stdin(input).output();
        text_of(&said.context("failed to run lxd init")?).context("lxd init failed").map(drop)
    }

    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("lxd.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(LINES_OF_LOG)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let started = Instant::now();
        while started.elapsed() < STOPPED_WITHIN {
            match self.script.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        eprintln!("LXD in {} does not end: stop it and remove the folder by hand", self.folder.display());
    }
}

fn text_of(said: &Output) -> anyhow::Result<String> {
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).trim());
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}
