//! The cloud as tests start and query it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use faulty_http::Upstream;
use reqwest::Method;
use serde_json::{Value, json};

use crate::admin::{Admin, servers_of};
use crate::client::Client;
use crate::environment;
use crate::process::{Facts, Process};
use crate::proxy::Proxy;
use crate::proxy::faults::Faults;
use crate::proxy::journal::Entry;
use crate::server::{LiveServer, live};
use crate::tls::Tls;

/// Paths of the services, as in `services/config.py`.
const PATHS: [(&str, &str); 6] = [
    ("identity", "keystone"),
    ("placement", "placement"),
    ("image", "glance"),
    ("network", "neutron"),
    ("volume", "cinder"),
    ("compute", "nova"),
];

/// Nova needs a second on an idle machine.
const REMOVED_WITHIN: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// Settings of a cloud.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether the proxy also listens with TLS.
    pub has_tls: bool,
}

/// A running OpenStack. Dropping it ends it.
#[derive(Debug)]
pub struct Openstack {
    proxy: Proxy,
    tls: Option<Tls>,
    admin_server: Admin,
    admin: Client,
    member: Client,
    process: Process,
}

/// Parts of the cloud that Machines have. Floating addresses are none of them: this Neutron has no routers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub servers: Vec<String>,
    pub ports: Vec<String>,
    pub volumes: Vec<String>,
}

impl Leftovers {
    fn of(lists: &[Value; 3], is_asked: impl Fn(&Value) -> bool) -> Self {
        let [servers, ports, volumes] = lists.each_ref().map(|list| {
            let all = list.as_array().into_iter().flatten();
            // Nova shows a server for a moment after its end.
            let asked = all.filter(|part| part["status"] != "DELETED" && is_asked(part));
            asked.filter_map(|part| part["id"].as_str().map(str::to_owned)).collect()
        });
        Self { servers, ports, volumes }
    }
}

