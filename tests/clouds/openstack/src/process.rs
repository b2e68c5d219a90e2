//! The services as one child process that never outlives this one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::environment::Environment;

const SOURCES: [(&str, &str); 5] = [
    ("cloud.py", include_str!("services/cloud.py")),
    ("config.py", include_str!("services/config.py")),
    ("contents.py", include_str!("services/contents.py")),
    ("serve.py", include_str!("services/serve.py")),
    ("volumes.py", include_str!("services/volumes.py")),
];
/// All services answer after half a minute on an idle machine, and after another one if the databases are created
/// first.
const READY_WITHIN: Duration = Duration::from_secs(400);
const LINES_OF_LOG: usize = 20;

/// The output of the services when they answer: objects of the cloud, and values for a login.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Facts {
    pub region: String,
    pub project_id: String,
    /// The same for all users of the cloud.
    pub password: String,
    pub application_credential_id: String,
    pub application_credential_secret: String,
    pub image_id: String,
    pub nodes_network_id: String,
    pub nodes_subnet_id: String,
    pub pods_network_id: String,
    pub pods_subnet_id: String,
    /// A network whose only subnet has no free address.
    pub full_network_id: String,
    pub full_subnet_id: String,
    pub server_group_id: String,
    pub compute_host: String,
    /// The services without the proxy, by name.
    pub services: BTreeMap<String, String>,
    pub pids: Vec<u32>,
    pub seconds: BTreeMap<String, f64>,
}

/// The running services. The write end of the child's standard input is open as long as this process lives; the child
/// ends when it closes. Dropping this kills it at once.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) facts: Facts,
    // Has the state and the logs.
    _folder: TempDir,
}

impl Process {
    /// Starts the services, for a catalog with this public address, and waits until they answer. Blocks.
    pub(crate) fn start(environment: &Environment, public: &str) -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("openstack-").tempdir().context("no temporary folder")?;
        let mut all = String::new();
        for (name, source) in SOURCES {
            std::fs::write(folder.path().join(name), source)
                .with_context(|| format!("failed to write {name}"))?;
            all += source;
        }
        let log = folder.path().join("cloud.log");
        let output = std::fs::File::create(&log).context("failed to create the log of the cloud")?;
        let mut child = Command::new(environment.python())
            .arg(folder.path().join("cloud.py"))
            .args(["--public", public, "--state"])
            .arg(folder.path().join("state"))
            .arg("--template")
            .arg(environment.template(&all))
            .current_dir(folder.path())
            .env_remove("PYTHONPATH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            .spawn()
            .context("failed to start the services of OpenStack")?;
        let said = child.stdout.take().context("the services have no standard output")?;
        // From here on an error kills the child.
        let guard = Guard(Some(child));
        let line = first_line(said)?;
        let Ok(facts) = serde_json::from_str(&line) else {
            bail!("OpenStack did not start; the last lines of its log:\n{}", tail(&log));
        };
        let child = guard.release().context("the services ended")?;
        Ok(Self { child, facts, _folder: folder })
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self._folder.path().join("state")
    }
}

struct Guard(Option<Child>);

impl Guard {
    fn release(mut self) -> Option<Child> {
        self.0.take()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(end);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The child kills its own children when its standard input closes.
fn end(child: &mut Child) {
    drop(child.stdin.take());
    for _ in 0..100 {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // A failure means that it is gone already.
    let _ = child.kill();
    let _ = child.wait();
}

fn first_line(said: std::process::ChildStdout) -> anyhow::Result<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(said).read_line(&mut line);
        sender.send(read.map(|_| line)).ok();
    });
    let line = lines.recv_timeout(READY_WITHIN);
    line.with_context(|| format!("OpenStack did not answer within {READY_WITHIN:?}"))?
        .context("failed to read the output of OpenStack")
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES_OF_LOG)..).unwrap_or_default().join("\n")
}
