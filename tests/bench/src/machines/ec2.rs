//! Machines on EC2, played by moto, beside a plain client that makes the same requests of EC2 and as many writes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Aws, Cloud, Lab, LabOptions};
use ec2::Entry;
use jiff::Timestamp;
use machinist_plugin_host::testing::{RequestTarget, sigv4};

use super::baseline::{self, Baseline};
use super::follow::{Follow, Goal};
use super::requests::{self, Requests};
use super::{CONCURRENCY, HEARTBEAT, WARM_UP, create, start_host, stop};
use crate::times::Times;

const MACHINES: usize = 200;
const PREFIX: &str = "worker";
/// The name of the host's cluster. Kubelets look at its instances only.
const CLUSTER: &str = "bench";
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

#[derive(Clone, Debug)]
pub(crate) struct Ec2Figures {
    pub(crate) machines: usize,
    /// From the first create until all are Running.
    pub(crate) wall: Duration,
    pub(crate) each: Times,
    pub(crate) requests: Requests,
    /// Requests of the driver by action.
    pub(crate) actions: BTreeMap<String, u64>,
    pub(crate) created: u64,
    pub(crate) duplicates: u64,
    pub(crate) baseline: Baseline,
}

impl Ec2Figures {
    /// Requests of the driver.
    pub(crate) fn cloud_requests(&self) -> u64 {
        self.actions.values().sum()
    }
}

pub(crate) async fn measure() -> Result<Ec2Figures> {
    eprintln!("building the driver of EC2");
    let driver = tokio::task::spawn_blocking(|| Aws::DRIVER.build()).await??;
    eprintln!("starting moto, control plane and kubelets");
    let cloud = Aws::start().await?.shared_with(CLUSTER);
    let mut options = LabOptions::default();
    options.kubelets.heartbeat = HEARTBEAT;
    let lab = Lab::around(cloud, options).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(&driver).await?;
    create(&lab, "warm-up", WARM_UP).await?;
    lab.machines_in_phase("Running", WARM_UP).await?;
    eprintln!("{MACHINES} Machines on EC2");
    let before = requests::when_idle(&host).await?;
    lab.cloud.forget_requests();
    let made_before = lab.cloud.made().await?.created;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, MACHINES);
    let started = Instant::now();
    let asked = create(&lab, PREFIX, MACHINES).await?;
    let running = follow.all().await?;
    let wall = running.values().max().context("some are Running")?.duration_since(started);
    let after = requests::when_idle(&host).await?;
    let made = lab.cloud.made().await?;
    let journal = lab.cloud.journal();
    stop(host).await?;
    let requests = Requests::between(&before, &after);
    eprintln!("a plain client with as many writes and the same requests of EC2");
    let plain = Plain::new(&lab.cloud, &journal)?;
    let baseline =
        baseline::measure(&lab, MACHINES, &requests, CONCURRENCY, async |number| plain.ask(number).await);
    let baseline = baseline.await?;
    let mut actions = BTreeMap::new();
    for entry in &journal {
        *actions.entry(entry.action.clone()).or_default() += 1;
    }
    let took = |(name, at): (&String, &Instant)| Some(at.duration_since(*asked.get(name)?));
    Ok(Ec2Figures {
        machines: MACHINES,
        wall,
        each: Times::of(running.iter().filter_map(took).collect()),
        requests,
        actions,
        created: made.created - made_before,
        duplicates: made.duplicates,
        baseline,
    })
}

/// Makes the requests of a journal once more, for machines of its own.
struct Plain<'a> {
    http: reqwest::Client,
    url: String,
    region: String,
    keys: sigv4::Keys,
    journal: &'a [Entry],
}

impl<'a> Plain<'a> {
    fn new(cloud: &Aws, journal: &'a [Entry]) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
        let keys = cloud.keys();
        let keys =
            sigv4::Keys::new(&keys.access_key_id, &keys.secret_access_key, keys.session_token.as_deref());
        Ok(Self {
            http,
            url: format!("{}/", cloud.url()),
            region: cloud.region().to_owned(),
            keys: keys.context("the keys can be used")?,
            journal,
        })
    }

    /// The share of one machine, one request after the other.
    async fn ask(&self, number: usize) -> Result<()> {
        for (place, entry) in self.journal.iter().enumerate().skip(number).step_by(MACHINES) {
            self.send(&renamed(entry, place)).await.with_context(|| format!("failed to {}", entry.action))?;
        }
        Ok(())
    }

    async fn send(&self, parameters: &BTreeMap<String, String>) -> Result<()> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        let mut request =
            self.http.post(&self.url).header("content-type", FORM).body(body.clone()).build()?;
        let target = RequestTarget::parse(request.method(), &self.url)?;
        let scope = sigv4::Scope { service: "ec2", region: &self.region };
        let signature =
            sigv4::sign(&target, request.headers(), body.as_bytes(), &self.keys, scope, Timestamp::now())?;
        signature.apply(request.headers_mut());
        let answer = self.http.execute(request).await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "{status}: {text}");
        Ok(())
    }
}

/// The same request for another machine, of a cluster without kubelets. No two places of the journal name one.
fn renamed(entry: &Entry, place: usize) -> BTreeMap<String, String> {
    let token = entry.parameters.get("ClientToken");
    let own = format!("plain-{place}");
    let mut parameters = entry.parameters.clone();
    for value in parameters.values_mut() {
        if Some(&*value) == token {
            value.clone_from(&own);
        } else if value == CLUSTER {
            "plain".clone_into(value);
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use ec2::CLUSTER_TAG;

    use super::*;

    #[test]
    fn a_repeated_launch_is_one_of_another_machine_and_cluster() {
        let pairs = [
            ("Action", "RunInstances"),
            ("ClientToken", "uid-1"),
            ("TagSpecification.1.Tag.1.Key", CLUSTER_TAG),
            ("TagSpecification.1.Tag.1.Value", CLUSTER),
            ("TagSpecification.1.Tag.2.Value", "uid-1"),
        ];
        let entry = Entry {
            at: Timestamp::UNIX_EPOCH,
            action: "RunInstances".into(),
            account: "default".into(),
            access_key_id: "AKIA".into(),
            region: "eu-west-1".into(),
            outcome: "ok".into(),
            parameters: pairs.map(|(key, value)| (key.into(), value.into())).into(),
            headers: Vec::new(),
        };
        let values: Vec<String> = renamed(&entry, 7).into_values().collect();
        assert_eq!(values, ["RunInstances", "plain-7", CLUSTER_TAG, "plain", "plain-7"]);
    }
}
