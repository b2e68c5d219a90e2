//! A host that is killed again and again while Machines are created.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::{Host, Lab, within};

use super::scene::{install, start};
use crate::machines::{Follow, Goal, create, stop};

const MACHINES: usize = 40;
const KILLS: usize = 8;
/// A host is killed when so many of its creates have reached the cloud, which answers each after 200 ms.
const CREATES: u64 = 2;

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

/// Each host leads at once: with a Lease the next one would wait for it, and not be killed amid creates.
async fn start_without_lease(lab: &Lab) -> Result<Host> {
    let mut options = lab.host_options().quiet();
    options.flags.push("--leader-elect=false".to_owned());
    Host::start_ready(&options).await
}

pub(super) async fn measure() -> Result<Killed> {
    const PREFIX: &str = "survivor";
    let lab = start("a host that is killed").await?;
    let mut host = start_without_lease(&lab).await?;
    install(&lab).await?;
    let before = lab.cloud.stats();
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, MACHINES);
    // Some come with each life of the host, so that each is killed amid creates.
    let mut last = Instant::now();
    for kill in 0..KILLS {
        let creates = lab.cloud.stats().calls_of("vm.create");
        create(&lab, &format!("{PREFIX}-{kill}"), MACHINES / KILLS).await?;
        within(Duration::from_secs(60), "the host is amid creates", async || {
            Ok((lab.cloud.stats().calls_of("vm.create") >= creates + CREATES).then_some(()))
        })
        .await?;
        host.kill();
        last = Instant::now();
        host = start_without_lease(&lab).await?;
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
