//! The VMs of an EC2 that verifies no signatures, which is moto.
//!
//! Each round asks which instances run, which is cheap even for a thousand; details are read once an instance.
//! `answer` parses the answers.

mod answer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{VmEvent, VmSource};
use crate::vm::Vm;
use answer::{Found, Size};

const PACE: Duration = Duration::from_millis(250);
/// The pause is at least so many times as long as the round took, so that the cloud has time for others.
const REST: u32 = 2;
/// A call takes no longer.
const LIMIT: Duration = Duration::from_secs(30);
/// Instances whose details are asked for at once.
const BATCH: usize = 100;
const VERSION: &str = "2016-11-15";

#[derive(Debug)]
pub struct Ec2Source {
    url: String,
    region: String,
    only: Option<(String, String)>,
    pace: Duration,
    http: reqwest::Client,
    sizes: Mutex<BTreeMap<String, Size>>,
}

/// The instances that run: those of ours as VMs, of the others only that they are there.
type Known = BTreeMap<String, Option<Vm>>;

impl Ec2Source {
    /// All instances of a region of the EC2 at this base URL.
    pub fn new(url: &str, region: &str) -> Result<Self, reqwest::Error> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let http = reqwest::Client::builder().no_proxy().timeout(LIMIT).build()?;
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            region: region.to_owned(),
            only: None,
            pace: PACE,
            http,
            sizes: Mutex::default(),
        })
    }

    /// Only the instances that carry this tag, for accounts that serve several clusters.
    #[must_use]
    pub fn only_tagged(mut self, key: &str, value: &str) -> Self {
        self.only = Some((key.to_owned(), value.to_owned()));
        self
    }

    /// The time between two rounds, instead of a quarter of a second.
    #[must_use]
    pub fn every(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// One round: what happened since the last one.
    async fn look(&self, known: &mut Known) -> anyhow::Result<Vec<VmEvent>> {
        let running = self.running().await?;
        let mut events = Vec::new();
        known.retain(|id, vm| {
            let still_runs = running.contains(id);
            if !still_runs && vm.is_some() {
                events.push(VmEvent::Ended(id.clone()));
            }
            still_runs
        });
        let unseen: Vec<&String> = running.iter().filter(|id| !known.contains_key(*id)).collect();
        for batch in unseen.chunks(BATCH) {
            for found in self.details(batch).await? {
                let is_ours =
                    self.only.as_ref().is_none_or(|(key, value)| found.tags.get(key) == Some(value));
                let vm = if is_ours {
                    let size = self.size(&found.instance_type).await?;
                    Some(found.vm(&self.region, size))
                } else {
                    None
                };
                events.extend(vm.clone().map(VmEvent::Runs));
                known.insert(found.id, vm);
            }
        }
        Ok(events)
    }

    /// The ids of the instances that run.
    async fn running(&self) -> anyhow::Result<Vec<String>> {
        let mut all = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut parameters = vec![("MaxResults", "1000".to_owned())];
            parameters.extend(next.clone().map(|token| ("NextToken", token)));
            let (ids, token) = answer::running(&self.call("DescribeInstanceStatus", &parameters).await?)?;
            all.extend(ids);
            ensure!(token.is_none() || token != next, "the cloud repeats a page of its instances");
            next = token;
            if next.is_none() {
                return Ok(all);
            }
        }
    }

    async fn details(&self, ids: &[&String]) -> anyhow::Result<Vec<Found>> {
        let names: Vec<String> = (1..=ids.len()).map(|place| format!("InstanceId.{place}")).collect();
        let parameters: Vec<(&str, String)> =
            names.iter().zip(ids).map(|(name, id)| (name.as_str(), (*id).clone())).collect();
        answer::instances(&self.call("DescribeInstances", &parameters).await?)
    }

    async fn size(&self, instance_type: &str) -> anyhow::Result<Size> {
        if let Some(size) = self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(instance_type) {
            return Ok(*size);
        }
        let parameters = [("InstanceType.1", instance_type.to_owned())];
        let size = answer::size(&self.call("DescribeInstanceTypes", &parameters).await?)?;
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).insert(instance_type.to_owned(), size);
        Ok(size)
    }

    async fn call(&self, action: &str, parameters: &[(&str, String)]) -> anyhow::Result<String> {
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", action)
            .append_pair("Version", VERSION)
            .extend_pairs(parameters)
            .finish();
        // Service and region are read from here; the signature is not looked at.
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=nodesim/20260101/{}/ec2/aws4_request, SignedHeaders=host, Signature=none",
            self.region
        );
        let request = self
            .http
            .post(format!("{}/", self.url))
            .header("authorization", authorization)
            .header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
            .body(body);
        let answer = request.send().await.with_context(|| format!("failed to call {action}"))?;
        let status = answer.status();
        let text = answer.text().await.with_context(|| format!("failed to read the answer to {action}"))?;
        ensure!(status.is_success(), "{action} was refused with {status}: {text}");
        Ok(text)
    }
}

impl VmSource for Ec2Source {
    fn follow(self: Arc<Self>, events: mpsc::Sender<VmEvent>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut known = Known::new();
            let mut is_first = true;
            while !events.is_closed() {
                let began = Instant::now();
                match self.look(&mut known).await {
                    Ok(_) if is_first => {
                        is_first = false;
                        let all = known.values().flatten().cloned().collect();
                        if events.send(VmEvent::All(all)).await.is_err() {
                            return;
                        }
                    }
                    Ok(news) => {
                        for event in news {
                            if events.send(event).await.is_err() {
                                return;
                            }
                        }
                    }
                    Err(error) => {
                        // Facts learned half-way were not sent.
                        is_first = true;
                        tracing::debug!(error = format!("{error:#}"), "the cloud could not be asked");
                    }
                }
                tokio::time::sleep(self.pace.max(began.elapsed() * REST)).await;
            }
        })
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, anyhow::Result<Vec<u8>>> {
        Box::pin(async move {
            let parameters = [("InstanceId", vm.id.clone()), ("Attribute", "userData".to_owned())];
            let text = self.call("DescribeInstanceAttribute", &parameters).await?;
            let data = answer::user_data(&text)?;
            STANDARD.decode(data.trim()).context("failed to decode the user data")
        })
    }
}
