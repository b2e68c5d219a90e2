//! Machines without pods: how long their end takes beyond the cloud's own time, and what a life costs the API server.

use std::time::Duration;

use anyhow::Result;
use e2e::{Host, Lab, LabOptions};

use super::{delete, lives};
use crate::machines::{Follow, Goal, HEARTBEAT, Requests, create, requests, start_host, stop};
use crate::times::Times;

/// From the order to the cloud until the VM is gone.
const TERMINATE: Duration = Duration::from_millis(500);
const PREFIX: &str = "short-lived";

/// The figures of Machines without pods.
#[derive(Clone, Debug)]
pub(crate) struct DeletionFigures {
    pub(crate) machines: usize,
    /// One after the other, from delete to gone.
    pub(crate) gone: Times,
    /// Of this, the cloud's own.
    pub(crate) cloud: Duration,
    /// From create to Running, many at a time.
    pub(crate) creation: Requests,
    /// From delete to gone, many at a time.
    pub(crate) deletion: Requests,
}

pub(crate) async fn measure(machines: usize) -> Result<DeletionFigures> {
    let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
    eprintln!("deletions: starting control plane, cloud and kubelets");
    let mut options = LabOptions::default();
    options.cloud.latency = simcloud::Latency {
        create_ms: 20,
        boot_ms: 500,
        terminate_ms: u64::try_from(TERMINATE.as_millis())?,
        ..simcloud::Latency::ZERO
    };
    options.kubelets.heartbeat = HEARTBEAT;
    let lab = Lab::start(options).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(&driver).await?;
    // As long as one is there, the class and its Secret stay in use: their finalizers are no part of what is counted.
    create(&lab, "keeper", 1).await?;
    lab.machines_in_phase("Running", 1).await?;
    eprintln!("Machines without pods, one after the other");
    let (_, gone) = lives(&lab, "alone").await?;
    eprintln!("{machines} Machines without pods, many at a time");
    let (creation, deletion) = counted(&lab, &host, machines).await?;
    stop(host).await?;
    Ok(DeletionFigures { machines, gone, cloud: TERMINATE, creation, deletion })
}

async fn counted(lab: &Lab, host: &Host, machines: usize) -> Result<(Requests, Requests)> {
    let before = requests::when_idle(host).await?;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, machines);
    let names: Vec<String> = create(lab, PREFIX, machines).await?.into_keys().collect();
    follow.all().await?;
    let running = requests::when_idle(host).await?;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Gone, machines);
    delete(lab, &names).await?;
    follow.all().await?;
    let gone = requests::when_idle(host).await?;
    Ok((Requests::between(&before, &running), Requests::between(&running, &gone)))
}
