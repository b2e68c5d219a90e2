//! The managers of core and kubeadm bootstrap provider as processes.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use control_plane::{ControlPlane, end_with_this_thread, free_port};

use crate::programs::Programs;
use crate::webhooks;

/// A manager of Cluster API.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Its name among the programs.
    pub(crate) program: &'static str,
    /// Where its account is.
    pub(crate) namespace: &'static str,
    flags: &'static [&'static str],
}

pub(crate) static CORE: Kind =
    Kind { program: "core", namespace: "capi-system", flags: &["--feature-gates=ClusterTopology=true"] };
/// Without it core rewrites the objects of its definitions once it starts.
const SKIP_MIGRATION: &str = "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields";
pub(crate) static KUBEADM: Kind =
    Kind { program: "kubeadm-bootstrap", namespace: "capi-kubeadm-bootstrap-system", flags: &[] };

const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
const LINES_OF_LOG: usize = 20;

/// Whether core migrates its definitions: it rewrites their objects, and notes that on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    Skipped,
    Done,
}

/// Core and kubeadm bootstrap provider of one management cluster.
#[derive(Debug)]
pub struct Managers {
    pub core: Manager,
    pub kubeadm: Manager,
}

impl Managers {
    /// Starts both under their accounts, which [`crate::install`] made, waits until they are ready, and registers their
    /// webhooks.
    pub async fn start(programs: &Programs, plane: &ControlPlane, migration: Migration) -> Result<Self> {
        let skipped = [SKIP_MIGRATION];
        let flags: &[&str] = match migration {
            Migration::Skipped => &skipped,
            Migration::Done => &[],
        };
        let core = Manager::start(&CORE, programs, plane, flags).await?;
        let kubeadm = Manager::start(&KUBEADM, programs, plane, &[]).await?;
        Ok(Self { core, kubeadm })
    }
}

/// A manager that runs.
#[derive(Debug)]
pub struct Manager {
    name: &'static str,
    child: Child,
    health: u16,
    metrics: u16,
    log: PathBuf,
}

impl Manager {
    async fn start(kind: &Kind, programs: &Programs, plane: &ControlPlane, flags: &[&str]) -> Result<Self> {
        let folder = plane.folder().join(kind.namespace);
        std::fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let kubeconfig = plane.kubeconfig_for_service_account(kind.namespace, kind.account()).await?;
        let certificate = webhooks::certificate(&folder)?;
        let (webhook, health, metrics) = (free_port()?, free_port()?, free_port()?);
        let log = folder.join("log");
        let output = OpenOptions::new().create(true).append(true).open(&log)?;
        let mut command = Command::new(programs.program(kind.program));
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--webhook-cert-dir={}", folder.display()))
            .arg(format!("--webhook-port={webhook}"))
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .arg(format!("--diagnostics-address=127.0.0.1:{metrics}"))
            .args(["--insecure-diagnostics", "--leader-elect=false"])
            .args(kind.flags)
            .args(flags)
            .current_dir(&folder)
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("POD_NAMESPACE", kind.namespace)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        end_with_this_thread(&mut command);
        let child = command.spawn().with_context(|| format!("failed to start {}", kind.program))?;
        let mut manager = Self { name: kind.program, child, health, metrics, log };
        manager.ready().await?;
        for configuration in programs.objects(&format!("{}-webhooks/manifests.yaml", kind.program))? {
            let own = webhooks::at(configuration, kind.namespace, webhook, &certificate);
            plane.apply(&own.to_string()).await?;
        }
        Ok(manager)
    }

    /// Waits until it says that it is ready. When it has ended instead, the end of its log is the complaint.
    async fn ready(&mut self) -> Result<()> {
        let url = format!("http://127.0.0.1:{}/readyz", self.health);
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}:\n{}", self.name, self.log_end());
            }
            if http.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "{} is not ready:\n{}", self.name, self.log_end());
            tokio::time::sleep(POLL).await;
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it serves its metrics.
    pub fn metrics_url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.metrics)
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.split_at(lines.len().saturating_sub(LINES_OF_LOG)).1.join("\n")
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Kind {
    /// The account in its manifests.
    fn account(&self) -> &'static str {
        "manager"
    }
}
