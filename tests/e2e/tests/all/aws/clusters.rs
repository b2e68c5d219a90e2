//! Two clusters in one account, and instances of nobody.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use e2e::{Aws, Cloud, Lab, LabOptions, eventually};
use ec2::{CLUSTER_TAG, UID_TAG};

use super::scene::{AWS, all, create, installed};
use super::takeover::adopt;
use crate::scene::{SIM, is_gone, is_running, nudge, turn};

/// The tags that the class of the tests puts on each of its instances.
fn class_tags(name: &str) -> BTreeMap<String, String> {
    [("Name", name), ("kubernetes.io/cluster/lab", "1"), ("kubernetes.io/role/node", "1")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn of_cluster(name: &str, cluster: &str, uid: &str) -> BTreeMap<String, String> {
    let mut tags = class_tags(name);
    tags.insert(CLUSTER_TAG.to_owned(), cluster.to_owned());
    tags.insert(UID_TAG.to_owned(), uid.to_owned());
    tags
}

#[tokio::test]
#[ignore = "nightly: a minute; lives of two control planes run on each change"]
async fn two_clusters_in_one_account_do_not_touch_each_others_instances() {
    let _turn = turn().await;
    let account = Aws::start().await.expect("EC2 starts");
    let blue = Lab::around(account.shared_with("blue"), LabOptions::default()).await.expect("the lab starts");
    let green =
        Lab::around(account.shared_with("green"), LabOptions::default()).await.expect("the lab starts");
    apart(&account, &blue, &green).await.expect("the clusters stay apart");
}

/// Both use one class and one name.
async fn apart(account: &Aws, blue: &Lab<Aws>, green: &Lab<Aws>) -> Result<()> {
    let hosts = (blue.start_host().await?, green.start_host().await?);
    for lab in [blue, green] {
        lab.install_driver(&AWS).await?;
    }
    let foreign = account.create_foreign(&of_cluster("m0", "red", "a-uid-of-red")).await?;
    for lab in [blue, green] {
        for name in create(lab, "m", 2).await? {
            is_running(lab, &name).await?;
        }
    }
    ensure!(account.live_instances().await?.len() == 5, "two each, and the foreign one");
    let of = async |lab: &Lab<Aws>| {
        let live = lab.cloud.live().await?;
        ensure!(live.len() == 2, "{live:?}");
        anyhow::Ok(live)
    };
    let greens = of(green).await?;
    of(blue).await?;
    blue.clear().await?;
    ensure!(of(green).await? == greens, "what is green's stays");
    green.clear().await?;
    let left: Vec<String> = account.live_instances().await?.into_iter().map(|instance| instance.id).collect();
    ensure!(left == [foreign], "what is red's stays: {left:?}");
    drop(hosts);
    Ok(())
}

#[tokio::test]
#[ignore = "nightly: a minute; the driver's own tests refuse it on each change"]
async fn an_instance_of_another_cluster_is_left_alone_even_under_a_machines_own_id() {
    installed(async |lab, _| {
        let foreign = lab.cloud.create_foreign(&of_cluster("m", "another", "another-uid")).await?;
        let mut machine = e2e::manifests::machine("m", "small");
        machine.spec.provider_id = Some(format!("aws:///{}/{foreign}", lab.cloud.region()));
        lab.machines().create(&Default::default(), &machine).await?;
        eventually("the Machine says something", async || {
            let status = lab.machines().get("m").await?.status.and_then(|status| status.machinist);
            Ok(status.and_then(|own| own.conditions.into_iter().next()))
        })
        .await?;
        lab.delete_machine("m").await?;
        lab.machine_reason("m", "CloudUnreachable", "--cluster-id=another").await?;
        let left = lab.cloud.live().await?;
        ensure!(left == [foreign.clone()], "{left:?}");
        ensure!(lab.cloud.stats().requests_of("TerminateInstances") == 0, "{:?}", lab.cloud.stats().requests);
        lab.cloud.terminate_by_hand(&foreign).await?;
        nudge(lab, "m").await?;
        is_gone(lab, "m").await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: waits two minutes for the pauses between tries"]
async fn two_instances_with_a_machines_name_are_named_and_go_with_it() {
    installed(async |lab, host| {
        adopt(lab, host).await?;
        // As machine-controller-manager makes them: the tags of the class, none of ours. The launch gets lost, so that
        // a look comes next.
        let twins = [
            lab.cloud.create_foreign(&class_tags("m")).await?,
            lab.cloud.create_foreign(&class_tags("m")).await?,
        ];
        all(lab, "RunInstances", ec2::Effect::LostRequest { hold: std::time::Duration::ZERO });
        lab.create_machine("m", "small").await?;
        lab.machine_reason("m", "CreationFailed", "2 instances carry this Machine's marks").await?;
        lab.machine_reason("m", "CreationFailed", &twins[0]).await?;
        lab.event("Machine", "m", "CreationFailed", "terminate all but one").await?;
        // Once a person has chosen, the other is the Machine's.
        lab.cloud.terminate_by_hand(&twins[0]).await?;
        nudge(lab, "m").await?;
        let other = format!("aws:///{}/{}", lab.cloud.region(), twins[1]);
        eventually("the other one is the Machine's", async || {
            let machine = lab.machines().get("m").await?;
            Ok((machine.provider_id() == Some(&other)).then_some(()))
        })
        .await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: a minute and a half; two drivers of the simulated cloud serve side by side on each change"]
async fn drivers_of_two_clouds_serve_side_by_side_in_one_host() {
    installed(async |lab, _| {
        let sim = simcloud::Server::start(simcloud::Config::default())?;
        let _kubelets = lab.kubelets_of(sim.vm_source()?, Default::default())?;
        lab.put_plugin(&sim.plugin(&SIM)?).await?;
        lab.put_secret(&sim.secret("sim")).await?;
        lab.put_class(&sim.class("simulated", "sim")).await?;
        lab.plugin_state("sim", "Ready").await?;
        lab.create_machine("on-ec2", "small").await?;
        lab.create_machine("on-sim", "simulated").await?;
        for name in ["on-ec2", "on-sim"] {
            is_running(lab, name).await?;
        }
        let id =
            |machine: machinist_api::Machine| machine.provider_id().map(str::to_owned).unwrap_or_default();
        ensure!(id(lab.machines().get("on-ec2").await?).starts_with("aws:///"));
        ensure!(id(lab.machines().get("on-sim").await?).starts_with("sim:///"));
        lab.delete_machine("on-sim").await?;
        is_gone(lab, "on-sim").await?;
        ensure!(sim.live_vms().is_empty() && lab.cloud.live().await?.len() == 1);
        Ok(())
    })
    .await;
}
