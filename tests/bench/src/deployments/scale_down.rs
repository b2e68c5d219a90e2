//! A MachineDeployment whose Machines, without pods, go one after the other, and then all at once.

use std::time::{Duration, Instant};

use anyhow::Result;
use e2e::manifests::deployments::deployment;
use e2e::{Cloud, within};

use super::scene::{CLASSES, Cost, Scene, TERMINATE};
use crate::drains::{self, AGE};
use crate::machines::stop;
use crate::progress::Progress;
use crate::times::Times;

/// Machines that go one after the other.
const ONE_BY_ONE: u32 = 10;
/// VMs of Machines that are gone are gone too, but for what the cloud is asked last.
const VMS_GO: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(crate) struct ScaleDown {
    pub(crate) machines: usize,
    /// One after the other, from the change of the number to gone.
    pub(crate) one: Times,
    /// Of this, the cloud's own.
    pub(crate) cloud: Duration,
    pub(crate) cost: Cost,
    /// From the change of the number until no VM is left.
    pub(crate) vms: Duration,
    pub(crate) baseline: drains::DeletionBaseline,
}

pub(crate) async fn measure(machines: u32) -> Result<ScaleDown> {
    const NAME: &str = "shrinking";
    let wanted = usize::try_from(machines)?;
    let all = machines + ONE_BY_ONE;
    let scene = Scene::start(&format!("a scale-down of {machines}")).await?;
    let prepared = async {
        scene.lab.create_deployment(&deployment(NAME, CLASSES[0], all, 1, 0)).await?;
        scene.runs(usize::try_from(all)?).await?;
        tokio::time::sleep(AGE).await;
        Ok(())
    };
    let progress = Progress::of(&scene.lab, Some(&scene.host));
    progress.during(&format!("{all} Machines until all run and are of age"), prepared).await?;
    let one = progress.during("one after the other", one_by_one(&scene, NAME, machines)).await?;
    let vms_before = scene.lab.cloud.live().await?.len() - wanted;
    let mut vms = Duration::ZERO;
    let work = async {
        let started = Instant::now();
        scene.lab.scale(NAME, 0).await?;
        scene.fleet.until("no Machine is left", |tally| tally.objects == 0).await?;
        within(VMS_GO, "no VM is left", async || {
            Ok((scene.lab.cloud.live().await?.len() == vms_before).then_some(()))
        })
        .await?;
        vms = started.elapsed();
        Ok(())
    };
    let cost = scene.counted(&format!("{machines} Machines until all are gone"), work).await?;
    stop(scene.host).await?;
    let baseline = drains::baseline::measure(&scene.lab, wanted, 0, &cost.requests).await?;
    Ok(ScaleDown { machines: wanted, one, cloud: TERMINATE, cost, vms, baseline })
}

async fn one_by_one(scene: &Scene, name: &str, until: u32) -> Result<Times> {
    let mut took = Vec::new();
    for left in (until..until + ONE_BY_ONE).rev() {
        let wanted = usize::try_from(left)?;
        let started = Instant::now();
        scene.lab.scale(name, left).await?;
        scene.fleet.until("one is gone", |tally| tally.objects == wanted).await?;
        took.push(started.elapsed());
    }
    Ok(Times::of(took))
}
