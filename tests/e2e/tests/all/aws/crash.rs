//! A host that is killed in the middle of a create, while EC2 loses answers and shows late what it did.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Aws, Host, Lab, LabOptions, eventually};
use ec2::{Effect, Lag, Rule};
use kube::ResourceExt;
use kube::api::ListParams;
use machinist_api::names;

use super::scene::{AWS, create, heal, one_instance_each};
use crate::scene::turn;

/// When a host is killed, counted from the request for its Machines.
#[derive(Clone, Copy, Debug)]
enum CrashPoint {
    /// After so many milliseconds.
    Ms(u64),
    /// After so many launches have reached EC2.
    Launches(u64),
    /// The finalizer is on a Machine.
    Claimed,
    /// A Machine has its provider id.
    Recorded,
}

use CrashPoint::{Claimed, Launches, Ms, Recorded};

const MOMENTS: [CrashPoint; 10] =
    [Ms(0), Claimed, Launches(1), Ms(60), Recorded, Launches(2), Ms(150), Launches(3), Ms(300), Recorded];
const MACHINES_A_MOMENT: usize = 3;
const LAG: Lag = Lag { creation: Duration::from_millis(1_500), change: Duration::from_millis(500) };

#[tokio::test]
#[ignore = "nightly: a minute and a half; a host is killed in the simulated cloud on each change"]
async fn a_host_that_is_killed_at_any_moment_of_a_launch_makes_one_instance_for_each_machine() {
    let _turn = turn().await;
    let cloud = Aws::start().await.expect("EC2 starts");
    let lab = Lab::around(cloud, LabOptions::default()).await.expect("the lab starts");
    killed(&lab).await.expect("the story comes to its end");
}

async fn killed(lab: &Lab<Aws>) -> Result<()> {
    let host = start(lab).await?;
    lab.install_driver(&AWS).await?;
    host.kill();
    lab.cloud.set_lag(LAG);
    let lost = Effect::LostAnswer { hold: Duration::from_millis(50) };
    lab.cloud.faults().add(Rule::new(lost).on("RunInstances").share(0.33, 1).named("lost"));
    for (number, moment) in MOMENTS.into_iter().enumerate() {
        let host = start(lab).await?;
        let launches = lab.cloud.stats().requests_of("RunInstances");
        let prefix = format!("m{number}-");
        let outcome =
            tokio::try_join!(create(lab, &prefix, MACHINES_A_MOMENT), reach(lab, moment, &prefix, launches));
        host.kill();
        outcome.with_context(|| format!("at moment {number}, {moment:?}"))?;
    }
    let machines = MOMENTS.len() * MACHINES_A_MOMENT;
    let host = start(lab).await?;
    lab.machines_in_phase("Running", machines).await.with_context(|| host.log_end())?;
    let stats = lab.cloud.stats();
    ensure!(stats.faults_fired["lost"] > 0 && stats.replayed > 0, "nothing went wrong: {stats:?}");
    one_instance_each(lab).await?;
    // Half of the Machines go while it is killed once more.
    let doomed: Vec<String> =
        lab.machines().list(&ListParams::default()).await?.iter().map(ResourceExt::name_any).collect();
    let (first, _) = doomed.split_at(machines / 2);
    futures::future::try_join_all(first.iter().map(|name| lab.delete_machine(name))).await?;
    eventually("an instance is ordered away", async || {
        Ok((lab.cloud.stats().requests_of("TerminateInstances") > 0).then_some(()))
    })
    .await?;
    host.kill();
    heal(&lab.cloud);
    let host = start(lab).await?;
    lab.clear().await.with_context(|| host.log_end())?;
    ensure!(lab.cloud.stats().duplicates_ever == 0, "{:?}", lab.cloud.stats());
    Ok(())
}

/// One that leads at once, whoever was killed before.
async fn start(lab: &Lab<Aws>) -> Result<Host> {
    Host::start_ready(&lab.host_options().with(&["--leader-elect=false"])).await
}

async fn reach(lab: &Lab<Aws>, moment: CrashPoint, prefix: &str, launches: u64) -> Result<()> {
    let reached = async {
        while !is_reached(lab, moment, prefix, launches).await? {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        anyhow::Ok(())
    };
    match moment {
        Ms(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        Launches(_) | Claimed | Recorded => {
            tokio::time::timeout(Duration::from_secs(60), reached)
                .await
                .context("the moment does not come")??;
        }
    }
    Ok(())
}

async fn is_reached(lab: &Lab<Aws>, moment: CrashPoint, prefix: &str, launches: u64) -> Result<bool> {
    if let Launches(count) = moment {
        return Ok(lab.cloud.stats().requests_of("RunInstances") >= launches + count);
    }
    let machines = lab.machines().list(&ListParams::default()).await?.items;
    Ok(machines.iter().filter(|machine| machine.name_any().starts_with(prefix)).any(|machine| match moment {
        Claimed => machine.finalizers().iter().any(|held| held == names::finalizers::MACHINE),
        Recorded => machine.provider_id().is_some(),
        Ms(_) | Launches(_) => true,
    }))
}
