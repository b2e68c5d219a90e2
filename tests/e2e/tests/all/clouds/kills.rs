//! A host that is killed at ten moments of creates and at ten of deletions, while reads of the cloud lag and some
//! answers are lost.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::{Cloud, Host, Lab};

use super::scene::{create, install, lab, nothing_left, one_vm_each};
use crate::scene::turn;

/// Milliseconds from the order to the kill.
const MOMENTS_MS: [u64; 10] = [0, 20, 50, 90, 140, 200, 300, 450, 700, 1_000];
const MACHINES_A_MOMENT: usize = 2;

/// One VM for each of twenty Machines, and in the end none.
pub(super) async fn killed<C: Cloud>() {
    let _turn = turn().await;
    let lab = lab::<C>().await;
    story(&lab).await.unwrap_or_else(|error| panic!("{error:#}"));
}

async fn story<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let host = start(lab).await?;
    install(lab).await?;
    host.kill();
    lab.cloud.disturb()?;
    let mut names = Vec::new();
    for ms in MOMENTS_MS {
        let host = start(lab).await?;
        names.extend(create(lab, &format!("m{ms}-"), MACHINES_A_MOMENT).await?);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        host.kill();
    }
    let host = start(lab).await?;
    lab.machines_reach_phase("Running", names.len()).await.with_context(|| host.log_end())?;
    one_vm_each(lab).await?;
    host.kill();
    for (ms, doomed) in MOMENTS_MS.into_iter().zip(names.chunks(MACHINES_A_MOMENT)) {
        let host = start(lab).await?;
        futures::future::try_join_all(doomed.iter().map(|name| lab.delete_machine(name))).await?;
        tokio::time::sleep(Duration::from_millis(ms)).await;
        host.kill();
    }
    lab.cloud.heal()?;
    let host = start(lab).await?;
    lab.clear().await.with_context(|| host.log_end())?;
    nothing_left(lab).await
}

/// One that leads at once, whoever was killed before.
async fn start<C: Cloud>(lab: &Lab<C>) -> Result<Host> {
    Host::start_ready(&lab.host_options().with(&["--leader-elect=false"])).await
}
