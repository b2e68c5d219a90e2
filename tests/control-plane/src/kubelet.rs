//! Real kubelets on imitated machines: they join their cluster by TLS bootstrap, as everywhere else.
//!
//! The program is the kubelet of `k8s.io/kubernetes` with the container runtime of kubemark (`kubelet/` beside this
//! crate's `go.mod`). It registers its Node under a certificate that a bootstrap token gets it, renews its Lease,
//! reports conditions, and takes pods as if they ran. It serves nothing and writes into its own folder only.
//!
//! A Node that is deleted while its kubelet lives stays away: the kubelet fails to report, and does not register again.
//! When it starts the next time it does, with the certificate that it has; no bootstrap token is needed for that. Its
//! address is the one of this machine's first network interface, if there is one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::process::Process;
use crate::usage::{ProcessUsage, process_usage};
use crate::{files, kubeconfig};

const PROGRAM: &str = "kubelet";
const BOOTSTRAP_KUBECONFIG: &str = "bootstrap-kubeconfig";
const KUBECONFIG: &str = "kubeconfig";

/// How a kubelet joins, and on which machine it runs.
#[derive(Clone)]
pub struct KubeletOptions {
    /// The name of its Node.
    pub node_name: String,
    /// The text of a kubeconfig with a bootstrap token.
    pub bootstrap_kubeconfig: String,
    /// Without one, somebody else has to say which VM the Node is.
    pub provider_id: Option<String>,
    /// Labels with which the Node registers.
    pub labels: BTreeMap<String, String>,
    pub machine: Machine,
    /// Further arguments of the kubelet; they come last and so win over ours.
    pub args: Vec<String>,
}

/// The imitated machine, as its Node's status has it.
#[derive(Clone, Debug)]
pub struct Machine {
    pub id: String,
    /// Tells one boot from another.
    pub boot_id: String,
    pub cpus: u32,
    pub memory_gib: u32,
}

impl Default for Machine {
    fn default() -> Self {
        Self { id: String::new(), boot_id: String::new(), cpus: 2, memory_gib: 4 }
    }
}

impl KubeletOptions {
    /// A kubelet that joins with this kubeconfig, whose Node has no provider id and no labels of its own.
    pub fn new(node_name: &str, bootstrap_kubeconfig: String) -> Self {
        Self {
            node_name: node_name.to_owned(),
            bootstrap_kubeconfig,
            provider_id: None,
            labels: BTreeMap::new(),
            machine: Machine::default(),
            args: Vec::new(),
        }
    }

    /// A kubelet that joins the API server at this address, whose certificate this authority (PEM) has signed, with
    /// this bootstrap token.
    pub fn with_token(node_name: &str, server: &str, authority: &str, token: &str) -> anyhow::Result<Self> {
        Ok(Self::new(node_name, kubeconfig::bootstrap_kubeconfig(server, authority, token)?))
    }

    fn arguments(&self) -> Vec<String> {
        let Machine { id, boot_id, cpus, memory_gib } = &self.machine;
        let mut args = vec![
            // The folder in which it runs.
            "--root-dir=.".to_owned(),
            format!("--bootstrap-kubeconfig={BOOTSTRAP_KUBECONFIG}"),
            format!("--hostname-override={}", self.node_name),
            format!("--machine-id={id}"),
            format!("--boot-id={boot_id}"),
            format!("--machine-cpus={cpus}"),
            format!("--machine-memory-gib={memory_gib}"),
        ];
        args.extend(self.provider_id.as_ref().map(|id| format!("--provider-id={id}")));
        let labels: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        args.extend((!labels.is_empty()).then(|| format!("--node-labels={}", labels.join(","))));
        args.extend(self.args.iter().cloned());
        args
    }
}

/// A running kubelet, or one that has ended. Dropping it kills it, without a word to the API server, and removes its
/// folder. If the process that started it dies in any way, it exits and removes the folder itself.
pub struct Kubelet {
    // Dropped in this order: the process before the folder it runs in.
    process: Process,
    binary: PathBuf,
    folder: TempDir,
}

impl Kubelet {
    /// Starts the program that [`crate::build::kubelet`] built, on a machine with an empty disk.
    pub fn start(binary: &Path, options: &KubeletOptions) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("kubelet-").tempdir().context("no temporary folder")?;
        let process = spawn(binary, folder.path(), options)?;
        Ok(Self { process, binary: binary.to_owned(), folder })
    }

    /// Ends it if it runs, and starts it on the same disk, as when its machine reboots: it still has the certificate
    /// that it got.
    pub fn restart(&mut self, options: &KubeletOptions) -> anyhow::Result<()> {
        self.process.end();
        self.process = spawn(&self.binary, self.folder.path(), options)?;
        Ok(())
    }

    /// Fails if it has ended, with the end of its log.
    pub fn ensure_running(&mut self) -> anyhow::Result<()> {
        self.process.ensure_running()
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The CPU time and memory that it uses.
    pub fn usage(&self) -> anyhow::Result<ProcessUsage> {
        process_usage(self.pid())
    }

    /// The folder with everything that it wrote, its log (`kubelet.log`) included.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The kubeconfig with its certificate; the file comes when it has joined.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder().join(KUBECONFIG)
    }

    pub fn log(&self) -> String {
        files::tail(self.process.log(), usize::MAX)
    }

    /// Freezes it, as when its machine hangs, or lets it go on. A frozen kubelet does not notice that the process that
    /// started it dies.
    pub fn freeze(&self, is_frozen: bool) -> anyhow::Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid()).context("a strange process id")?);
        kill(pid, if is_frozen { Signal::SIGSTOP } else { Signal::SIGCONT })
            .context("failed to signal a kubelet")
    }
}

fn spawn(binary: &Path, folder: &Path, options: &KubeletOptions) -> anyhow::Result<Process> {
    files::write_private(&folder.join(BOOTSTRAP_KUBECONFIG), &options.bootstrap_kubeconfig)?;
    let mut command = Command::new(binary);
    // Twenty kubelets on two cores: threads and garbage cost more than they give.
    command.args(options.arguments()).env("GOMAXPROCS", "1");
    Process::start(command, PROGRAM, folder, Some(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_one_argument_and_the_callers_arguments_come_last() {
        let mut options = KubeletOptions::with_token("n", "https://s", "CA", "a.b").unwrap();
        assert!(!options.arguments().iter().any(|arg| arg.contains("labels") || arg.contains("provider-id")));
        options.labels = [("a", "1"), ("b/c", "2")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        options.provider_id = Some("sim:///z/1".to_owned());
        options.args = vec!["--boot-id=7".to_owned()];
        let args = options.arguments();
        assert!(args.contains(&"--node-labels=a=1,b/c=2".to_owned()), "{args:?}");
        assert!(args.contains(&"--provider-id=sim:///z/1".to_owned()), "{args:?}");
        assert_eq!(args.last().unwrap(), "--boot-id=7");
        assert!(!args.iter().any(|arg| arg.contains("a.b")), "the token is in no argument");
    }
}
