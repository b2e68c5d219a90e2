//! One running control plane: start, stop, accounts.
//!
//! | module | content |
//! | --- | --- |
//! | `options` | the options of a control plane |
//! | `arguments` | the command lines of the four programs |
//! | `accounts` | kubeconfigs, bootstrap tokens and clients |
//! | `access` | waits until the authorizer knows new roles and bindings |

mod access;
mod accounts;
mod arguments;
mod options;

use std::future::Future;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Api, DynamicObject};
use kube::config::Config;
use tempfile::TempDir;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::certs::{self, Authority};
use crate::kubeconfig::Credential;
use crate::process::{Launcher, Process};
use crate::{apply, build, files};

use accounts::{config_from, kubeconfig_path, write_kubeconfig};

pub use accounts::client_from;
pub use options::Options;

const ADMIN: &str = "admin";
const NODE_SIMULATOR: &str = "nodesim";
const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";
const NODE_SIMULATOR_RULES: &str = include_str!("rules/nodesim.yaml");
const TOKENS_REGISTER: &str = include_str!("rules/tokens-register.yaml");
const TOKENS_REQUEST_CERTIFICATES: &str = include_str!("rules/tokens-request-certificates.yaml");
/// Verbs and resources with which a Node registers.
const REGISTRATION: [(&str, &str); 2] = [("create", "nodes"), ("create", "coordination.k8s.io/leases")];
/// Verbs and resources with which a token gets a certificate: it requests one, and the controller may approve that.
const CERTIFICATES: [(&str, &str); 2] = [
    ("create", "certificates.k8s.io/certificatesigningrequests"),
    ("create", "certificates.k8s.io/certificatesigningrequests/nodeclient"),
];
/// The namespaces that kube-apiserver creates, a moment after it is ready.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Ports below those that the kernel gives to outgoing connections and to listeners without a wish, so that none of
/// these takes the port before its server listens, or while that is stopped.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Ready after 3 s on an idle machine; this is for a busy one.
const READY_WITHIN: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);
/// How often another port is tried when somebody took ours between choosing and listening.
const ATTEMPTS: usize = 3;

/// A running control plane. Dropping it kills its processes and removes its folder.
pub struct ControlPlane {
    // Dropped in this order: the processes before the folder they run in.
    processes: Mutex<Processes>,
    launcher: Launcher,
    options: Options,
    port: u16,
    authority: Authority,
    config: Config,
    folder: TempDir,
}

struct Processes {
    scheduler: Option<Process>,
    controller_manager: Option<Process>,
    api_server: Option<Process>,
    etcd: Process,
}

/// The process ids of a control plane; `None` for what does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pids {
    pub etcd: u32,
    /// Of kube-apiserver; `None` between [`ControlPlane::stop_api_server`] and [`ControlPlane::start_api_server`].
    pub api_server: Option<u32>,
    /// Of kube-controller-manager; `None` if the options left it out.
    pub controller_manager: Option<u32>,
    /// Of kube-scheduler; `None` without workloads.
    pub scheduler: Option<u32>,
}

