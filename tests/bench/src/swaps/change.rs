//! From the change of a ConfigMap on an API server to the first call that its new content answers.

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use e2e::plugins::sandbox;
use e2e::{Host, Lab, LabOptions, manifests, within};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;

use super::loads::Drivers;
use crate::times::Times;

const ROUNDS: u32 = 10;
/// Between two Machines, each of which is a call.
const PACE: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a kind of change took.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) what: &'static str,
    pub(crate) times: Times,
    pub(crate) aim: Duration,
}

/// With the driver whose provider ids tell its version.
pub(super) async fn measure(drivers: &Drivers) -> Result<Vec<Change>> {
    let mut options = LabOptions::default();
    options.kubelets.heartbeat = Duration::from_secs(300);
    let lab = Lab::start(options).await?;
    let host = Host::start_ready(&lab.host_options().quiet()).await?;
    lab.put_secret(&manifests::secret("plain", "no-token")).await?;
    lab.put_class(&manifests::class_of("small", "plain", "plain", &json!({}))).await?;
    lab.put_plugin(&plugin(&drivers.plain, "content-0", "0.0.0")?).await?;
    lab.plugin_state("plain", "Ready").await?;
    let (mut new, mut cached) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let content = format!("content-{round}");
        new.push(one(&lab, &drivers.plain, &content, &format!("1.0.{round}")).await?);
        // The earlier content is compiled already.
        let content = format!("content-{}", round - 1);
        cached.push(one(&lab, &drivers.plain, &content, &format!("2.0.{round}")).await?);
    }
    host.terminate().await?;
    let aim = Duration::from_secs(1);
    Ok(vec![
        Change { what: "new content, which is compiled", times: Times::of(new), aim },
        Change { what: "content that was there before", times: Times::of(cached), aim },
    ])
}

fn plugin(component: &[u8], content: &str, version: &str) -> Result<ConfigMap> {
    let settings = json!({ "version": version, "providers": ["plain"] });
    manifests::plugin_granted("plain", &sandbox::marked(component, content), &settings, &json!({}))
}

async fn one(lab: &Lab, component: &[u8], content: &str, version: &str) -> Result<Duration> {
    let map = plugin(component, content, version)?;
    let prefix = format!("m-{}", version.replace('.', "-"));
    let creating = async {
        for number in 0.. {
            lab.create_machine(&format!("{prefix}-{number}"), "small").await?;
            tokio::time::sleep(PACE).await;
        }
        anyhow::Ok(())
    };
    let changing = async {
        let mut events = pin!(watcher(lab.machines(), watcher::Config::default()));
        while !matches!(events.next().await.context("the watch ended")??, Event::InitDone) {}
        // Machines are on their way before.
        tokio::time::sleep(10 * PACE).await;
        let started = Instant::now();
        lab.put_plugin(&map).await?;
        let made = format!("plain:///{version}/");
        let seen = async {
            while let Some(event) = events.next().await {
                let (Event::Apply(machine) | Event::InitApply(machine)) = event? else { continue };
                if machine.provider_id().is_some_and(|id| id.starts_with(&made)) {
                    return anyhow::Ok(started.elapsed());
                }
            }
            bail!("the watch ended")
        };
        tokio::time::timeout(TIMEOUT, seen).await.context("no call reaches the changed plugin")?
    };
    let took = tokio::select! {
        outcome = creating => { outcome?; bail!("Machines ran out") }
        took = changing => took?,
    };
    // The next change does not meet what is left of this one.
    within(TIMEOUT, "all Machines have their VMs", async || {
        let all = lab.machines().list(&ListParams::default()).await?.items;
        Ok(all.iter().all(|machine| machine.provider_id().is_some()).then_some(()))
    })
    .await?;
    Ok(took)
}
