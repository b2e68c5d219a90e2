//! EC2 that loses answers, throttles, has no room, and shows what it did only later.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Aws, Lab};
use ec2::{Effect, Lag, Rule};

use super::scene::{class_with, create, installed, one_instance_each};
use crate::scene::is_running;

/// Reads show a launch only after the host has tried again.
const LAG: Lag = Lag { creation: Duration::from_secs(20), change: Duration::from_secs(1) };

#[tokio::test]
#[ignore = "nightly: a minute; the driver's own tests lose answers on each change"]
async fn a_launch_whose_answer_is_lost_is_answered_again_with_the_same_instance() {
    installed(async |lab, _| {
        lab.cloud.set_lag(LAG);
        lab.cloud.faults().add(Rule::new(Effect::lost_answer()).on("RunInstances").first(4).named("lost"));
        for name in create(lab, "m", 4).await? {
            is_running(lab, &name).await?;
        }
        let stats = lab.cloud.stats();
        ensure!(stats.faults_fired.get("lost") == Some(&4), "{stats:?}");
        ensure!(stats.replayed > 0, "no launch was answered with what was there: {stats:?}");
        ensure!(stats.created == 4 && stats.created_by_token.len() == 4, "{stats:?}");
        one_instance_each(lab).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: a minute of throttling"]
async fn a_storm_of_throttling_is_ridden_out_without_a_storm_of_errors() {
    const MACHINES: usize = 10;
    const STORM: u64 = 20;
    installed(async |lab, host| {
        // About two tries of each Machine.
        lab.cloud.faults().add(Rule::new(Effect::throttle(None)).first(STORM).named("storm"));
        let names = create(lab, "m", MACHINES).await?;
        for name in &names {
            is_running(lab, name).await?;
        }
        let stats = lab.cloud.stats();
        ensure!(stats.faults_fired.get("storm") == Some(&STORM), "{stats:?}");
        let requests: u64 = stats.requests.values().flat_map(|outcomes| outcomes.values()).sum();
        ensure!(requests < 8 * u64::try_from(MACHINES)?, "{requests} requests for {MACHINES} Machines");
        one_instance_each(lab).await?;
        let metrics = host.metrics().await?;
        ensure!(
            metrics.sum("machinist_egress_throttles_total", &["plugin=\"aws\""]) >= 20.0,
            "the host has heard it"
        );
        ensure!(
            metrics.sum("machinist_egress_turns_total", &["plugin=\"aws\""]) > 0.0,
            "no request waited for its turn"
        );
        let errors = host.log_lines("ERROR");
        ensure!(errors.is_empty(), "the log has errors: {errors:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_cloud_without_capacity_is_reported_to_the_autoscaler_and_leaks_nothing() {
    installed(async |lab, _| {
        let subnet = lab.cloud.full_subnet().await?;
        class_with(lab, "full", |spec| spec["networkInterfaces"][0]["subnetID"] = subnet.into()).await?;
        lab.create_machine("n", "full").await?;
        exhausted(lab, "n", "free addresses in the subnet, or use a larger one").await?;

        lab.cloud.faults().add(Rule::new(Effect::error("InsufficientInstanceCapacity")).on("RunInstances"));
        lab.create_machine("m", "small").await?;
        exhausted(lab, "m", "InsufficientInstanceCapacity").await?;
        lab.event("Machine", "m", "CreationFailed", "another machineType, zone or market").await?;
        ensure!(lab.cloud.instances().await?.is_empty(), "nothing was made");
        Ok(())
    })
    .await;
}

async fn exhausted(lab: &Lab<Aws>, name: &str, part: &str) -> Result<()> {
    lab.machine_reason(name, "CreationFailed", part).await?;
    let operation = lab.machines().get(name).await?.status.context("it has a status")?.last_operation;
    ensure!(operation.error_code.as_deref() == Some("ResourceExhausted"), "{operation:?}");
    Ok(())
}
