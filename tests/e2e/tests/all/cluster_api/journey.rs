//! The life of a workload cluster with Cluster API's own programs.

use anyhow::{Result, ensure};
use e2e::cluster_api::{Workload, objects};
use e2e::{Lab, eventually};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use super::played::provider_spec;
use super::scene::{TEAM, managed, options, workload};

#[tokio::test]
async fn a_workload_cluster_is_made_scaled_rolled_and_deleted() {
    managed(options(), async |lab, _, host| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 3).await?;
        workload.has(3, "small").await?;
        joined(lab, &workload, 3).await?;

        workload.scale(6).await?;
        workload.has(6, "small").await?;
        workload.scale(2).await?;
        workload.has(2, "small").await?;
        ensure!(lab.cloud.live_vms().len() == 2, "{:?}", lab.cloud.live_vms());

        let mut large = provider_spec();
        large["type"] = json!("sim.large");
        let template = objects::machine_template(TEAM, "large", "sim", &large);
        lab.plane.apply(&template.to_string()).await?;
        let created = lab.cloud.stats().created;
        workload.roll("large").await?;
        let most = rolled(&workload, lab, 2).await?;
        ensure!(most <= 3, "never more VMs than wanted and one: {most}");
        let stats = lab.cloud.stats();
        ensure!(
            stats.created == created + 2,
            "one VM for each new machine, {created} before: {stats:?}\n{}",
            host.log_end()
        );

        workload.delete().await?;
        ensure!(lab.cloud.live_vms().is_empty(), "{:?}", lab.cloud.live_vms());
        ensure!(lab.cloud.stats().duplicates_ever == 0, "no machine ever had two VMs");
        let errors = host.log_lines("ERROR");
        ensure!(errors.is_empty(), "{errors:?}");
        Ok(())
    })
    .await;
}

/// Nodes are what core makes of them: nothing of it is the host's.
async fn joined(lab: &Lab, workload: &Workload, machines: usize) -> Result<()> {
    let nodes: Api<Node> = Api::all(lab.client.clone());
    eventually("core has set up the Nodes", async || {
        let nodes = nodes.list(&ListParams::default()).await?;
        let is_set_up = |node: &Node| {
            let labels = node.metadata.labels.as_ref();
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
            labels.is_some_and(|labels| labels.contains_key("node-role.kubernetes.io/worker"))
                && !taints.into_iter().any(|taint| taint.key.contains("uninitialized"))
        };
        Ok((nodes.items.len() == machines && nodes.iter().all(is_set_up)).then_some(()))
    })
    .await?;
    for machine in workload.machines().list(&ListParams::default()).await? {
        let addresses = machine.data["status"]["addresses"].as_array().cloned().unwrap_or_default();
        ensure!(!addresses.is_empty(), "core took the addresses: {}", machine.data["status"]);
        ensure!(machine.data["spec"]["providerID"].is_string(), "core took the id: {}", machine.data["spec"]);
    }
    Ok(())
}

/// Waits for the end of a rollout. Returns the most VMs at one moment; never are fewer Machines available than wanted.
async fn rolled(workload: &Workload, lab: &Lab, wanted: usize) -> Result<usize> {
    let mut most = 0;
    let fewest = std::cell::Cell::new(usize::MAX);
    eventually("the rollout is done", async || {
        let seen = workload.look().await?;
        most = most.max(lab.cloud.live_vms().len());
        fewest.set(fewest.get().min(usize::try_from(seen.available)?));
        Ok(seen.is_complete(wanted, "large").then_some(()))
    })
    .await?;
    ensure!(fewest.get() >= wanted, "only {} machines were available", fewest.get());
    Ok(most)
}
