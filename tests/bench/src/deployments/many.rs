//! Many MachineDeployments of five.

use anyhow::Result;
use e2e::manifests::deployments::deployment;
use futures::{StreamExt, TryStreamExt};

use super::scene::{CLASSES, Cost, Scene};
use crate::machines::{Baseline, CONCURRENCY};

pub(crate) const OF_EACH: u32 = 5;

#[derive(Clone, Debug)]
pub(crate) struct Many {
    pub(crate) deployments: u32,
    pub(crate) machines: usize,
    pub(crate) cost: Cost,
    pub(crate) baseline: Baseline,
}

pub(crate) async fn measure(deployments: u32) -> Result<Many> {
    let machines = usize::try_from(deployments * OF_EACH)?;
    let scene = Scene::start(&format!("{deployments} deployments of {OF_EACH}")).await?;
    let lab = &scene.lab;
    let work = async {
        futures::stream::iter(0..deployments)
            .map(|number| async move {
                let name = format!("pool-{number:04}");
                lab.create_deployment(&deployment(&name, CLASSES[0], OF_EACH, 1, 0)).await
            })
            .buffer_unordered(CONCURRENCY)
            .try_for_each(async |_| Ok(()))
            .await?;
        scene.runs(machines).await
    };
    let cost =
        scene.counted(&format!("{deployments} deployments until all their Machines run"), work).await?;
    let baseline = scene.creations(machines, &cost.requests).await?;
    Ok(Many { deployments, machines, cost, baseline })
}
