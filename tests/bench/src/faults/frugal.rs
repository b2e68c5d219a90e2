//! Requests to the cloud and Events for a deletion, and for a Machine of a rollout.

use std::collections::BTreeMap;

use anyhow::Result;
use e2e::Lab;
use e2e::manifests::deployments::deployment;

use super::events::EventWatch;
use super::scene::{install, start};
use crate::drains::{AGE, delete};
use crate::machines::{Follow, Goal, create, drivers_calls, requests, start_host, stop};

const MACHINES: u32 = 100;
const SURGE: u32 = 10;

/// Requests of each Machine in a cloud that answers everything.
#[derive(Clone, Debug)]
pub(crate) struct Frugal {
    pub(crate) machines: u32,
    /// How many are made beyond those that are wanted.
    pub(crate) surge: u32,
    /// Requests to the cloud for all deletions, by operation.
    pub(crate) deletion: BTreeMap<String, u64>,
    /// Requests to the cloud for a whole rollout, by operation: each Machine is one deleted and one created.
    pub(crate) rolled: BTreeMap<String, u64>,
    /// Events for a Machine of a rollout, those of its sets and deployment too.
    pub(crate) events: f64,
    /// Those of them that are about Machines.
    pub(crate) about_machines: f64,
}

pub(super) async fn measure() -> Result<Frugal> {
    let lab = start("requests to the cloud").await?;
    let host = start_host(&lab).await?;
    install(&lab).await?;
    let each = |total: u64| u32::try_from(total).map(|total| f64::from(total) / f64::from(MACHINES));

    const PREFIX: &str = "deleted";
    let machines = usize::try_from(MACHINES)?;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, machines);
    let names: Vec<String> = create(&lab, PREFIX, machines).await?.into_keys().collect();
    follow.all().await?;
    tokio::time::sleep(AGE).await;
    let before = lab.cloud.stats();
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Gone, machines);
    delete(&lab, &names).await?;
    follow.all().await?;
    let deletion = drivers_calls(&before, &lab.cloud.stats());

    const POOL: &str = "pool";
    lab.create_deployment(&deployment(POOL, "small", MACHINES, SURGE, 0)).await?;
    runs(&lab, POOL).await?;
    tokio::time::sleep(AGE).await;
    requests::when_idle(&host).await?;
    let (seen, watch) = EventWatch::start(lab.client.clone());
    let before = lab.cloud.stats();
    lab.roll(POOL, "large").await?;
    runs(&lab, POOL).await?;
    requests::when_idle(&host).await?;
    let rolled = drivers_calls(&before, &lab.cloud.stats());
    let events = each(seen.all())?;
    let about_machines = each(u64::try_from(seen.late().len())?)?;
    watch.abort();
    stop(host).await?;
    Ok(Frugal { machines: MACHINES, surge: SURGE, deletion, rolled, events, about_machines })
}

async fn runs(lab: &Lab, deployment: &str) -> Result<()> {
    lab.deployment_is_complete(deployment).await?;
    lab.machines_in_phase("Running", usize::try_from(MACHINES)?).await
}
