//! A machine from creation to deletion, under the rights that `deploy/clusterctl` gives.

use anyhow::{Context, Result, ensure};
use e2e::cluster_api::objects;
use e2e::{Cloud as _, Lab, LabOptions, eventually, manifests};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use machinist_api::infrastructure::names::annotations;
use machinist_api::infrastructure::{MachinistCluster, MachinistMachine, MachinistMachineTemplate};
use serde_json::{Value, json};

use super::played_core::{
    TEAM, add_cluster, add_machine, add_machine_with, all, install, install_for_one_namespace,
    provide_cluster,
};
use crate::scene::{SIM, hosted, is_gone, runs, turn};

pub(super) fn provider_spec() -> Value {
    let class = manifests::class("small", "sim");
    class.provider_spec.unwrap_or_default()
}

/// The token that the cloud takes.
pub(super) fn token(lab: &Lab) -> Result<String> {
    let data = lab.cloud.secret("sim").data.unwrap_or_default();
    let token = data.get("token").context("the cloud has a token")?;
    Ok(String::from_utf8(token.0.clone())?)
}

async fn provided(lab: &Lab, name: &str) -> Result<MachinistMachine> {
    eventually(&format!("{name} has its VM"), async || {
        let machine = all::<MachinistMachine>(&lab.client).get(name).await?;
        Ok(machine.is_provisioned().then_some(machine))
    })
    .await
}

#[tokio::test]
async fn a_machine_of_cluster_api_lives_beside_one_of_mcm_with_one_vm_each() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    install(&lab).await.expect("the kinds are installed");
    hosted(&lab.host_options().with(&["--cluster-api=*"]), async |host| {
        lab.install_driver(&SIM).await?;
        let client = &lab.client;
        add_cluster(client, &token(&lab)?).await?;
        let cluster = eventually("the cluster is provided", async || {
            let cluster = all::<MachinistCluster>(client).get("c").await?;
            let initialization =
                cluster.status.as_ref().and_then(|status| status.initialization.as_ref()).cloned();
            Ok((initialization.unwrap_or_default().provisioned == Some(true)).then_some(cluster))
        })
        .await?;
        ensure!(cluster.metadata.finalizers.is_some(), "it stays until its machines are gone");
        provide_cluster(client).await?;

        let spec = json!({ "provider": "sim", "providerSpec": provider_spec() });
        add_machine(client, "vm", &spec).await?;
        let machine = provided(&lab, "vm").await?;
        let status = machine.status.clone().unwrap_or_default();
        ensure!(!status.addresses.is_empty(), "{status:?}");
        ensure!(
            status.conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True"),
            "{status:?}"
        );
        let generation = machine.metadata.generation;
        ensure!(status.conditions.iter().all(|one| one.observed_generation == generation), "{status:?}");
        runs(&lab, "mcm").await?;
        ensure!(lab.cloud.live_vms().len() == 2, "one VM each: {:?}", lab.cloud.live_vms());

        let id = machine.provider_id().context("its VM is stored")?;
        let other = Patch::Merge(json!({ "spec": { "providerID": format!("{id}-other") } }));
        let machines = all::<MachinistMachine>(client);
        let refused = machines.patch("vm", &PatchParams::default(), &other).await;
        ensure!(refused.is_err_and(|error| error.to_string().contains("cannot change")), "the id stays");

        // Data that etcd holds and this cloud does not take.
        add_machine_with(client, "large", &spec, &"x".repeat(300 * 1024)).await?;
        eventually("it says so", async || {
            let large = machines.get("large").await?;
            let conditions = large.status.map(|status| status.conditions).unwrap_or_default();
            let is_it = |one: &Condition| one.reason == "InvalidSpec" && one.message.contains("user");
            Ok(conditions.iter().any(is_it).then_some(()))
        })
        .await?;
        ensure!(lab.cloud.live_vms().len() == 2, "and has no VM: {:?}", lab.cloud.live_vms());
        machines.delete("large", &DeleteParams::default()).await?;

        machines.delete("vm", &DeleteParams::default()).await?;
        eventually("the machine is gone", async || Ok(machines.get_opt("vm").await?.is_none().then_some(())))
            .await?;
        ensure!(lab.cloud.live_vms().len() == 1, "{:?}", lab.cloud.live_vms());
        let clusters = all::<MachinistCluster>(client);
        clusters.delete("c", &DeleteParams::default()).await?;
        eventually("its cluster is gone", async || Ok(clusters.get_opt("c").await?.is_none().then_some(())))
            .await?;
        lab.delete_machine("mcm").await?;
        is_gone(&lab, "mcm").await?;
        ensure!(lab.cloud.live_vms().is_empty(), "no VM is left");
        let errors = host.log_lines("ERROR");
        ensure!(errors.is_empty(), "{errors:?}");
        let metrics = host.metrics().await?;
        ensure!(metrics.sum("machinist_pass_panics_total", &[]) == 0.0, "no pass panicked");
        lab.clear().await
    })
    .await;
}

