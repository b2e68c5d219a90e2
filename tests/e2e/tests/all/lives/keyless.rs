//! A cloud without idempotency keys under hard use: each lost answer may be a second VM, and each doubt a pause.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use e2e::faults::{failing, failing_looks};
use e2e::{Lab, LabOptions, within};
use kube::api::{DeleteParams, ListParams};

use crate::lives::crash::{one_vm_each, start_without_lease};
use crate::scene::{SIM, in_lab, scene};

/// The consistency window that the driver declares.
const WINDOW: Duration = Duration::from_secs(10);
/// Long enough for a debug build beside other tests. A create that waited for a clock of five minutes would not be in
/// time.
const TIMEOUT: Duration = Duration::from_secs(240);

async fn create(lab: &Lab, prefix: &str, count: usize) -> Result<()> {
    let names: Vec<String> = (0..count).map(|number| format!("{prefix}-{number:02}")).collect();
    futures::future::try_join_all(names.iter().map(|name| lab.create_machine(name, "small"))).await?;
    Ok(())
}

async fn all_run(lab: &Lab, count: usize, timeout: Duration) -> Result<()> {
    within(timeout, &format!("{count} Machines are Running"), async || {
        let machines = lab.machines().list(&ListParams::default()).await?.items;
        let running = machines.iter().filter(|machine| machine.phase().as_str() == "Running").count();
        Ok((running == count).then_some(()))
    })
    .await
}

#[tokio::test]
#[ignore = "nightly: a minute of refusals; the same crowd comes and goes in the tests of the runtime each time"]
async fn a_crowd_comes_and_goes_while_a_fifth_of_all_calls_fails() {
    const MACHINES: usize = 60;
    scene(LabOptions::default(), async |lab, host| {
        lab.install_driver_without_keys(&SIM, WINDOW).await?;
        lab.cloud.set_faults(failing(0.1, 0.1)).map_err(|error| anyhow!("{error:?}"))?;
        create(lab, "crowd", MACHINES).await?;
        all_run(lab, MACHINES, TIMEOUT).await?;
        one_vm_each(lab).await?;
        let (_, tokens) = lab.left_in_target().await?;
        ensure!(tokens.is_empty(), "bootstrap tokens are left: {tokens:?}");
        lab.machines().delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        within(TIMEOUT, "all Machines are gone", async || {
            Ok(lab.machines().list(&ListParams::default()).await?.items.is_empty().then_some(()))
        })
        .await?;
        let stats = lab.cloud.stats();
        ensure!(stats.faults_fired.values().all(|fired| *fired > 0), "nothing went wrong: {stats:?}");
        let lost = host.metrics().await?.sum("machinist_events_lost_total", &[]);
        ensure!(lost == 0.0, "{lost} Events are lost");
        lab.cloud.clear_faults();
        lab.clear().await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn look_ups_that_fail_for_three_seconds_cost_seconds() {
    const MACHINES: usize = 5;
    scene(LabOptions::default(), async |lab, _| {
        lab.install_driver_without_keys(&SIM, WINDOW).await?;
        lab.cloud.set_faults(failing_looks()).map_err(|error| anyhow!("{error:?}"))?;
        create(lab, "outage", MACHINES).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        lab.cloud.clear_faults();
        all_run(lab, MACHINES, Duration::from_secs(45)).await?;
        one_vm_each(lab).await?;
        lab.clear().await
    })
    .await;
}

#[tokio::test]
async fn hosts_that_are_killed_leave_one_vm_for_each_machine() {
    const KILLS: usize = 8;
    const EACH: usize = 5;
    let mut options = LabOptions::default();
    options.cloud.latency.create_ms = 100;
    in_lab(options, async |lab| {
        let mut host = start_without_lease(lab).await?;
        lab.install_driver_without_keys(&SIM, WINDOW).await?;
        for kill in 0..KILLS {
            let creates = lab.cloud.stats().calls_of("vm.create");
            create(lab, &format!("kill-{kill}"), EACH).await?;
            within(TIMEOUT, "the host is amid creates", async || {
                Ok((lab.cloud.stats().calls_of("vm.create") > creates).then_some(()))
            })
            .await?;
            host.kill();
            host = start_without_lease(lab).await?;
        }
        ended(lab, KILLS * EACH).await.with_context(|| host.log_end())
    })
    .await;
}

async fn ended(lab: &Lab, machines: usize) -> Result<()> {
    all_run(lab, machines, TIMEOUT).await?;
    one_vm_each(lab).await?;
    let (_, tokens) = lab.left_in_target().await?;
    ensure!(tokens.is_empty(), "bootstrap tokens are left: {tokens:?}");
    lab.clear().await
}
