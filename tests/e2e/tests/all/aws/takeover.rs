//! An installation of machine-controller-manager that is taken over, with adoption and without.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use e2e::{Aws, Cloud, Host, Lab, eventually};
use ec2::{CLUSTER_TAG, UID_TAG};
use kube::ResourceExt;
use kube::api::ListParams;
use machinist_api::names;
use serde_json::json;

use super::scene::{AWS, installed, provider_id, swap};
use crate::scene::{has_phase, is_gone};

/// The tags that the class of the tests puts on each of its instances.
pub(super) const KEYS: [&str; 2] = ["kubernetes.io/cluster/lab", "kubernetes.io/role/node"];
/// With its VM stored, as all but the youngest have it.
const STORED: [&str; 3] = ["m0", "m1", "m2"];
/// Its VM is made, and was not stored.
const UNSTORED: &str = "m3";

/// The mark of the lab's host: the uid of the control namespace.
async fn mark(lab: &Lab<Aws>) -> Result<String> {
    let spaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(lab.client.clone());
    spaces.get(e2e::manifests::NAMESPACE).await?.uid().context("a namespace has a uid")
}

/// The operator lets the cluster adopt what carries the tags of its class.
pub(super) async fn adopt(lab: &Lab<Aws>, host: &Host) -> Result<()> {
    let mut map = lab.cloud.plugin(&AWS)?;
    let settings = json!({ "endpoint": lab.cloud.url(), "adopt": { mark(lab).await?: KEYS } });
    map.data.get_or_insert_default().insert("settings.json".to_owned(), settings.to_string());
    swap(lab, &map, host).await
}

/// Instances and Machines as machine-controller-manager leaves them, by name.
async fn installation(lab: &Lab<Aws>) -> Result<BTreeMap<String, String>> {
    let mut instances = BTreeMap::new();
    for name in STORED.into_iter().chain([UNSTORED]) {
        let tags = [("Name", name), (KEYS[0], "1"), (KEYS[1], "1")];
        let tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let id = lab.cloud.create_foreign(&tags).await?;
        let mut machine = e2e::manifests::machine(name, "small");
        machine.metadata.finalizers = Some(vec![names::finalizers::MACHINE.to_owned()]);
        if name != UNSTORED {
            machine.spec.provider_id = Some(format!("aws:///{}/{id}", lab.cloud.region()));
        }
        // The sign that a create has begun.
        machine.annotations_mut().insert(names::annotations::PRIORITY.to_owned(), "3".to_owned());
        lab.machines().create(&Default::default(), &machine).await?;
        instances.insert(name.to_owned(), id);
    }
    Ok(instances)
}

/// Which of EC2's actions that change something were asked for.
fn changes(lab: &Lab<Aws>) -> Vec<(&'static str, u64)> {
    let stats = lab.cloud.stats();
    let of = |action| (action, stats.requests_of(action));
    ["RunInstances", "TerminateInstances", "CreateTags"]
        .map(of)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[tokio::test]
async fn attack_without_adoption_a_takeover_deletes_nothing_makes_nothing_and_each_machine_says_why() {
    installed(async |lab, host| {
        let instances = installation(lab).await?;
        let setting = format!(r#"settings.json: {{"adopt": {{"{}": ["#, mark(lab).await?);
        for name in instances.keys() {
            lab.machine_condition(name, "Ready", &setting).await?;
        }
        for name in ["m0", UNSTORED] {
            lab.delete_machine(name).await?;
            has_phase(lab, name, "Terminating").await?;
            lab.machine_condition(name, "Ready", &setting).await?;
        }
        ensure!(changes(lab).is_empty(), "{:?}", changes(lab));
        ensure!(lab.cloud.live_instances().await?.len() == instances.len());
        for machine in lab.machines().list(&ListParams::default()).await?.items {
            let name = machine.name_any();
            ensure!(
                machine.finalizers().contains(&names::finalizers::MACHINE.to_owned()),
                "{name} lost its finalizer"
            );
        }
        // As the condition says. Waiting work is retried at once.
        adopt(lab, host).await?;
        for name in ["m0", UNSTORED] {
            is_gone(lab, name).await?;
        }
        let left: Vec<String> = lab.cloud.live_instances().await?.into_iter().map(|one| one.id).collect();
        ensure!(
            left.len() == 2 && left.contains(&instances["m1"]) && left.contains(&instances["m2"]),
            "{left:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn with_adoption_a_takeover_goes_on_and_marks_each_instance() {
    installed(async |lab, host| {
        adopt(lab, host).await?;
        let instances = installation(lab).await?;
        let cluster = mark(lab).await?;
        for (name, id) in &instances {
            let uid = lab.machines().get(name).await?.uid().context("a uid")?;
            let marked = format!("instance {id} is marked as {name}'s");
            eventually(&marked, async || {
                let live = lab.cloud.live_instances().await?;
                let own = live.iter().find(|one| one.id == *id).context("it lives")?;
                let is_marked =
                    own.tags.get(UID_TAG) == Some(&uid) && own.tags.get(CLUSTER_TAG) == Some(&cluster);
                Ok(is_marked.then_some(()))
            })
            .await?;
            eventually("its id is stored", async || {
                let machine = lab.machines().get(name).await?;
                let live = lab.cloud.live_instances().await?;
                let own = live.iter().find(|one| one.id == *id).map(|one| provider_id(lab, one));
                Ok((machine.provider_id() == own.as_deref()).then_some(()))
            })
            .await?;
        }
        ensure!(changes(lab) == [("CreateTags", 4)], "{:?}", changes(lab));
        ensure!(lab.cloud.live_instances().await?.len() == instances.len(), "no second one");
        Ok(())
    })
    .await;
}
