//! The story itself, the same on every cloud.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use super::Options;
use super::progress::Progress;
use super::stopwatch::Stopwatch;
use super::summary::Summary;
use crate::cloud::Cloud;
use crate::host::Host;
use crate::lab::Lab;
use crate::wait::eventually;

/// Versions of the driver. They are two builds, with two digests.
pub(super) const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];

/// Between two looks, and between two creations while there is nothing special to wait for.
const PACE: Duration = Duration::from_millis(60);
/// Compiling the second version takes a second or two: the second half of the Machines is spread over this time,
const SWAP: Duration = Duration::from_secs(4);
/// and the last of them is left to the second version, if it serves within this time.
const SWAP_LIMIT: Duration = Duration::from_secs(60);

/// The two builds.
pub(super) struct Drivers {
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Drivers {
    pub(super) fn build<C: Cloud>() -> Result<Self> {
        let build = |version| guests::bytes_with(C::DRIVER, C::VERSION, version);
        Ok(Self { first: build(VERSIONS[0])?, second: build(VERSIONS[1])? })
    }
}

pub(super) async fn tell<C: Cloud>(
    lab: &Lab<C>,
    host: &mut Host,
    options: &Options,
    drivers: &Drivers,
    progress: &mut Progress,
) -> Result<Summary> {
    let machines = lab.machines();
    progress.say(&format!(
        "creating ConfigMap {name} with driver {} ({} KiB), Secret {name}, MachineClass small",
        VERSIONS[0],
        drivers.first.len() / 1024,
        name = C::NAME,
    ));
    lab.install_driver(&drivers.first).await?;
    progress.say(&format!("driver {} serves; creating {} Machines", VERSIONS[0], options.machines));
    let names: Vec<String> = (1..=options.machines).map(|number| format!("worker-{number:04}")).collect();
    let (before_swap, after_swap) = names.split_at(names.len() / 2);
    let stopwatch = Stopwatch::start(machines.clone());
    for name in before_swap {
        let end = Instant::now() + PACE.min(Duration::from_secs(3) / options.machines);
        stopwatch.create(name);
        lab.create_machine(name, "small").await?;
        progress.show(&machines).await?;
        tokio::time::sleep_until(end).await;
    }
    progress.say(&format!("swapping the driver to {} while Machines are being created", VERSIONS[1]));
    lab.put_plugin(&lab.cloud.plugin(&drivers.second)?).await?;
    let mut calls_before_swap = None;
    for (number, name) in after_swap.iter().enumerate() {
        let is_last = number + 1 == after_swap.len();
        let end = Instant::now() + if is_last { SWAP_LIMIT } else { SWAP / u32::try_from(after_swap.len())? };
        while calls_before_swap.is_none() && Instant::now() < end {
            progress.show(&machines).await?;
            if serving_version(lab).await?.as_deref() == Some(VERSIONS[1]) {
                calls_before_swap = Some(driver_calls(host).await?);
                progress.say(&format!(
                    "driver {} serves new calls, those in flight end on {}",
                    VERSIONS[1], VERSIONS[0]
                ));
            } else {
                tokio::time::sleep_until(end.min(Instant::now() + PACE)).await;
            }
        }
        stopwatch.create(name);
        lab.create_machine(name, "small").await?;
    }
    eventually("all Machines are Running", async || {
        let phases = progress.show(&machines).await?;
        Ok((phases.get("Running") == Some(&names.len())).then_some(()))
    })
    .await?;
    progress.say("all Machines are Running, their Nodes are Ready");
    let made = lab.cloud.made().await?;
    if !options.keep {
        progress.say("deleting all Machines");
        for name in &names {
            lab.delete_machine(name).await?;
        }
        eventually("all Machines are gone", async || {
            Ok(progress.show(&machines).await?.is_empty().then_some(()))
        })
        .await?;
    }
    let metrics = host.metrics().await?;
    let (nodes_left, tokens_left) = lab.left_in_target().await?;
    Ok(Summary {
        machines: names.len(),
        running: stopwatch.taken(),
        metrics,
        versions: VERSIONS,
        calls_before_swap: calls_before_swap.unwrap_or_default(),
        made,
        duplicates_ever: lab.cloud.made().await?.duplicates,
        vms_left: lab.cloud.live().await?.len(),
        nodes_left,
        tokens_left,
    })
}

async fn serving_version<C: Cloud>(lab: &Lab<C>) -> Result<Option<String>> {
    let status = lab.plugin_status(C::NAME).await?;
    Ok(status.and_then(|status| status["held"]["version"].as_str().map(str::to_owned)))
}

async fn driver_calls(host: &Host) -> Result<f64> {
    Ok(host.metrics().await?.sum("machinist_plugin_calls_total", &[]))
}
