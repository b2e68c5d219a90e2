//! Machines from create to Running, and until they are gone: the whole program on a real API server.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::{Lab, LabOptions};

use super::subject::Subject;
use crate::drains::{AGE, delete};
use crate::machines::{Follow, Goal, HEARTBEAT, create, requests, start_host, stop};
use crate::times::Times;

/// Machines whose driver is real, on its cloud.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) machines: usize,
    /// From the first create until all are Running.
    pub(crate) running: Duration,
    /// From each one's create until it is Running.
    pub(crate) each: Times,
    /// From the first delete until all are gone.
    pub(crate) gone: Duration,
    /// Requests to the cloud while they were created.
    pub(crate) requests_created: u64,
    /// Requests to the cloud while they were deleted.
    pub(crate) requests_deleted: u64,
    pub(crate) duplicates: u64,
    /// Everything in the cloud after the last one was gone.
    pub(crate) leftovers: Vec<String>,
}

pub(super) async fn measure<C: Subject>(cloud: C, component: &[u8]) -> Result<Life> {
    const PREFIX: &str = "worker";
    let mut options = LabOptions::default();
    options.kubelets.heartbeat = HEARTBEAT;
    let lab = Lab::around(cloud, options).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(component).await?;
    create(&lab, "warm-up", 1).await?;
    lab.machines_in_phase("Running", 1).await?;
    requests::when_idle(&host).await?;
    let (before, made_before) = (lab.cloud.requests(), lab.cloud.made().await?);
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, C::MACHINES);
    let started = Instant::now();
    let asked = create(&lab, PREFIX, C::MACHINES).await?;
    let all = follow.all().await?;
    let running = all.values().max().context("some are Running")?.duration_since(started);
    requests::when_idle(&host).await?;
    let requests_created = lab.cloud.requests() - before;
    let took = |(name, at): (&String, &Instant)| Some(at.duration_since(*asked.get(name)?));
    let each = Times::of(all.iter().filter_map(took).collect());
    tokio::time::sleep(AGE).await;
    let before = lab.cloud.requests();
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Gone, C::MACHINES);
    let started = Instant::now();
    let names: Vec<String> = asked.into_keys().collect();
    delete(&lab, &names).await?;
    let gone = follow.all().await?.values().max().context("some are gone")?.duration_since(started);
    requests::when_idle(&host).await?;
    let requests_deleted = lab.cloud.requests() - before;
    lab.clear().await?;
    stop(host).await?;
    let duplicates = lab.cloud.made().await?.duplicates - made_before.duplicates;
    let leftovers = lab.cloud.leftovers().await?;
    Ok(Life {
        machines: C::MACHINES,
        running,
        each,
        gone,
        requests_created,
        requests_deleted,
        duplicates,
        leftovers,
    })
}
