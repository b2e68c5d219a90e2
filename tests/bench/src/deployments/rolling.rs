//! A MachineDeployment that is rolled to another class.

use std::time::Duration;

use anyhow::Result;
use e2e::fleet::FleetBounds;
use e2e::manifests::deployments::deployment;

use super::scene::{BOOT, CLASSES, CREATE, Cost, Scene, TERMINATE};
use crate::drains::AGE;
use crate::machines::Baseline;
use crate::progress::Progress;

#[derive(Clone, Debug)]
pub(crate) struct Rolling {
    pub(crate) machines: usize,
    pub(crate) surge: usize,
    pub(crate) bounds: FleetBounds,
    pub(crate) cost: Cost,
    /// The time of the cloud alone when so many VMs are created and then deleted at a time.
    pub(crate) cloud: Duration,
    /// A plain client with as many writes.
    pub(crate) baseline: Baseline,
}

pub(crate) async fn measure(machines: u32) -> Result<Rolling> {
    const NAME: &str = "rolled";
    let surge = (machines / 10).max(1);
    let (wanted, beyond) = (usize::try_from(machines)?, usize::try_from(surge)?);
    let scene = Scene::start(&format!("a rollout of {machines}")).await?;
    let prepared = async {
        scene.lab.create_deployment(&deployment(NAME, CLASSES[0], machines, surge, 0)).await?;
        scene.runs(wanted).await?;
        // A Machine that is younger when it is deleted waits for that: the cloud may not show yet all that was made for
        // it.
        tokio::time::sleep(AGE).await;
        Ok(())
    };
    let progress = Progress::of(&scene.lab, Some(&scene.host));
    progress.during(&format!("{machines} Machines until all run and are of age"), prepared).await?;
    let work = async {
        scene.lab.roll(NAME, CLASSES[1]).await?;
        let of_the_other = |tally: &e2e::fleet::Tally| tally.available_by_class.get(CLASSES[1]).copied();
        let is_over = |tally: &e2e::fleet::Tally| {
            of_the_other(tally) == Some(wanted) && tally.available == wanted && tally.objects == wanted
        };
        scene.fleet.until("all Machines are of the other class", is_over).await.map(drop)
    };
    let cost = scene.counted(&format!("{machines} Machines until all are of the other class"), work).await?;
    scene.lab.deployment_is_complete(NAME).await?;
    let baseline = scene.creations(wanted, &cost.requests).await?;
    let bounds = FleetBounds { most: wanted + beyond, fewest_available: wanted };
    let cloud = machines.div_ceil(surge) * (CREATE + BOOT + TERMINATE);
    Ok(Rolling { machines: wanted, surge: beyond, bounds, cost, cloud, baseline })
}
