//! Sets that are deleted.

use std::time::Duration;

use serde_json::json;

use super::{Census, edit, look, names, set, stage, until_stable};
use crate::fixture::stage::in_namespace;

#[tokio::test(start_paused = true)]
async fn a_set_that_is_deleted_takes_its_machines_with_it_and_goes_last() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    stage.until("it is gone", Duration::from_secs(600), || look(&stage, "pool").is_none()).await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_deleted_without_its_machines_leaves_them() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let finalizers = json!(["machine.sapcloud.io/machine-controller-manager", "orphan"]);
    edit(&stage, &json!({ "metadata": { "finalizers": finalizers } }));
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(super::running(&stage), 2);
    // As the garbage collector does it.
    for name in names(&stage) {
        let patch = json!({ "metadata": { "ownerReferences": null } });
        stage.api.edit("machines", &in_namespace(&name), &patch).unwrap();
    }
    let ours = || look(&stage, "pool").is_some_and(|set| set["metadata"]["finalizers"] == json!(["orphan"]));
    stage.until("our finalizer is off", Duration::from_secs(60), ours).await;
    assert_eq!(super::running(&stage), 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_made_again_under_its_old_name_has_machines_of_its_own() {
    let stage = stage(2);
    let census = Census::of(&stage);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    stage.until("it is gone", Duration::from_secs(600), || look(&stage, "pool").is_none()).await;
    stage.api.create("machinesets", &set("pool", 2)).unwrap();
    until_stable(&stage, 2).await;
    census.assert_no_name_twice();
    assert_eq!(stage.cloud.vms(), 2);
}
