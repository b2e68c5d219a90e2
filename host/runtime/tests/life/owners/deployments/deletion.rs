//! Deployments that are deleted.

use super::*;

fn delete(stage: &Stage) {
    stage.api.delete("machinedeployments", &in_namespace("pool")).unwrap();
}

fn is_gone(stage: &Stage) -> bool {
    stage.api.find("machinedeployments", &in_namespace("pool")).is_none()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_goes_after_all_that_it_has_made() {
    let stage = stage();
    let _host = running(&stage, &pool(3)).await;
    roll_to(&stage, "large");
    tokio::time::sleep(SECOND).await;
    delete(&stage);
    until_reported(&stage, "Deleting").await;
    stage.until("it is gone", LONG, || is_gone(&stage)).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(stage.api.count("machinesets"), 0);
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_cannot_be_understood_can_be_deleted() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    edit(&stage, &json!({ "spec": { "selector": null, "strategy": { "type": "Whatever" } } }));
    until_reported(&stage, "InvalidDeployment").await;
    assert_eq!(stage.api.count("machines"), 2);
    delete(&stage);
    stage.until("it is gone", LONG, || is_gone(&stage)).await;
    tokio::time::sleep(SECOND).await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn sets_stay_that_are_to_be_orphaned_and_are_adopted_by_the_next_of_that_name() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let machines: Vec<String> = stage.api.all("machines").iter().map(name_of).collect();
    let set = name_of(&stage.api.all("machinesets")[0]);
    let finalizers = deployment(&stage)["metadata"]["finalizers"].as_array().cloned().unwrap();
    let with_orphan: Vec<Value> = finalizers.into_iter().chain([json!("orphan")]).collect();
    edit(&stage, &json!({ "metadata": { "finalizers": with_orphan } }));
    delete(&stage);
    tokio::time::sleep(MINUTE).await;
    assert!(reported(&stage).1.contains("orphans"), "{:?}", reported(&stage));
    // What the garbage collector does.
    let orphaned = json!({ "metadata": { "ownerReferences": null } });
    stage.api.edit("machinesets", &in_namespace(&set), &orphaned).unwrap();
    stage
        .until("it waits for the garbage collector alone", LONG, || {
            deployment(&stage)["metadata"]["finalizers"] == json!(["orphan"])
        })
        .await;
    edit(&stage, &json!({ "metadata": { "finalizers": null } }));
    assert!(is_gone(&stage));
    stage.api.create("machinedeployments", &pool(2)).unwrap();
    until_complete(&stage).await;
    assert_eq!(stage.api.all("machines").iter().map(name_of).collect::<Vec<_>>(), machines);
    let owner = &stage.api.all("machinesets")[0]["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], deployment(&stage)["metadata"]["uid"]);
    assert!(stage.event_notes("pool").contains(&format!("adopted MachineSet {set}")));
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_is_made_again_at_once_gets_machines_of_its_own() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    delete(&stage);
    let again = stage.api.create("machinedeployments", &pool(2));
    assert!(again.is_err(), "its name is taken until it is gone");
    edit(&stage, &json!({ "spec": { "replicas": 9 } }));
    stage.until("it is gone", LONG, || is_gone(&stage)).await;
    assert_eq!(stage.api.count("machines"), 0);
    stage.api.create("machinedeployments", &pool(2)).unwrap();
    until_complete(&stage).await;
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_the_set_of_an_earlier_deployment_has_is_not_used_twice() {
    let stage = stage();
    let host = running(&stage, &pool(1)).await;
    let set = name_of(&stage.api.all("machinesets")[0]);
    drop(host);
    // Taken away by force while nobody looks, and made again.
    edit(&stage, &json!({ "metadata": { "finalizers": null } }));
    delete(&stage);
    stage.api.create("machinedeployments", &pool(2)).unwrap();
    let _next = stage.host("next");
    stage.until("there is another set", LONG, || stage.api.count("machinesets") == 2).await;
    until_complete(&stage).await;
    assert_eq!(deployment(&stage)["status"]["collisionCount"], 1);
    let old = stage.api.find("machinesets", &in_namespace(&set)).unwrap();
    assert_eq!((&old["spec"]["replicas"], stage.api.count("machines")), (&json!(1), 3));
}
