//! Manual edits while a deployment works.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::fleet::{FleetBounds, FleetWatch};
use e2e::manifests::deployments::deployment;
use e2e::{Cloud, Lab, LabOptions, eventually};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{POOL, pool};
use crate::scene::installed;

async fn patch_set(lab: &Lab, name: &str, patch: &Value) -> Result<()> {
    lab.sets().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Two sets, the old one first, once a Machine of the other class is there.
async fn rolled_half(lab: &Lab, fleet: &FleetWatch) -> Result<[String; 2]> {
    lab.put_class(&lab.cloud.large_class("large", "sim")).await?;
    lab.roll(POOL, "large").await?;
    fleet.until("a Machine of the other class is there", |tally| tally.classes.contains_key("large")).await?;
    let sets = lab.sets_of(POOL).await?;
    let mut names = sets.iter().map(ResourceExt::name_any);
    let two = [names.next(), names.next()].map(Option::unwrap_or_default);
    ensure!(sets.len() == 2, "{sets:?}");
    Ok(two)
}

fn slow() -> LabOptions {
    let mut options = LabOptions::default();
    options.kubelets.boot_delay = Duration::from_secs(2);
    options
}

#[tokio::test]
#[ignore = "nightly: a minute of rollouts"]
async fn a_set_that_is_edited_in_mid_rollout_is_put_right_and_nothing_runs_away() {
    installed(slow(), async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let [old, other] = rolled_half(lab, &fleet).await?;
        fleet.begin();
        patch_set(lab, &old, &json!({ "spec": { "replicas": 5 } })).await?;
        patch_set(lab, &other, &json!({ "spec": { "replicas": 6 } })).await?;
        let forget = json!({ "metadata": {
            "annotations": { "deployment.kubernetes.io/revision": null, "deployment.kubernetes.io/desired-replicas": null },
        } });
        patch_set(lab, &other, &forget).await?;
        lab.deployment_is_complete(POOL).await?;
        fleet.until("three are left", |tally| tally.objects == 3 && tally.available == 3).await?;
        let classes = fleet.look(|fleet| fleet.tally().classes.clone());
        ensure!(classes == [("large".to_owned(), 3)].into(), "{classes:?}");
        // A manual edit may be followed until it is reverted, and no further.
        fleet.stretch().keeps_to(FleetBounds { most: 5 + 6, fewest_available: 3 })?;
        let revision = lab.sets().get(&other).await?.annotations().get("deployment.kubernetes.io/revision").cloned();
        ensure!(revision.is_some(), "its revision is back");
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn sets_that_are_deleted_in_mid_rollout_are_made_again_and_the_rollout_ends() {
    installed(slow(), async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let [_, other] = rolled_half(lab, &fleet).await?;
        fleet.begin();
        lab.sets().delete(&other, &Default::default()).await?;
        eventually("the set that was deleted is gone", async || {
            let left = lab.sets_of(POOL).await?;
            let is_deleting = left.iter().any(|set| set.metadata.deletion_timestamp.is_some());
            Ok((!is_deleting).then_some(()))
        })
        .await?;
        lab.deployment_is_complete(POOL).await?;
        let classes = fleet.look(|fleet| fleet.tally().classes.clone());
        ensure!(classes == [("large".to_owned(), 3)].into(), "{classes:?}");
        fleet.stretch().keeps_to(FleetBounds { most: 4, fewest_available: 3 })
    })
    .await;
}

#[tokio::test]
async fn a_deployment_that_comes_again_under_its_name_during_its_own_deletion_makes_its_own_machines() {
    let mut options = LabOptions::default();
    // Collects what belongs to a deployment that is gone.
    options.plane.controller_manager = true;
    installed(options, async |lab, _| {
        let fleet = pool(lab, 3).await?;
        let first = lab.deployments().get(POOL).await?.uid().context("it has a uid")?;
        lab.delete_deployment(POOL).await?;
        // Impatient: its finalizers are taken away before its sets are gone.
        lab.patch_deployment(POOL, &json!({ "metadata": { "finalizers": null } })).await.ok();
        let again = deployment(POOL, "small", 2, 1, 0);
        eventually("it can be created again", async || {
            Ok(lab.deployments().create(&PostParams::default(), &again).await.ok())
        })
        .await?;
        lab.deployment_is_complete(POOL).await?;
        fleet.until("only its own are left", |tally| tally.objects == 2 && tally.available == 2).await?;
        let second = lab.deployments().get(POOL).await?.uid().context("it has a uid")?;
        ensure!(first != second, "it is another one");
        let is_its = |owners: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference]| {
            owners.iter().all(|owner| owner.uid == second)
        };
        eventually("the sets of the first are gone", async || {
            let sets = lab.sets_of(POOL).await?;
            Ok(sets.iter().all(|set| is_its(set.owner_references())).then_some(()))
        })
        .await?;
        // The Machines of the first, on their way out, are not counted for the second, and none is taken over.
        fleet.stretch().keeps_to(FleetBounds { most: 3 + 2, fewest_available: 0 })?;
        ensure!(fleet.stretch().made == 3 + 2, "{:?}", fleet.stretch());
        Ok(())
    })
    .await;
}
