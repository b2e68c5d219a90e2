//! LXD as tests start and query it.

use std::collections::BTreeMap;
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::credentials::{Credentials, client_certificate};
use crate::faults::Faults;
use crate::image::Images;
use crate::instance::Instance;
use crate::ledger::Change;
use crate::live::LiveInstance;
use crate::options::Options;
use crate::process::Process;
use crate::proxy::{Entry, Proxy};
use crate::tools;

/// The alias of the image of Debian 12 with systemd and cloud-init.
pub const DEBIAN: &str = "debian-12";
/// The alias of the image that starts in no time and runs no user data.
pub const SMALL: &str = "small";

/// A running LXD: the daemon, its images, and the proxies in front of it. All end when it is dropped, with every
/// container, mount and file.
#[derive(Debug)]
pub struct Lxd {
    // Dropped in this order: nobody asks an LXD that is gone.
    proxy: Proxy,
    process: Process,
    credentials: Credentials,
    https_url: String,
    client: reqwest::Client,
    started_in: Duration,
}

impl Lxd {
    /// Builds the images if it must, and starts everything. The error says what to do.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        // Fails only when another test was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        tools::for_running()?;
        let started = tokio::task::spawn_blocking(move || {
            let images = Images::prepare()?;
            Daemon::start(&options, &images)
        });
        let Daemon { process, credentials, port, took } = started.await.context("the starter panicked")??;
        let https_url = format!("https://127.0.0.1:{port}");
        let client = client(&credentials)?;
        let proxy = Proxy::start(https_url.clone(), client.clone())?;
        Ok(Self { proxy, process, credentials, https_url, client, started_in: took })
    }

    /// As [`Self::start`], if the images are built. Otherwise the error names the command that builds them.
    pub async fn start_prepared(options: Options) -> anyhow::Result<Self> {
        tools::for_running()?;
        Images::prepared()?;
        Self::start(options).await
    }

    /// The address for drivers: plain HTTP, authenticated, with faults. No slash at the end.
    pub fn url(&self) -> String {
        self.proxy.url()
    }

    /// The same without faults; a change is done when it answers.
    pub fn admin_url(&self) -> String {
        self.proxy.admin_url()
    }

    /// LXD's own address, for clients with the certificate.
    pub fn https_url(&self) -> &str {
        &self.https_url
    }

    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// How long it took to start, without building images.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// The process that holds the daemon and cleans up after it.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The folder with everything that is removed at the end.
    pub fn folder(&self) -> &std::path::Path {
        self.process.folder()
    }

    pub fn faults(&self) -> &Faults {
        &self.proxy.shared.faults
    }

    /// From here on no read shows an instance for so long after its creation. LXD itself is never late.
    pub fn set_lag(&self, lag: Duration) {
        self.proxy.shared.books().lag = lag;
    }

    /// The requests of drivers, oldest first.
    pub fn journal(&self) -> Vec<Entry> {
        self.proxy.shared.books().journal.clone()
    }

    pub fn forget_requests(&self) {
        self.proxy.shared.books().journal.clear();
    }

    /// All instances of all projects, by name. Neither faults nor lag reach this.
    pub async fn instances(&self) -> anyhow::Result<Vec<Instance>> {
        let mut all: Vec<Instance> = self.listing().await?.iter().filter_map(Instance::read).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// The same, for kubelets and labs.
    pub async fn live_instances(&self) -> anyhow::Result<Vec<LiveInstance>> {
        let mut all: Vec<LiveInstance> =
            self.listing().await?.iter().filter_map(LiveInstance::read).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    async fn listing(&self) -> anyhow::Result<Vec<Value>> {
        match self.ask("GET", "/1.0/instances?recursion=1&all-projects=true", None).await? {
            Value::Array(all) => Ok(all),
            other => bail!("LXD's listing is none: {other}"),
        }
    }

    /// How often an instance was made through the proxy, by the uid that it carried. No answer that is lost is missed.
    pub fn created(&self) -> BTreeMap<String, u64> {
        self.proxy.shared.books().ledger.created()
    }

    /// The instances that were made while their Machine had another.
    pub fn duplicates(&self) -> u64 {
        self.proxy.shared.books().ledger.duplicates()
    }

    /// Sends a request past the proxies and waits for its operation. Gives `metadata`; the error is LXD's text.
    pub async fn ask(&self, method: &str, target: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let method: reqwest::Method = method.parse().context("not a method")?;
        let mut request = self.client.request(method, format!("{}{target}", self.https_url));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let mut answer: Value = request.send().await?.json().await?;
        if let Some(id) =
            answer.pointer("/metadata/id").and_then(Value::as_str).filter(|_| answer["type"] == "async")
        {
            let url = format!("{}/1.0/operations/{id}/wait?timeout=120", self.https_url);
            answer = self.client.get(url).send().await?.json().await?;
        }
        let text =
            |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let failure = if text("/error").is_empty() { text("/metadata/err") } else { text("/error") };
        ensure!(failure.is_empty(), "{failure}");
        Ok(answer["metadata"].take())
    }

    /// Runs a command in an instance, as root.
    pub async fn exec(&self, instance: &str, command: &[&str]) -> anyhow::Result<Output> {
        let mut run = self.process.command("lxc");
        run.args(["exec", instance, "--"]).args(command);
        tokio::task::spawn_blocking(move || run.output()).await?.context("failed to run lxc exec")
    }

    /// The memory of an instance in bytes.
    pub async fn memory(&self, instance: &str) -> anyhow::Result<u64> {
        let state = self.ask("GET", &format!("/1.0/instances/{instance}/state"), None).await?;
        state.pointer("/memory/usage").and_then(Value::as_u64).context("LXD names no memory")
    }

    /// Brings a port of this machine's loopback to the same port of the loopback in each new instance, such as that of
    /// an API server. The instances need no network for it.
    pub async fn pass_port(&self, port: u16) -> anyhow::Result<()> {
        let at = format!("tcp:127.0.0.1:{port}");
        let device = json!({ "type": "proxy", "bind": "instance", "listen": at, "connect": at });
        let devices = json!({ "devices": { format!("port-{port}"): device } });
        self.ask("PATCH", "/1.0/profiles/default", Some(devices)).await.map(drop)
    }

    /// Shows a folder of this machine in each new instance, read-only, such as one with a kubelet.
    pub async fn pass_folder(&self, name: &str, source: &str, path: &str) -> anyhow::Result<()> {
        let device = json!({ "type": "disk", "source": source, "path": path, "readonly": "true" });
        let devices = json!({ "devices": { name: device } });
        self.ask("PATCH", "/1.0/profiles/default", Some(devices)).await.map(drop)
    }

    /// Makes an instance past the driver, without a disk: for another cluster, a twin, or without marks.
    pub async fn create_foreign(&self, name: &str, config: Value) -> anyhow::Result<()> {
        let body = json!({ "name": name, "source": { "type": "none" }, "config": config });
        self.ask("POST", "/1.0/instances", Some(body)).await.map(drop)
    }

    /// Somebody removes an instance by hand.
    pub async fn remove_by_hand(&self, name: &str) -> anyhow::Result<()> {
        let stop = json!({ "action": "stop", "force": true, "timeout": -1 });
        // It may be stopped already.
        let _ = self.ask("PUT", &format!("/1.0/instances/{name}/state"), Some(stop)).await;
        self.ask("DELETE", &format!("/1.0/instances/{name}"), None).await?;
        self.proxy.shared.books().ledger.note(Change::Delete { name: name.to_owned() });
        Ok(())
    }

    /// The remains of instances in LXD and on its disks, as texts: nothing, if all is removed.
    pub async fn leftovers(&self) -> anyhow::Result<Vec<String>> {
        let mut left: Vec<String> =
            self.instances().await?.into_iter().map(|instance| instance.name).collect();
        for kind in ["containers", "virtual-machines", "custom"] {
            let folder = self.folder().join("storage-pools/default").join(kind);
            let entries =
                std::fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?;
            left.extend(entries.flatten().map(|entry| entry.path().display().to_string()));
        }
        Ok(left)
    }

    /// A client of LXD's own, `lxc`, with a configuration and a certificate of its own: run it with these variables.
    pub fn own_client(&self, folder: &std::path::Path) -> anyhow::Result<Vec<(&'static str, String)>> {
        std::fs::create_dir_all(folder.join("servercerts"))?;
        std::fs::write(folder.join("client.crt"), &self.credentials.client_cert)?;
        std::fs::write(folder.join("client.key"), &self.credentials.client_key)?;
        std::fs::write(folder.join("servercerts/test.crt"), &self.credentials.server_cert)?;
        let config = format!(
            "default-remote: test\nremotes:\n  test: {{addr: \"{}\", auth_type: tls, protocol: lxd, public: false}}\n",
            self.https_url
        );
        std::fs::write(folder.join("config.yml"), config)?;
        Ok(vec![("LXD_CONF", folder.display().to_string()), ("LXD_DIR", "/nonexistent".to_owned())])
    }
}

/// The parts that are started before there is a client.
struct Daemon {
    process: Process,
    credentials: Credentials,
    port: u16,
    took: Duration,
}

impl Daemon {
    fn start(options: &Options, images: &Images) -> anyhow::Result<Self> {
        let started = Instant::now();
        let process = Process::start()?;
        let port = free_port()?;
        process.configure(&preseed(port))?;
        let (client_cert, client_key) = client_certificate("machinist-tests")?;
        let file = process.folder().join("tests.crt");
        std::fs::write(&file, &client_cert).with_context(|| format!("failed to write {}", file.display()))?;
        let path = |path: &std::path::Path| path.display().to_string();
        process.lxc(&["config", "trust", "add", &path(&file)])?;
        if let Some(member) = &options.member {
            process.lxc(&["cluster", "enable", member])?;
        }
        process.lxc(&["image", "import", &path(&images.small()), "--alias", SMALL])?;
        if options.has_debian {
            let [metadata, root] = images.debian();
            process.lxc(&["image", "import", &path(&metadata), &path(&root), "--alias", DEBIAN])?;
        }
        let server_cert = server_certificate(&process, options)?;
        let credentials = Credentials { client_cert, client_key, server_cert };
        Ok(Self { process, credentials, port, took: started.elapsed() })
    }
}

/// A cluster has a certificate for all of its members.
fn server_certificate(process: &Process, options: &Options) -> anyhow::Result<String> {
    let name = if options.member.is_some() { "cluster.crt" } else { "server.crt" };
    let file = process.folder().join(name);
    std::fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))
}

fn preseed(port: u16) -> String {
    format!(
        "config: {{core.https_address: \"127.0.0.1:{port}\"}}\n\
         storage_pools: [{{name: default, driver: dir}}]\n\
         profiles: [{{name: default, devices: {{root: {{path: /, pool: default, type: disk}}}}}}]\n"
    )
}

/// LXD does not choose one itself. Between this and its start another process may take it, and the start fails.
fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").context("no port is free")?;
    Ok(listener.local_addr().context("a listener has no address")?.port())
}

fn client(credentials: &Credentials) -> anyhow::Result<reqwest::Client> {
    let identity = format!("{}{}", credentials.client_cert, credentials.client_key);
    let identity =
        reqwest::Identity::from_pem(identity.as_bytes()).context("failed to read the client certificate")?;
    let server =
        reqwest::Certificate::from_pem(credentials.server_cert.as_bytes()).context("failed to read LXD's")?;
    reqwest::Client::builder()
        .no_proxy()
        .http1_only()
        .identity(identity)
        .tls_certs_only([server])
        .build()
        .context("failed to set up requests to LXD")
}
