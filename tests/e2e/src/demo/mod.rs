//! The demo: what a user does, in the order in which a user does it, and whether all of it held.

mod progress;
mod stopwatch;
mod summary;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use tokio::time::Instant;

use crate::host::Host;
use crate::lab::{Lab, LabOptions};
use crate::manifests;
use crate::wait::eventually;

use progress::Progress;
use stopwatch::Stopwatch;
use summary::Summary;

/// Runs Machinist on a real kube-apiserver: a driver in a ConfigMap makes machines, is swapped in flight, and everything is
/// deleted again without a leak.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask demo")]
pub struct Options {
    /// How many Machines
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=5_000))]
    pub machines: u32,
    /// Leave everything running and print the kubeconfig to use with kubectl; Ctrl-C ends it
    #[arg(long)]
    pub keep: bool,
}

/// Versions of the driver. They are two builds, with two digests.
const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];

/// Between two looks, and between two creations while there is nothing special to wait for.
const PACE: Duration = Duration::from_millis(60);

/// True when all of it held.
///
/// # Errors
/// When a part does not start or a step does not come about.
pub async fn run(options: Options) -> Result<bool> {
    let started = Instant::now();
    let mut progress = Progress::start();
    progress.say("building the driver in two versions, 1.0.0 and 1.1.0");
    let drivers = tokio::task::spawn_blocking(drivers).await??;
    progress.say(
        "starting a control plane (etcd, kube-apiserver, kube-controller-manager), a cloud and its kubelets",
    );
    let mut lab_options = LabOptions::default();
    lab_options.plane.controller_manager = true;
    lab_options.cloud.latency = simcloud::Latency {
        create_ms: 200,
        boot_ms: 800,
        delete_ms: 50,
        terminate_ms: 400,
        ..lab_options.cloud.latency
    };
    let lab = Lab::start(lab_options).await?;
    progress.say("starting Machinist under its least-privilege account (deploy/rbac)");
    let mut host = lab.start_host().await?;
    let outcome = story(&lab, &mut host, &options, &drivers, &mut progress).await;
    let summary = match outcome {
        Ok(summary) => summary,
        Err(error) => {
            progress.say(&format!("the host's log ends with:\n{}", host.log_end()));
            return Err(error);
        }
    };
    if options.keep {
        keep(&lab, &mut progress).await?;
        return Ok(true);
    }
    let ended = host.terminate().await?;
    let holds = summary.print(started.elapsed(), ended.success());
    Ok(holds)
}

fn drivers() -> Result<[Vec<u8>; 2]> {
    let build = |version| guests::bytes_with("sim-driver", "SIM_DRIVER_VERSION", version);
    Ok([build(VERSIONS[0])?, build(VERSIONS[1])?])
}

async fn story(
    lab: &Lab,
    host: &mut Host,
    options: &Options,
    drivers: &[Vec<u8>; 2],
    progress: &mut Progress,
) -> Result<Summary> {
    let [first, second] = drivers;
    progress.say(&format!(
        "creating ConfigMap sim with driver {} ({} KiB), Secret sim, MachineClass small",
        VERSIONS[0],
        first.len() / 1024
    ));
    lab.install_driver(first).await?;
    progress.say(&format!("driver {} serves; creating {} Machines", VERSIONS[0], options.machines));
    let names: Vec<String> = (1..=options.machines).map(|number| format!("worker-{number:04}")).collect();
    let swap_at = names.len() / 2;
    let stopwatch = Stopwatch::start(lab);
    let mut calls_before_swap = None;
    for (number, name) in names.iter().enumerate() {
        if number == swap_at {
            progress.say(&format!("swapping the driver to {} while Machines are being created", VERSIONS[1]));
            lab.put_plugin(&manifests::plugin("sim", second, &lab.cloud.url())?).await?;
        }
        stopwatch.create(name);
        lab.create_machine(name, "small").await?;
        let end = Instant::now()
            + if number < swap_at {
                PACE.min(Duration::from_secs(3) / options.machines)
            } else {
                pace_of_swap(names.len() - swap_at)
            };
        while Instant::now() < end && calls_before_swap.is_none() {
            progress.show(lab).await?;
            if number >= swap_at && serving_version(lab).await?.as_deref() == Some(VERSIONS[1]) {
                calls_before_swap = Some(driver_calls(host).await?);
                progress.say(&format!(
                    "driver {} serves new calls, those in flight end on {}",
                    VERSIONS[1], VERSIONS[0]
                ));
            }
            tokio::time::sleep_until(end.min(Instant::now() + PACE)).await;
        }
    }
    all(lab, progress, "all Machines are Running", "Running", names.len()).await?;
    progress.say("all Machines are Running, their Nodes are Ready");
    let created = lab.cloud.stats();
    if !options.keep {
        progress.say("deleting all Machines");
        for name in &names {
            lab.delete_machine(name).await?;
        }
        all_gone(lab, progress).await?;
    }
    let metrics = host.metrics().await?;
    let (nodes, tokens) = lab.left_in_target().await?;
    Ok(Summary {
        machines: names.len(),
        running: stopwatch.taken(),
        metrics,
        versions: VERSIONS,
        calls_before_swap: calls_before_swap.unwrap_or_default(),
        cloud: lab.cloud.stats(),
        created: created.created,
        vms_left: lab.cloud.live_vms().len(),
        nodes_left: nodes,
        tokens_left: tokens,
    })
}

/// Between two creations while the driver is swapped: compiling it takes a second or two, and the last Machines are to be
/// made by the version that comes.
fn pace_of_swap(machines_left: usize) -> Duration {
    Duration::from_secs(4) / u32::try_from(machines_left.max(1)).unwrap_or(1)
}

async fn serving_version(lab: &Lab) -> Result<Option<String>> {
    let status = lab.plugin_status("sim").await?;
    Ok(status.and_then(|status| status["held"]["version"].as_str().map(str::to_owned)))
}

async fn driver_calls(host: &Host) -> Result<f64> {
    Ok(host.metrics().await?.sum("machinist_plugin_calls_total", &[]))
}

async fn all(lab: &Lab, progress: &mut Progress, what: &str, phase: &str, count: usize) -> Result<()> {
    eventually(what, async || {
        let phases = progress.show(lab).await?;
        Ok((phases.get(phase).copied().unwrap_or(0) == count).then_some(()))
    })
    .await
}

async fn all_gone(lab: &Lab, progress: &mut Progress) -> Result<()> {
    eventually("all Machines are gone", async || {
        let phases: BTreeMap<String, usize> = progress.show(lab).await?;
        Ok(phases.is_empty().then_some(()))
    })
    .await
}

async fn keep(lab: &Lab, progress: &mut Progress) -> Result<()> {
    progress.say(&format!(
        "everything goes on running. In another terminal:\n\n  export KUBECONFIG={}\n  kubectl -n {} get machines\n  \
         kubectl -n {} delete machine worker-0001\n\nCtrl-C ends it.",
        lab.plane.admin_kubeconfig().display(),
        manifests::NAMESPACE,
        manifests::NAMESPACE,
    ));
    std::future::pending().await
}
