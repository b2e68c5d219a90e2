//! The autoscaler while a deployment is rolled: it keeps away from Nodes, may ask for more, and not for less.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::autoscaler::Dialect;
use e2e::fleet::FleetBounds;
use e2e::{Cloud, Lab, LabOptions, eventually};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::ListParams;
use machinist_api::names::annotations;

use super::{POOL, autoscaler, group, names, node_of, pool};
use crate::scene::installed;

/// Nodes that the autoscaler is to leave alone, by our own mark beside its own.
async fn kept(lab: &Lab) -> Result<(usize, usize)> {
    let nodes = lab.node_objects().list(&ListParams::default()).await?.items;
    let keys = [annotations::SCALE_DOWN_DISABLED, annotations::SCALE_DOWN_DISABLED_BY_US];
    let is_true = |node: &Node, key: &str| node.annotations().get(key).is_some_and(|value| value == "true");
    let is_kept = |node: &&Node| keys.iter().all(|key| is_true(node, key));
    Ok((nodes.iter().filter(is_kept).count(), nodes.len()))
}

#[tokio::test]
async fn in_a_rollout_the_autoscaler_scales_up_and_not_down_and_leaves_nodes_alone() {
    let mut options = LabOptions::default();
    options.kubelets.boot_delay = Duration::from_secs(2);
    installed(options, async |lab, _| {
        lab.put_class(&lab.cloud.large_class("large", "sim")).await?;
        let fleet = pool(lab, 3).await?;
        let (old, autoscaler) = (names(&fleet), autoscaler(lab, Dialect::NamesAndTimes));
        fleet.begin();
        lab.roll(POOL, "large").await?;
        eventually("all Nodes are kept from the autoscaler", async || {
            let (kept, all) = kept(lab).await?;
            Ok((kept == all).then_some(()))
        })
        .await?;
        let node = node_of(&fleet, old.first().context("there are Machines")?);
        // Nodes are kept from it, so it does nothing; if they were not, it would be refused.
        let before = lab.deployments().get(POOL).await?.spec.replicas;
        autoscaler.scale_down(&group(), std::slice::from_ref(&node)).await?;
        ensure!(lab.deployments().get(POOL).await?.spec.replicas == before, "{node} is left alone");
        autoscaler.turn(1).await?;
        lab.deployment_is_complete(POOL).await?;
        fleet.stretch().keeps_to(FleetBounds { most: 5, fewest_available: 3 })?;
        let classes = fleet.look(|fleet| fleet.tally().classes.clone());
        ensure!(classes == [("large".to_owned(), 4)].into(), "{classes:?}");
        eventually("no Node is kept from the autoscaler any more", async || {
            Ok((kept(lab).await?.0 == 0).then_some(()))
        })
        .await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_user_who_keeps_the_autoscaler_from_a_node_keeps_it_through_a_rollout() {
    installed(LabOptions::default(), async |lab, _| {
        let fleet = pool(lab, 1).await?;
        let node = node_of(&fleet, names(&fleet).first().context("there is a Machine")?);
        let own = serde_json::json!({ "metadata": { "annotations": { annotations::SCALE_DOWN_DISABLED: "true" } } });
        let patch = kube::api::Patch::Merge(own);
        lab.node_objects().patch(&node, &kube::api::PatchParams::default(), &patch).await?;
        let change = serde_json::json!({ "spec": { "template": { "spec": { "nodeTemplate": {
            "metadata": { "labels": { "tier": "gold" } },
        } } } } });
        lab.patch_deployment(POOL, &change).await?;
        eventually("the change has come to the Node", async || {
            Ok((lab.node_objects().get(&node).await?.labels().get("tier").map(String::as_str) == Some("gold")).then_some(()))
        })
        .await?;
        lab.deployment_is_complete(POOL).await?;
        let all = lab.node_objects().get(&node).await?.annotations().clone();
        let kept = all.get(annotations::SCALE_DOWN_DISABLED).map(String::as_str);
        ensure!(kept == Some("true"), "what others have set stays: {all:?}");
        ensure!(names(&fleet).len() == 1 && fleet.stretch().made == 1, "labels of Nodes roll nothing");
        Ok(())
    })
    .await;
}