impl Openstack {
    /// Installs the services if the cache lacks them, starts them, and waits until they answer: half a minute.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        // Fails only if another one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let proxy = Proxy::start().context("failed to start the proxy")?;
        let tls = options.has_tls.then(|| Tls::start(proxy.address())).transpose()?;
        let public = proxy.url();
        let start = {
            let public = public.clone();
            move || Process::start(&environment::prepare()?, &public)
        };
        let process = tokio::task::spawn_blocking(start).await.context("the start was interrupted")??;
        let facts = process.facts.clone();
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(120)).build();
        let http = http.context("failed to set up a client")?;
        let upstreams = PATHS.into_iter().filter_map(|(path, name)| {
            let url = facts.services.get(name)?.strip_suffix(&format!("/{path}"))?.to_owned();
            Some((path.to_owned(), Upstream::new(url, http.clone())))
        });
        // Set once, here.
        let _ = proxy.shared.upstreams.set(upstreams.collect());
        let _ = proxy.shared.public.set(public);
        if let Some(tls) = &tls {
            let _ = proxy.shared.tls_port.set(tls.port);
        }
        let user = |name, project| Client::new(http.clone(), facts.clone(), name, project);
        let admin_server = Admin::start(user("driver", "machines"))?;
        let (admin, member) = (user("admin", "admin"), user("driver", "machines"));
        Ok(Self { proxy, tls, admin_server, admin, member, process })
    }

    /// As [`Self::start`], if the services are installed. Otherwise the error names the command that installs them.
    pub async fn start_prepared(options: Options) -> anyhow::Result<Self> {
        let looked = tokio::task::spawn_blocking(environment::prepared).await;
        looked.context("the look into the cache was interrupted")??;
        Self::start(options).await
    }

    /// The address of all services, without a slash at its end.
    pub fn url(&self) -> String {
        self.proxy.url()
    }

    /// The address with TLS, and the PEM of its authority.
    pub fn tls(&self) -> Option<(String, &str)> {
        self.tls.as_ref().map(|tls| (format!("https://127.0.0.1:{}", tls.port), tls.authority.as_str()))
    }

    /// The address that needs no login, for `{admin}` of the conformance kit.
    pub fn admin_url(&self) -> String {
        self.admin_server.url()
    }

    pub fn facts(&self) -> &Facts {
        &self.process.facts
    }

    /// The folder of the services' logs.
    pub fn logs(&self) -> PathBuf {
        self.process.folder().join("log")
    }

    /// The cloud's admin, without the proxy.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// The project's user, without the proxy.
    pub fn member(&self) -> &Client {
        &self.member
    }

    /// The Secret of a MachineClass, with a password.
    pub fn password_secret(&self) -> BTreeMap<String, String> {
        self.secret(&[
            ("username", "driver"),
            ("password", &self.facts().password),
            ("domainName", "Default"),
            ("tenantName", "machines"),
        ])
    }

    /// The Secret of a MachineClass, with an application credential and its id.
    pub fn credential_secret(&self) -> BTreeMap<String, String> {
        let facts = self.facts();
        self.secret(&[
            ("domainName", "Default"),
            ("tenantName", "machines"),
            ("applicationCredentialID", &facts.application_credential_id),
            ("applicationCredentialSecret", &facts.application_credential_secret),
        ])
    }

    fn secret(&self, values: &[(&str, &str)]) -> BTreeMap<String, String> {
        let url = ("authURL".to_owned(), format!("{}/identity/v3", self.url()));
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        values.chain([url]).collect()
    }

    pub fn faults(&self) -> &Faults {
        &self.proxy.shared.faults
    }

    /// From here on reads do not show a server before it has this age.
    pub fn set_lag(&self, creation: Duration) {
        self.proxy.shared.lag().creation = creation;
    }

    /// The requests through the proxy.
    pub fn journal(&self) -> Vec<Entry> {
        self.proxy.shared.journal.entries()
    }

    /// How many there were of each action.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.proxy.shared.journal.counts()
    }

    pub fn forget(&self) {
        self.proxy.shared.journal.clear();
    }

    /// The servers with these marks.
    pub async fn servers_of(&self, cluster: &str, uid: &str) -> anyhow::Result<Vec<String>> {
        servers_of(&self.member, cluster, uid).await
    }

    /// The servers that live, for kubelets and tests. Neither faults nor lag reach this.
    pub async fn servers(&self) -> anyhow::Result<Vec<LiveServer>> {
        let resets = self.proxy.shared.ledger().resets();
        live(&self.admin, &resets).await
    }

    /// How often a server was created through the proxy, by the uid that it carried. No answer that is lost is missed.
    pub fn created(&self) -> BTreeMap<String, u64> {
        self.proxy.shared.ledger().created()
    }

    /// The servers that were created while their Machine had another.
    pub fn duplicates(&self) -> u64 {
        self.proxy.shared.ledger().duplicates()
    }

    /// Somebody deletes a server by hand. Returns when it is gone.
    pub async fn remove_by_hand(&self, id: &str) -> anyhow::Result<()> {
        let path = format!("/v2.1/servers/{id}");
        self.member.call(Method::DELETE, "nova", &path, None).await?;
        self.proxy.shared.ledger().delete(id);
        let ordered = Instant::now();
        while self.member.send(Method::GET, "nova", &path, String::new()).await?.status != 404 {
            ensure!(ordered.elapsed() < REMOVED_WITHIN, "server {id} is not gone after {REMOVED_WITHIN:?}");
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// All servers, ports and volumes of the project, but the ports that fill the small network.
    pub async fn leftovers(&self) -> anyhow::Result<Leftovers> {
        let full = self.facts().full_network_id.as_str();
        let lists = self.lists().await?;
        Ok(Leftovers::of(&lists, |part| part["network_id"].as_str() != Some(full)))
    }

    /// All servers, ports and volumes whose name begins so.
    pub async fn named(&self, prefix: &str) -> anyhow::Result<Leftovers> {
        let lists = self.lists().await?;
        Ok(Leftovers::of(&lists, |part| part["name"].as_str().is_some_and(|name| name.starts_with(prefix))))
    }

    /// The listings of servers, ports and volumes.
    async fn lists(&self) -> anyhow::Result<[Value; 3]> {
        let mut servers = self.member.get("nova", "/v2.1/servers/detail").await?;
        let mut ports = self.member.get("neutron", "/v2.0/ports").await?;
        let mut volumes = self.member.get("cinder", "/v3/volumes/detail").await?;
        Ok([servers["servers"].take(), ports["ports"].take(), volumes["volumes"].take()])
    }

    /// Sets the project's quota of servers; -1 is unlimited.
    pub async fn set_server_quota(&self, instances: i64) -> anyhow::Result<()> {
        let path = format!("/v2.1/os-quota-sets/{}", self.facts().project_id);
        let body = json!({ "quota_set": { "instances": instances, "force": true } });
        self.admin.call(Method::PUT, "nova", &path, Some(body)).await.map(drop)
    }

    /// Lets the scheduler use the compute host, or not.
    pub async fn set_compute_enabled(&self, is_enabled: bool) -> anyhow::Result<()> {
        let action = if is_enabled { "enable" } else { "disable" };
        let body = json!({ "host": self.facts().compute_host, "binary": "nova-compute" });
        self.admin
            .call(Method::PUT, "nova", &format!("/v2.1/os-services/{action}"), Some(body))
            .await
            .map(drop)
    }
}
