//! A host that is killed again and again, with Cluster API's own core beside it: one VM for each key, and none left.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail, ensure};
use e2e::cluster_api::{Management, Workload};
use e2e::{Cloud, Host, Lab, within};
use kube::api::DeleteParams;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::scene::{
    Sim, install_driver, lab, one_vm_each, options, put_large_template, vms_of_kept_machines, workload,
};
use crate::scene::turn;

/// The variable that repeats the delays of an earlier run.
const SEED: &str = "MACHINIST_KILLS_SEED";

/// The longest time that a host lives once it is ready, as a power of e in milliseconds: each of the moments after the
/// start, which are close together, is met as often as those of a longer life.
const LONGEST_LIFE: f64 = 7.8;

/// Each phase takes as many kills as it takes.
const LIMIT: Duration = Duration::from_secs(600);

/// Then the next host lives: a deletion waits for longer than any of these lives until the cloud's reads must show
/// it, and that wait is in the memory of a process.
const KILLS_A_PHASE: usize = 25;

/// Fewer would have met few of the moments of all phases.
const FEWEST_KILLS: usize = 40;

#[tokio::test]
#[ignore = "nightly: three minutes; lives of the runtime crash between any two requests on each change"]
async fn a_host_that_is_killed_again_and_again_makes_one_vm_for_each_machine() {
    killed::<Sim>().await;
}

/// Three machines, ten, two, a roll, none. Meanwhile the host is killed after random times, reads of the cloud lag, and
/// some answers are lost.
pub(super) async fn killed<C: Cloud>() {
    let _turn = turn().await;
    let lab: Lab<C> = lab(options()).await;
    let management = Management::start(&lab.plane).await.unwrap_or_else(|error| panic!("{error:#}"));
    let seed = seed();
    println!("{SEED}={seed}");
    let outcome = story(&lab, &mut Kills::of(seed)).await;
    outcome.unwrap_or_else(|error| panic!("{SEED}={seed}: {error:#}\n{}", management.logs()));
}

fn seed() -> u64 {
    let given = std::env::var(SEED).ok().and_then(|text| text.parse().ok());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    given.unwrap_or(u64::from(since.subsec_nanos()))
}

async fn story<C: Cloud>(lab: &Lab<C>, kills: &mut Kills) -> Result<()> {
    let host = start(lab).await?;
    install_driver(lab).await?;
    let workload = workload(lab).await?;
    put_large_template(lab).await?;
    host.kill();
    lab.cloud.disturb()?;

    workload.deploy(&lab.plane, 3).await?;
    kills.during(lab, async || has(lab, &workload, (3, "small"), 3, 0).await).await?;
    workload.scale(10).await?;
    kills.during(lab, async || has(lab, &workload, (10, "small"), 10, 0).await).await?;
    workload.scale(2).await?;
    kills.during(lab, async || has(lab, &workload, (2, "small"), 10, 0).await).await?;
    workload.roll("large").await?;
    kills.during(lab, async || has(lab, &workload, (2, "large"), 3, 2).await).await?;
    ensure!(kills.count >= FEWEST_KILLS, "the host was killed only {} times", kills.count);
    one_vm_each(lab).await?;

    // And in the deletion of everything.
    lab.cloud.heal()?;
    workload.clusters().delete(&workload.name, &DeleteParams::default()).await?;
    kills
        .during(lab, async || {
            let gone = within(LIMIT, "the Cluster is gone", async || {
                Ok(workload.clusters().get_opt(&workload.name).await?.is_none().then_some(()))
            });
            or_shown(gone.await, &workload).await
        })
        .await?;
    println!("the host was killed {} times", kills.count);
    let left = lab.cloud.live_machines().await?;
    ensure!(left.is_empty(), "VMs are left: {left:?}");
    one_vm_each(lab).await
}

/// One that leads at once, whoever was killed before.
async fn start<C: Cloud>(lab: &Lab<C>) -> Result<Host> {
    Host::start_ready(&lab.host_options().with(&["--cluster-api=*", "--leader-elect=false"])).await
}

/// Waits for so many Machines of a template. Until then so many VMs at most live, and so many Machines at least are
/// available, at each moment that is seen.
async fn has<C: Cloud>(
    lab: &Lab<C>,
    workload: &Workload,
    (replicas, template): (usize, &str),
    most_vms: usize,
    fewest_available: u64,
) -> Result<()> {
    let mut broken = None;
    let waited = within(LIMIT, &format!("{replicas} Machines of {template} are available"), async || {
        let (seen, vms) = (workload.look().await?, vms_of_kept_machines(lab, workload).await?);
        if vms > most_vms || seen.available < fewest_available {
            broken =
                Some(format!("{vms} VMs of Machines that are kept, {} available: {seen:?}", seen.available));
        }
        Ok((broken.is_some() || seen.is_complete(replicas, template)).then_some(()))
    })
    .await;
    if let Some(broken) = broken {
        bail!("more than {most_vms} VMs, or fewer than {fewest_available} available: {broken}");
    }
    or_shown(waited, workload).await
}

async fn or_shown(waited: Result<()>, workload: &Workload) -> Result<()> {
    match waited {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(workload.shown().await)),
    }
}

/// Kills of hosts, at times from a seed.
struct Kills {
    rng: Xoshiro256PlusPlus,
    count: usize,
}

impl Kills {
    fn of(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), count: 0 }
    }

    /// Starts hosts and kills them, and lets the last one live until this is done.
    async fn during<C: Cloud>(&mut self, lab: &Lab<C>, done: impl AsyncFnOnce() -> Result<()>) -> Result<()> {
        tokio::select! {
            outcome = done() => outcome,
            error = self.go_on(lab) => Err(error),
        }
    }

    /// Returns only when a host does not start.
    async fn go_on<C: Cloud>(&mut self, lab: &Lab<C>) -> anyhow::Error {
        let fails = |error: anyhow::Error| error.context("the host does not start again");
        for _ in 0..KILLS_A_PHASE {
            let host = match start(lab).await {
                Ok(host) => host,
                Err(error) => return fails(error),
            };
            let lives = self.rng.random_range(0.0..LONGEST_LIFE).exp();
            tokio::time::sleep(Duration::from_secs_f64(lives / 1_000.0)).await;
            host.kill();
            self.count += 1;
        }
        match start(lab).await {
            Ok(_host) => std::future::pending().await,
            Err(error) => fails(error),
        }
    }
}