impl Pids {
    /// The ids of those that run.
    pub fn running(&self) -> Vec<u32> {
        [Some(self.etcd), self.api_server, self.controller_manager, self.scheduler]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl ControlPlane {
    /// Builds the binary if it must and starts a control plane. Returns when the API server is ready, its own
    /// namespaces exist, the rules for bootstrap tokens and the node simulator hold, and the controllers work.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        // Fails if somebody installed one before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let binary = tokio::task::spawn_blocking(build::binary).await.context("the builder panicked")??;
        let mut attempt = 1;
        loop {
            match Self::start_once(&binary, options.clone()).await {
                Err(error)
                    if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") =>
                {
                    tracing::debug!(attempt, "the chosen port was taken");
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn start_once(binary: &Path, options: Options) -> anyhow::Result<Self> {
        anyhow::ensure!(
            options.controller_manager || !options.node_authorization,
            "node_authorization needs the controller manager, which approves and signs"
        );
        let started = Instant::now();
        let mut folder =
            tempfile::Builder::new().prefix("control-plane-").tempdir().context("no temporary folder")?;
        folder.disable_cleanup(options.keep);
        let authority = Authority::generate()?;
        let port = free_port()?;
        write_keys(folder.path(), &authority)?;
        if options.node_authorization {
            files::write_private(&folder.path().join(arguments::CA_KEY), &authority.key())?;
        }
        for (user, groups) in [
            (ADMIN, ["system:masters"].as_slice()),
            (CONTROLLER_MANAGER, ["system:masters"].as_slice()),
            (SCHEDULER, ["system:masters"].as_slice()),
            (NODE_SIMULATOR, [].as_slice()),
        ] {
            write_kubeconfig(
                folder.path(),
                port,
                &authority,
                user,
                &Credential::Certificate(authority.client(user, groups)?),
            )?;
        }
        let config = config_from(&kubeconfig_path(folder.path(), ADMIN)).await?;
        let launcher =
            Launcher { binary: binary.to_owned(), folder: folder.path().to_owned(), keep: options.keep };
        let etcd = launcher.spawn("etcd", &arguments::etcd())?;
        let processes =
            Mutex::new(Processes { scheduler: None, controller_manager: None, api_server: None, etcd });
        let plane = Self { processes, launcher, options, port, authority, config, folder };
        let socket = plane.folder().join(arguments::ETCD_SOCKET);
        plane.wait_until("etcd listens", async || socket.exists()).await?;
        plane.start_api_server().await?;
        plane.prepare().await?;
        tracing::debug!(folder = %plane.folder().display(), seconds = started.elapsed().as_secs_f64(), "started");
        Ok(plane)
    }

    /// Adds the parts that a server lacks when it has just become ready.
    async fn prepare(&self) -> anyhow::Result<()> {
        let client = self.client()?;
        if self.options.controller_manager {
            let process =
                self.launcher.spawn(CONTROLLER_MANAGER, &arguments::controller_manager(&self.options))?;
            self.processes().controller_manager = Some(process);
        }
        if self.options.workloads {
            let process = self.launcher.spawn(SCHEDULER, &arguments::scheduler(&self.options))?;
            self.processes().scheduler = Some(process);
        }
        let (of_tokens, rights_of_tokens) = if self.options.node_authorization {
            (TOKENS_REQUEST_CERTIFICATES, CERTIFICATES)
        } else {
            (TOKENS_REGISTER, REGISTRATION)
        };
        for rules in [NODE_SIMULATOR_RULES, of_tokens] {
            let applied = apply::apply(&client, rules).await;
            applied.context("failed to apply the rules of the test control plane")?;
        }
        for right in rights_of_tokens {
            let groups = ["system:bootstrappers"];
            access::wait_until_allowed(&client, "system:bootstrap:any", &groups, right).await?;
        }
        for right in REGISTRATION {
            access::wait_until_allowed(&client, NODE_SIMULATOR, &[], right).await?;
        }
        let namespaces: Api<Namespace> = Api::all(client.clone());
        for name in NAMESPACES {
            self.wait_until(name, async || namespaces.get(name).await.is_ok()).await?;
        }
        if self.options.controller_manager {
            let accounts: Api<ServiceAccount> = Api::namespaced(client, "default");
            self.wait_until("the controllers work", async || accounts.get("default").await.is_ok()).await?;
        }
        Ok(())
    }

    /// The folder with data, logs (`<program>.log`), keys and kubeconfigs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of the API server.
    pub fn server(&self) -> String {
        server(self.port)
    }

    /// Applies the documents of a YAML text as the administrator; see [`crate::apply()`].
    pub async fn apply(&self, manifests: &str) -> anyhow::Result<Vec<DynamicObject>> {
        apply::apply(&self.client()?, manifests).await
    }

    /// Applies a YAML file, or those of a folder in the order of their names.
    pub async fn apply_path(&self, path: impl AsRef<Path>) -> anyhow::Result<Vec<DynamicObject>> {
        let mut applied = Vec::new();
        for file in files::manifests_at(path.as_ref())? {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("failed to read {}", file.display()))?;
            applied.extend(self.apply(&text).await.with_context(|| format!("in {}", file.display()))?);
        }
        Ok(applied)
    }

    /// Returns once RBAC lets the user, as a member of these groups, do `verb` on `resource` (`group/resource`, or the
    /// bare name in the core group) in all namespaces. RBAC follows new roles with a short delay.
    pub async fn wait_until_allowed(
        &self,
        user: &str,
        groups: &[&str],
        verb: &str,
        resource: &str,
    ) -> anyhow::Result<()> {
        access::wait_until_allowed(&self.client()?, user, groups, (verb, resource)).await
    }

    /// The ids of the processes that run now.
    pub fn pids(&self) -> Pids {
        let processes = self.processes();
        Pids {
            etcd: processes.etcd.pid(),
            api_server: processes.api_server.as_ref().map(Process::pid),
            controller_manager: processes.controller_manager.as_ref().map(Process::pid),
            scheduler: processes.scheduler.as_ref().map(Process::pid),
        }
    }

    /// Kills the API server at once, as a power cut would. The rest runs on.
    pub fn stop_api_server(&self) {
        self.processes().api_server = None;
    }

    /// Starts the API server on its address, over the data that etcd still has, and waits until it is ready.
    pub async fn start_api_server(&self) -> anyhow::Result<()> {
        {
            let mut processes = self.processes();
            anyhow::ensure!(processes.api_server.is_none(), "the API server is running");
            let args = arguments::api_server(self.port, &self.options);
            processes.api_server = Some(self.launcher.spawn("kube-apiserver", &args)?);
        }
        let client = self.client()?;
        self.wait_until("the API server is ready", async || {
            let request = http::Request::get("/readyz").body(Vec::new());
            match request {
                Ok(request) => client.request_text(request).await.is_ok(),
                Err(_) => false,
            }
        })
        .await
    }

    /// Asks again and again until it holds. Fails when it takes too long or when a process has died.
    async fn wait_until<F: Future<Output = bool>>(
        &self,
        what: &str,
        mut holds: impl FnMut() -> F,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            self.processes().ensure_running()?;
            // Refused connections are expected here; kube would log each as an error.
            if holds().with_subscriber(NoSubscriber::default()).await {
                return Ok(());
            }
            if Instant::now() > deadline {
                anyhow::bail!("not so after {READY_WITHIN:?}: {what}\n{}", self.processes().logs());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Processes {
    fn all(&mut self) -> impl Iterator<Item = &mut Process> {
        [
            Some(&mut self.etcd),
            self.api_server.as_mut(),
            self.controller_manager.as_mut(),
            self.scheduler.as_mut(),
        ]
        .into_iter()
        .flatten()
    }

    fn ensure_running(&mut self) -> anyhow::Result<()> {
        self.all().try_for_each(Process::ensure_running)
    }

    /// The end of each log.
    fn logs(&mut self) -> String {
        let ends = self
            .all()
            .map(|process| format!("{}:\n{}", process.log().display(), files::tail(process.log(), 10)));
        ends.collect::<Vec<_>>().join("\n")
    }
}

fn write_keys(folder: &Path, authority: &Authority) -> anyhow::Result<()> {
    let server = authority.server()?;
    let (account_key, account_public) = certs::service_account_keys()?;
    for (name, content) in [
        ("ca.crt", &authority.certificate()),
        ("server.crt", &server.certificate),
        ("server.key", &server.key),
        ("service-account.key", &account_key),
        ("service-account.pub", &account_public),
    ] {
        files::write_private(&folder.join(name), content)?;
    }
    Ok(())
}

fn server(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

/// A port of 127.0.0.1 on which nobody listens now, for a server that cannot choose one itself.
pub fn free_port() -> anyhow::Result<u16> {
    for _ in 0..200 {
        let port = rand::random_range(PORTS);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    anyhow::bail!("no free port on 127.0.0.1 between {} and {}", PORTS.start, PORTS.end)
}
