//! The story itself, the same on every cloud.

use std::cell::Cell;

use anyhow::{Context, Result};
use kube::runtime::watcher;

use super::Options;
use super::progress::Progress;
use super::stages::Stages;
use super::summary::Summary;
use crate::cloud::Cloud;
use crate::fleet::{FleetBounds, FleetWatch};
use crate::host::Host;
use crate::lab::{Lab, is_complete};
use crate::manifests::deployments::deployment;

/// Versions of the driver. They are two builds, with two digests.
pub(super) const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];
pub(super) const NAME: &str = "workers";
const CLASSES: [&str; 2] = ["small", "large"];

pub(super) struct Drivers {
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Drivers {
    pub(super) fn build<C: Cloud>() -> Result<Self> {
        let build = |version| C::DRIVER.build_version(version);
        Ok(Self { first: build(VERSIONS[0])?, second: build(VERSIONS[1])? })
    }
}

/// How many Machines in which part of the story.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    few: u32,
    many: u32,
    surge: u32,
    unavailable: u32,
}

impl Numbers {
    /// A quarter more at a time, at most an eighth missing.
    fn of(machines: u32) -> Self {
        let many = machines + (machines / 2).max(1);
        Self { few: machines, many, surge: (many / 4).max(1), unavailable: many / 8 }
    }

    /// While the number only changes.
    fn number(most: u32, fewest: u32) -> Result<FleetBounds> {
        Ok(FleetBounds { most: usize::try_from(most)?, fewest_available: usize::try_from(fewest)? })
    }

    /// While the deployment is rolled.
    fn rolling(self) -> Result<FleetBounds> {
        Self::number(self.many + self.surge, self.many - self.unavailable)
    }
}

pub(super) async fn tell<C: Cloud>(
    lab: &Lab<C>,
    host: &mut Host,
    options: &Options,
    drivers: &Drivers,
    progress: &mut Progress,
) -> Result<Summary> {
    let numbers = Numbers::of(options.machines);
    let Numbers { few, many, surge, unavailable } = numbers;
    progress.say(&format!(
        "creating ConfigMap {name} with driver {} ({} KiB), Secret {name}, MachineClasses {} and {}",
        VERSIONS[0],
        drivers.first.len() / 1024,
        CLASSES[0],
        CLASSES[1],
        name = C::NAME,
    ));
    lab.install_driver(&drivers.first).await?;
    lab.put_class(&lab.cloud.large_class(CLASSES[1], C::NAME)).await?;
    let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
    let mut stages = Stages { fleet: &fleet, over: Vec::new() };
    let is_done = async || Ok(is_complete(&lab.deployments().get(NAME).await?));

    let what =
        format!("creating MachineDeployment {NAME} of {few}, maxSurge {surge}, maxUnavailable {unavailable}");
    let create = async {
        lab.create_deployment(&deployment(NAME, CLASSES[0], few, surge, unavailable)).await.map(drop)
    };
    stages.play((&what, Numbers::number(few, 0)?), progress, create, is_done).await?;

    let what = format!("scaling it to {many}, as kubectl scale does");
    stages.play((&what, Numbers::number(many, few)?), progress, lab.scale(NAME, many), is_done).await?;

    let calls_before_swap = swap(lab, host, drivers, &mut stages, numbers, progress).await?;

    let what = format!("rolling it back to class {}", CLASSES[0]);
    stages.play((&what, numbers.rolling()?), progress, lab.roll_back(NAME, 0), is_done).await?;
    let is_back = fleet.look(|fleet| fleet.tally().classes.keys().eq([CLASSES[0]]));

    let made = lab.cloud.made().await?;
    if !options.keep {
        let what = format!("deleting MachineDeployment {NAME}");
        let is_gone = async || {
            let deployments = lab.deployments().get_metadata_opt(NAME).await?.is_none();
            let sets = lab.sets().list_metadata(&kube::api::ListParams::default()).await?.items.is_empty();
            Ok(deployments && sets && fleet.look(|fleet| fleet.machines().is_empty()))
        };
        let delete = lab.delete_deployment(NAME);
        stages.play((&what, Numbers::number(many, 0)?), progress, delete, is_gone).await?;
    }
    let metrics = host.metrics().await?;
    let (nodes_left, tokens_left) = lab.left_in_target().await?;
    Ok(Summary {
        machines: stages.made(),
        running: fleet.look(crate::fleet::Fleet::times_to_running),
        stages: stages.over,
        is_back,
        is_kept: options.keep,
        metrics,
        versions: VERSIONS,
        calls_before_swap,
        made,
        duplicates_ever: lab.cloud.made().await?.duplicates,
        vms_left: lab.cloud.live().await?.len(),
        nodes_left,
        tokens_left,
    })
}

/// Rolls to the other class, and swaps the driver as soon as the first Machine of it is there. Answers how many calls
/// of the driver had ended when the second version was seen to serve.
async fn swap<C: Cloud>(
    lab: &Lab<C>,
    host: &Host,
    drivers: &Drivers,
    stages: &mut Stages<'_>,
    numbers: Numbers,
    progress: &mut Progress,
) -> Result<f64> {
    let what =
        format!("rolling it to class {}, and swapping the driver to {} meanwhile", CLASSES[1], VERSIONS[1]);
    let fleet = stages.fleet;
    let begin = async {
        lab.roll(NAME, CLASSES[1]).await?;
        fleet
            .until("a Machine of the other class is there", |tally| tally.classes.contains_key(CLASSES[1]))
            .await?;
        lab.put_plugin(&lab.cloud.plugin(&drivers.second)?).await
    };
    let calls: Cell<Option<f64>> = Cell::new(None);
    let is_done = async || {
        if calls.get().is_none() && serving_version(lab).await?.as_deref() == Some(VERSIONS[1]) {
            calls.set(Some(driver_calls(host).await?));
        }
        Ok(is_complete(&lab.deployments().get(NAME).await?))
    };
    stages.play((&what, numbers.rolling()?), progress, begin, is_done).await?;
    calls.get().with_context(|| format!("the rollout was over before driver {} served", VERSIONS[1]))
}

async fn serving_version<C: Cloud>(lab: &Lab<C>) -> Result<Option<String>> {
    let status = lab.plugin_status(C::NAME).await?;
    Ok(status.and_then(|status| status["held"]["version"].as_str().map(str::to_owned)))
}

async fn driver_calls(host: &Host) -> Result<f64> {
    Ok(host.metrics().await?.sum("machinist_plugin_calls_total", &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_from_the_number_of_machines() {
        let numbers = Numbers::of(12);
        assert_eq!((numbers.many, numbers.surge, numbers.unavailable), (18, 4, 2));
        assert_eq!(numbers.rolling().unwrap(), FleetBounds { most: 22, fewest_available: 16 });
        let few = Numbers::of(2);
        assert_eq!((few.many, few.surge, few.unavailable), (3, 1, 0));
    }
}
