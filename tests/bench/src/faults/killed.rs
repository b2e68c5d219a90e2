//! A host that is killed again and again while Machines are created.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::Host;

use super::scene::{install, start};
use crate::machines::{Follow, Goal, create, start_host, stop};

const MACHINES: usize = 40;
const KILLS: usize = 8;
/// From the start of a host to the signal that kills it: within the creates of these Machines.
const LIVES: Duration = Duration::from_millis(900);

/// Machines whose host was killed.
#[derive(Clone, Debug)]
pub(crate) struct Killed {
    pub(crate) machines: usize,
    pub(crate) kills: usize,
    /// From the last kill until all are Running.
    pub(crate) after_the_last: Duration,
    pub(crate) vms: u64,
    pub(crate) duplicates: u64,
    pub(crate) tokens: usize,
}

pub(super) async fn measure() -> Result<Killed> {
    const PREFIX: &str = "survivor";
    let lab = start("a host that is killed").await?;
    let mut host = start_host(&lab).await?;
    install(&lab).await?;
    let before = lab.cloud.stats();
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, MACHINES);
    // Some come with each life of the host, so that each is killed amid creates.
    let mut last = Instant::now();
    for kill in 0..KILLS {
        create(&lab, &format!("{PREFIX}-{kill}"), MACHINES / KILLS).await?;
        tokio::time::sleep(LIVES).await;
        host.kill();
        last = Instant::now();
        // As a pod's container that comes back: nothing is waited for.
        host = Host::start(&lab.host_options().quiet())?;
    }
    let running = follow.all().await?;
    let after_the_last = running.values().max().context("some are Running")?.duration_since(last);
    let after = lab.cloud.stats();
    let (_, tokens) = lab.left_in_target().await?;
    stop(host).await?;
    Ok(Killed {
        machines: MACHINES,
        kills: KILLS,
        after_the_last,
        vms: after.created - before.created,
        duplicates: after.duplicates_ever - before.duplicates_ever,
        tokens: tokens.len(),
    })
}
