//! MachinistClusters: provided once a Cluster owns them, and there until their last machine is gone.

use std::time::Duration;

use machinist_api::infrastructure::names::{annotations, finalizers};
use memory_api::wire::table;
use serde_json::json;

use super::objects::{
    CLUSTERS, MACHINES, add_cluster, add_machine, condition, empty, find, is_provisioned, of_team, provided,
    says, served,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::Stage;

const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(start_paused = true)]
async fn a_cluster_is_provided_with_its_failure_domains_and_two_writes() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    let domains = json!([{ "name": "a", "controlPlane": true }]);
    stage.api.edit(CLUSTERS, &of_team("c"), &json!({ "spec": { "failureDomains": domains } })).unwrap();
    let cluster = || stage.api.find(CLUSTERS, &of_team("c")).unwrap();
    stage
        .until("it is provided", LIMIT, || cluster()["status"]["initialization"]["provisioned"] == true)
        .await;
    tokio::time::sleep(LIMIT).await;
    assert_eq!(cluster()["status"]["failureDomains"], domains);
    assert_eq!(condition(&cluster(), "Ready"), ("True".to_owned(), "Provisioned".to_owned()));
    assert_eq!(cluster()["metadata"]["finalizers"], json!([finalizers::CLUSTER]));
    let writes = stage.wire.records(|call| call.is_write() && call.what.starts_with(CLUSTERS));
    assert!(writes.len() <= 3, "{}", table(&writes));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_stays_until_its_last_machine_is_gone() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    stage.api.delete(CLUSTERS, &of_team("c")).unwrap();
    tokio::time::sleep(LIMIT).await;
    let cluster = stage.api.find(CLUSTERS, &of_team("c")).unwrap();
    assert_eq!(condition(&cluster, "Ready"), ("False".to_owned(), "WaitingForMachines".to_owned()));
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("the machine is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    stage.until("its cluster too", LIMIT, || stage.api.find(CLUSTERS, &of_team("c")).is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}

/// The mark of VMs of MCM's Machines: they would be deleted as orphans.
#[tokio::test(start_paused = true)]
async fn a_cluster_with_the_mark_of_the_host_gets_no_vm() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    let id = |id: &str| json!({ "spec": { "clusterID": id } });
    stage.api.edit(CLUSTERS, &of_team("c"), &id("test")).unwrap();
    add_machine(&stage, "vm");
    let refused = ("False".to_owned(), "InvalidSpec".to_owned());
    stage.until("it says so", LIMIT, || says(&stage, "vm", "Ready") == refused).await;
    assert_eq!(stage.cloud.vms(), 0);
    stage.api.edit(CLUSTERS, &of_team("c"), &id("team-c")).unwrap();
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
}

/// Made by a host with another `--cluster-id`, before somebody gave this one the same mark.
#[tokio::test(start_paused = true)]
async fn a_vm_with_the_mark_of_the_host_is_no_orphan_while_its_machine_is_there() {
    let stage = served(Stage::set());
    let (owned, orphan) =
        (stage.cloud.plant("test", "vm", "key-of-vm"), stage.cloud.plant("test", "gone", "uid-gone"));
    add_cluster(&stage);
    add_machine(&stage, "vm");
    let notes = json!({ annotations::MACHINE_KEY: "key-of-vm", "machinist.dev/cluster-id": "test" });
    let metadata = json!({ "annotations": notes, "finalizers": [finalizers::MACHINE] });
    stage.api.edit(MACHINES, &of_team("vm"), &json!({ "metadata": metadata })).unwrap();
    let stored = json!({ "spec": { "providerID": owned } });
    stage.api.edit(MACHINES, &of_team("vm"), &stored).unwrap();
    let _host = stage.host("host");
    let hours = Duration::from_secs(6 * 3_600);
    stage.until("the orphan is gone", hours, || !stage.cloud.has(&orphan)).await;
    tokio::time::sleep(hours).await;
    assert!(stage.cloud.has(&owned));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_others_provide_is_left_alone() {
    let stage = empty(Habits::default());
    add_cluster(&stage);
    let managed = json!({ "metadata": { "annotations": { annotations::MANAGED_BY: "others" } } });
    stage.api.edit(CLUSTERS, &of_team("c"), &managed).unwrap();
    let _host = stage.host_without_target("host");
    tokio::time::sleep(LIMIT).await;
    let cluster = stage.api.find(CLUSTERS, &of_team("c")).unwrap();
    assert!(cluster["status"].is_null() && cluster["metadata"]["finalizers"].is_null(), "{cluster}");
}