/// Under Roles of one namespace, without the ClusterRole: nothing of another namespace is read or written.
#[tokio::test]
async fn a_host_serves_one_namespace_with_rights_for_no_other() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    install_for_one_namespace(&lab).await.expect("the kinds are installed");
    hosted(&lab.host_options().with(&["--cluster-api=team"]), async |process| {
        lab.install_driver(&SIM).await?;
        let client = &lab.client;
        add_cluster(client, &token(&lab)?).await?;
        provide_cluster(client).await?;
        let spec = json!({ "provider": "sim", "providerSpec": provider_spec() });
        add_machine(client, "vm", &spec).await?;
        provided(&lab, "vm").await?;
        let host = control_plane::client_from(lab.host_kubeconfig()).await?;
        let elsewhere = Api::<Secret>::namespaced(host, "default").get("anything").await;
        ensure!(matches!(&elsewhere, Err(kube::Error::Api(status)) if status.code == 403), "{elsewhere:?}");
        all::<MachinistMachine>(client).delete("vm", &DeleteParams::default()).await?;
        eventually("the machine is gone", async || {
            Ok(all::<MachinistMachine>(client).get_opt("vm").await?.is_none().then_some(()))
        })
        .await?;
        ensure!(lab.cloud.live_vms().is_empty(), "no VM is left");
        let errors = process.log_lines("ERROR");
        ensure!(errors.is_empty(), "{errors:?}");
        lab.clear().await
    })
    .await;
}

/// The two ways of naming a driver exclude each other, and a template makes VMs.
#[tokio::test]
async fn the_api_server_refuses_what_contradicts_itself() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    let checked = async {
        install(&lab).await?;
        let both = json!({ "provider": "sim", "classRef": { "name": "small" } });
        let with_class = json!({ "classRef": { "name": "small" }, "providerSpec": { "a": 1 } });
        for (number, spec) in [both, with_class, json!({})].iter().enumerate() {
            let refused = add_machine(&lab.client, &format!("odd-{number}"), spec).await;
            ensure!(refused.is_err(), "{spec} is refused");
            let mut template = objects::machine_template(TEAM, &format!("odd-{number}"), "sim", &json!({}));
            template["spec"]["template"]["spec"] = spec.clone();
            ensure!(
                lab.plane.apply(&template.to_string()).await.is_err(),
                "a template with {spec} is refused"
            );
        }
        let mut with_id = objects::machine_template(TEAM, "odd", "sim", &provider_spec());
        with_id["spec"]["template"]["spec"]["providerID"] = json!("sim:///1");
        ensure!(lab.plane.apply(&with_id.to_string()).await.is_err(), "a template is of no VM");
        Ok(())
    };
    checked.await.unwrap_or_else(|error: anyhow::Error| panic!("{error:#}"));
}

/// A change of a template would roll no machine. The topology controller tries changes.
#[tokio::test]
async fn templates_change_in_marked_dry_runs_only() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    let checked = async {
        install(&lab).await?;
        lab.plane
            .apply(&objects::machine_template(TEAM, "small", "sim", &provider_spec()).to_string())
            .await?;
        let templates = all::<MachinistMachineTemplate>(&lab.client);
        let change = |is_marked: bool, kind: &str| {
            let mark = is_marked.then(|| json!({ annotations::TOPOLOGY_DRY_RUN: "" }));
            let spec = json!({ "template": { "spec": { "providerSpec": { "type": kind } } } });
            json!({ "metadata": { "annotations": mark.unwrap_or_else(|| json!({})) }, "spec": spec })
        };
        let mut attempts = 0;
        eventually("the policy counts", async || {
            attempts += 1;
            // Another change each time: one that was made before the policy counted is none any more.
            let change = Patch::Merge(change(false, &format!("sim.large-{attempts}")));
            Ok(templates.patch("small", &PatchParams::default(), &change).await.is_err().then_some(()))
        })
        .await?;
        for (is_dry_run, is_marked, is_allowed) in
            [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
        {
            let params = PatchParams { dry_run: is_dry_run, ..PatchParams::default() };
            let outcome =
                templates.patch("small", &params, &Patch::Merge(change(is_marked, "sim.huge"))).await;
            ensure!(outcome.is_ok() == is_allowed, "dry run {is_dry_run}, marked {is_marked}: {outcome:?}");
            if let Err(refused) = outcome {
                ensure!(refused.to_string().contains("create a template of another name"), "{refused}");
            }
        }
        let label = json!({ "metadata": { "labels": { "example.org/team": "shop" } } });
        templates.patch("small", &PatchParams::default(), &Patch::Merge(&label)).await?;
        Ok(())
    };
    checked.await.unwrap_or_else(|error: anyhow::Error| panic!("{error:#}"));
}
