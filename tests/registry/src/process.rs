//! The registry as a child process that never outlives us.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use crate::install::prepare;

/// The user of a registry with authentication.
pub const USER: &str = "tester";
/// The password that goes with it.
pub const PASSWORD: &str = "correct horse";
/// The same, as the registry wants it: bcrypt of [`PASSWORD`].
const HTPASSWD: &str = "tester:$2b$04$LOYJ4P6.pOXPmGz27xYBEe/wu1uHEUuzOJvG1dCr03w5pA/oqEKtW\n";

/// It listens after a tenth of a second on an idle machine; this is for a busy one.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The users who may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Open,
    /// Only [`USER`] with [`PASSWORD`].
    Locked,
}

/// A running registry, with its blobs in a temporary folder. A shell is between this process and the registry, and its
/// standard input stays open as long as this process lives: when this process ends, however that happens, the shell
/// ends the registry.
#[derive(Debug)]
pub struct Registry {
    shell: Child,
    address: String,
    _folder: TempDir,
}

const SHELL: &str = r#""$0" serve "$1" & child=$!; cat > /dev/null; kill $child; wait $child"#;

impl Registry {
    /// Starts it and waits until it listens. Blocks.
    pub fn start(door: Door) -> anyhow::Result<Self> {
        let program = prepare()?;
        let folder = tempfile::Builder::new().prefix("registry-").tempdir().context("no temporary folder")?;
        let blobs = folder.path().join("blobs");
        let mut config = format!(
            "version: 0.1\nlog: {{ level: info, formatter: json }}\nstorage:\n  filesystem: {{ rootdirectory: {:?} }}\n  delete: {{ enabled: true }}\n\
             http: {{ addr: \"127.0.0.1:0\" }}\n",
            blobs.display()
        );
        if door == Door::Locked {
            let file = folder.path().join("htpasswd");
            std::fs::write(&file, HTPASSWD)?;
            config
                .push_str(&format!("auth: {{ htpasswd: {{ realm: tests, path: {:?} }} }}\n", file.display()));
        }
        let file = folder.path().join("config.yml");
        std::fs::write(&file, config)?;
        let mut shell = Command::new("sh")
            .args(["-c", SHELL])
            .arg(program)
            .arg(file)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("failed to start the registry")?;
        let log = shell.stderr.take().context("the registry has no standard error")?;
        // From here on dropping it ends it.
        let mut registry = Self { shell, address: String::new(), _folder: folder };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // To its end: a registry whose log nobody reads blocks.
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                let address = line.split_once("listening on ").map(|(_, rest)| rest);
                if let Some(address) = address.and_then(|rest| rest.split(['"', ',', ' ']).next()) {
                    sender.send(address.to_owned()).ok();
                }
            }
        });
        let address = lines.recv_timeout(READY_WITHIN);
        registry.address =
            address.with_context(|| format!("the registry did not listen within {READY_WITHIN:?}"))?;
        Ok(registry)
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // The end of its standard input ends the shell, and that the registry.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
