//! Scale-ups and scale-downs of the autoscaler, and races of both: the Machines that it means go, and no others.

use anyhow::{Context, Result, ensure};
use e2e::LabOptions;
use e2e::autoscaler::{Dialect, is_rollout_finished};
use e2e::fleet::FleetWatch;
use serde_json::json;

use super::{POOL, autoscaler, group, list_is_empty, names, node_of, pool};
use crate::scene::installed;

/// The Machines that a scale-up brought are the newest, and would be the last to go.
async fn takes_those_that_are_meant(dialect: Dialect) {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let first = names(&fleet);
        let autoscaler = autoscaler(lab, dialect);
        ensure!(autoscaler.turn(2).await?.as_deref() == Some(POOL), "the group is made larger");
        fleet.until("five Machines run", |tally| tally.available == 5).await?;
        ensure!(fleet.stretch().most == 5, "never one too many: {:?}", fleet.stretch());
        lab.deployment_is_complete(POOL).await?;

        fleet.begin();
        let meant: Vec<String> = names(&fleet).difference(&first).cloned().collect();
        let nodes: Vec<String> = meant.iter().map(|machine| node_of(&fleet, machine)).collect();
        autoscaler.scale_down(&group(), &nodes).await?;
        autoscaler.turn(0).await?;
        fleet.until("two are gone", |tally| tally.objects == 3).await?;
        lab.deployment_is_complete(POOL).await?;
        ensure!(
            names(&fleet) == first,
            "{:?} are left of {first:?}, and {meant:?} were meant",
            names(&fleet)
        );
        let stretch = fleet.stretch();
        ensure!((stretch.made, stretch.gone) == (0, 2), "none is made for one that goes: {stretch:?}");
        list_is_empty(lab).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: a scale-down by names runs on each change"]
async fn a_scale_down_by_names_and_times_takes_those_that_are_meant() {
    takes_those_that_are_meant(Dialect::NamesAndTimes).await;
}

#[tokio::test]
async fn a_scale_down_by_names_takes_those_that_are_meant() {
    takes_those_that_are_meant(Dialect::Names).await;
}

#[tokio::test]
#[ignore = "nightly: a scale-down by names runs on each change"]
async fn a_scale_down_by_priorities_takes_those_that_are_meant() {
    takes_those_that_are_meant(Dialect::Priorities).await;
}

/// The last Machine by name, and its Node: not the one that a scale-down would choose without a hint.
fn one_of(fleet: &FleetWatch) -> Result<(String, String)> {
    let machine = names(fleet).into_iter().next_back().context("there are Machines")?;
    let node = node_of(fleet, &machine);
    Ok((machine, node))
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_scale_up_right_after_a_scale_down_spares_nobody_who_was_meant_and_takes_nobody_else() {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let first = names(&fleet);
        let autoscaler = autoscaler(lab, Dialect::NamesAndTimes);
        let (meant, node) = one_of(&fleet)?;
        fleet.begin();
        autoscaler.scale_down(&group(), &[node]).await?;
        autoscaler.turn(2).await?;
        fleet.until("four are left", |tally| tally.objects == 4 && tally.available == 4).await?;
        lab.deployment_is_complete(POOL).await?;
        let left = names(&fleet);
        ensure!(!left.contains(&meant), "{meant} was meant, and is there: {left:?}");
        let lost: Vec<&String> =
            first.iter().filter(|name| **name != meant && !left.contains(*name)).collect();
        ensure!(lost.is_empty(), "{lost:?} are gone, and only {meant} was meant");
        let stretch = fleet.stretch();
        ensure!((stretch.made, stretch.most_alive) == (2, 4), "two are made and no more: {stretch:?}");
        list_is_empty(lab).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_machine_that_was_meant_goes_and_is_replaced_when_somebody_puts_the_number_back() {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let first = names(&fleet);
        let autoscaler = autoscaler(lab, Dialect::NamesAndTimes);
        let (meant, node) = one_of(&fleet)?;
        fleet.begin();
        autoscaler.scale_down(&group(), &[node]).await?;
        lab.scale(POOL, 3).await?;
        fleet.until("another is there instead", |tally| tally.objects == 3 && tally.available == 3).await?;
        e2e::eventually("the Machine that was meant is gone", async || {
            Ok((!names(&fleet).contains(&meant)).then_some(()))
        })
        .await?;
        lab.deployment_is_complete(POOL).await?;
        let kept = names(&fleet).intersection(&first).count();
        ensure!(kept == 2, "{kept} are left of those that were not meant");
        let stretch = fleet.stretch();
        ensure!(
            stretch.made == 1 && stretch.most_alive <= 3,
            "one is made for the one that goes: {stretch:?}"
        );
        list_is_empty(lab).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_scale_down_from_an_old_cache_counts_from_what_is_there() {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let autoscaler = autoscaler(lab, Dialect::NamesAndTimes);
        let (meant, node) = one_of(&fleet)?;
        autoscaler.lag(&group()).await?;
        lab.scale(POOL, 5).await?;
        autoscaler.scale_down(&group(), &[node]).await?;
        let replicas = lab.deployments().get(POOL).await?.spec.replicas;
        ensure!(
            replicas == Some(4),
            "its first write was refused, the second counts from five: {replicas:?}"
        );
        fleet.until("four are left", |tally| tally.objects == 4 && tally.available == 4).await?;
        lab.deployment_is_complete(POOL).await?;
        ensure!(!names(&fleet).contains(&meant), "{meant} was meant");
        list_is_empty(lab).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_paused_deployment_is_scaled_down_by_the_autoscaler_all_the_same() {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 2).await?;
        lab.patch_deployment(POOL, &json!({ "spec": { "paused": true } })).await?;
        lab.deployment_reason(POOL, "Paused", "").await?;
        ensure!(is_rollout_finished(&lab.deployments().get(POOL).await?), "the autoscaler reads it so");
        let (meant, node) = one_of(&fleet)?;
        autoscaler(lab, Dialect::NamesAndTimes).scale_down(&group(), &[node]).await?;
        fleet.until("one is left", |tally| tally.objects == 1).await?;
        ensure!(!names(&fleet).contains(&meant), "{meant} was meant");
        list_is_empty(lab).await
    })
    .await;
}
