//! Input that no controller writes: ids of VMs by hand, and deletions of what is paused.

use std::time::Duration;

use serde_json::{Value, json};

use super::objects::{
    CLUSTERS, MACHINES, OWNER_CLUSTERS, OWNERS, add_bootstrap, add_cluster, add_machine_without_data, empty,
    find, is_provisioned, name_bootstrap, of_team, provided, says,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::{Host, Stage};

const LIMIT: Duration = Duration::from_secs(120);
const HOURS: Duration = Duration::from_secs(3 * 3_600);

/// A stage with the machine `vm`, to which a user has written this id.
async fn with_id(id: impl FnOnce(&Stage) -> String) -> (Stage, Host) {
    let stage = empty(Habits::default());
    add_cluster(&stage);
    add_bootstrap(&stage, "vm");
    add_machine_without_data(&stage, "vm");
    let id = id(&stage);
    stage.api.edit(MACHINES, &of_team("vm"), &json!({ "spec": { "providerID": id } })).unwrap();
    name_bootstrap(&stage, "vm");
    let host = stage.host_without_target("host");
    (stage, host)
}

#[tokio::test(start_paused = true)]
async fn an_id_of_no_vm_that_a_user_wrote_makes_none_and_says_so() {
    let (stage, _host) = with_id(|_| "sim:///vm-99".to_owned()).await;
    let is_missed = || says(&stage, "vm", "Ready") == ("False".to_owned(), "InstanceNotFound".to_owned());
    stage.until("it says so", LIMIT, is_missed).await;
    let message = find(&stage, "vm").unwrap()["status"]["conditions"].to_string();
    assert!(message.contains("delete the Machine"), "{message}");
    tokio::time::sleep(HOURS).await;
    assert!(is_missed() && !is_provisioned(&stage, "vm"));
    assert_eq!(stage.cloud.made().len(), 0);
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", Duration::from_secs(900), || find(&stage, "vm").is_none()).await;
}

/// The driver finds another cluster's mark on it.
#[tokio::test(start_paused = true)]
async fn an_id_of_a_foreign_vm_that_a_user_wrote_takes_that_vm_neither_over_nor_along() {
    let (stage, _host) = with_id(|stage| stage.cloud.plant("others", "theirs", "uid-of-theirs")).await;
    let message = || find(&stage, "vm").unwrap_or_default()["status"]["conditions"].to_string();
    stage.until("it says so", LIMIT, || message().contains("the mark of cluster others")).await;
    tokio::time::sleep(HOURS).await;
    assert!(!is_provisioned(&stage, "vm"));
    assert_eq!(stage.cloud.vms(), 1, "none is made beside it");
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    tokio::time::sleep(HOURS).await;
    assert_eq!(stage.cloud.vms(), 1, "and it stays");
    assert!(message().contains("the mark of cluster others"), "{}", message());
}

/// Deletions of all objects wait, in whatever order the user gives them, and then all of them happen.
#[tokio::test(start_paused = true)]
async fn a_paused_cluster_that_is_deleted_waits_with_all_of_its_objects() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    let pause = |is_paused: bool| json!({ "spec": { "paused": is_paused } });
    stage.api.edit(OWNER_CLUSTERS, &of_team("c"), &pause(true)).unwrap();
    // As core holds it, until its parts are gone.
    let held = |finalizers: Value| json!({ "metadata": { "finalizers": finalizers } });
    stage.api.edit(OWNER_CLUSTERS, &of_team("c"), &held(json!(["cluster.cluster.x-k8s.io"]))).unwrap();
    for (plural, name) in [(OWNER_CLUSTERS, "c"), (CLUSTERS, "c"), (OWNERS, "vm"), (MACHINES, "vm")] {
        stage.api.delete(plural, &of_team(name)).unwrap();
    }
    tokio::time::sleep(HOURS).await;
    assert_eq!(stage.cloud.vms(), 1);
    assert_eq!(says(&stage, "vm", "Paused").0, "True");
    assert!(stage.api.find(CLUSTERS, &of_team("c")).is_some());
    stage.api.edit(OWNER_CLUSTERS, &of_team("c"), &pause(false)).unwrap();
    stage.until("the machine is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    stage.until("its cluster too", LIMIT, || stage.api.find(CLUSTERS, &of_team("c")).is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}
