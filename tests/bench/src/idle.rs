//! A host whose Machines all run: what it asks of the API server and of the processor while nothing happens.

use std::time::Duration;

use anyhow::Result;
use control_plane::process_usage;
use e2e::{Lab, LabOptions};

use crate::drains::still_requests;
use crate::machines::requests::Requests;
use crate::machines::{Follow, Goal, create, requests, start_host, stop};

/// Leases at each of these, the Node's status at each fifth: every five minutes, as kubelets do.
const HEARTBEAT: Duration = Duration::from_secs(60);
const STILL: Duration = Duration::from_secs(60);
/// Until Nodes no longer change. 45 s after a Machine is Running, one write notes how long the join took: it is over by
/// then.
const JOINED: Duration = Duration::from_secs(100);
const PREFIX: &str = "idle";

/// The figures of a host that has nothing to do.
#[derive(Clone, Debug)]
pub(crate) struct IdleFigures {
    pub(crate) machines: usize,
    pub(crate) time: Duration,
    pub(crate) requests: Requests,
    pub(crate) cpu_share: f64,
    pub(crate) rss_bytes: u64,
    /// Of these, those that the kernel cannot reclaim.
    pub(crate) private_bytes: u64,
    /// Before the first Machine.
    pub(crate) private_bytes_before: u64,
}

pub(crate) async fn measure(machines: usize) -> Result<IdleFigures> {
    let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
    eprintln!("idle: starting control plane, cloud and kubelets");
    let mut options = LabOptions::default();
    options.kubelets.heartbeat = HEARTBEAT;
    let lab = Lab::start(options).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(&driver).await?;
    let private_bytes_before = process_usage(host.pid())?.anonymous_bytes;
    eprintln!("{machines} Machines that run");
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, machines);
    create(&lab, PREFIX, machines).await?;
    follow.all().await?;
    eprintln!("until what follows a join is over: {JOINED:?}");
    tokio::time::sleep(JOINED).await;
    requests::when_idle(&host).await?;
    eprintln!("nothing, for {STILL:?}");
    let (requests, cpu_share) = still_requests(&host, STILL).await?;
    let usage = process_usage(host.pid())?;
    stop(host).await?;
    Ok(IdleFigures {
        machines,
        time: STILL,
        requests,
        cpu_share,
        rss_bytes: usage.rss_bytes,
        private_bytes: usage.anonymous_bytes,
        private_bytes_before,
    })
}
