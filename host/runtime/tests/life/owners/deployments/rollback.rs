//! Rollbacks to earlier templates.

use super::*;

fn turn_back(stage: &Stage, revision: i64) {
    edit(stage, &json!({ "spec": { "rollbackTo": { "revision": revision } } }));
}

fn class_of(stage: &Stage) -> Value {
    deployment(stage)["spec"]["template"]["spec"]["class"]["name"].clone()
}

/// Status, reason and message of the condition on the last wish.
fn rolled_back(stage: &Stage) -> [String; 3] {
    let deployment = deployment(stage);
    let all = deployment["status"]["machinist"]["conditions"].as_array().into_iter().flatten();
    let reported = all.into_iter().find(|condition| condition["type"] == "RolledBack");
    ["status", "reason", "message"]
        .map(|field| reported.map_or("", |reported| reported[field].as_str().unwrap()).to_owned())
}

fn revision(object: &Value) -> Value {
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_returns_to_the_template_before_with_the_set_of_that_time() {
    let stage = stage();
    let mut first = pool(2);
    first["spec"]["template"]["spec"]["drainTimeout"] = json!("5m");
    let _host = running(&stage, &first).await;
    let old = name_of(&set_of(&stage, "small"));
    edit(
        &stage,
        &json!({ "spec": { "template": { "spec": {
        "class": { "name": "large" }, "drainTimeout": null, "maxEvictRetries": 7,
    } } } }),
    );
    until_complete(&stage).await;
    assert_eq!(revision(&deployment(&stage)), "2");
    turn_back(&stage, 0);
    until_complete(&stage).await;
    let deployment = deployment(&stage);
    assert_eq!(class_of(&stage), "small");
    let spec = &deployment["spec"]["template"]["spec"];
    assert_eq!((&spec["drainTimeout"], &spec["maxEvictRetries"]), (&json!("5m0s"), &Value::Null));
    assert!(deployment["spec"]["rollbackTo"].is_null(), "{deployment}");
    assert!(deployment["spec"]["template"]["metadata"]["labels"]["machine-template-hash"].is_null());
    let set = set_of(&stage, "small");
    assert_eq!((name_of(&set), revision(&set), revision(&deployment)), (old, json!("3"), json!("3")));
    assert_eq!(
        set["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"], "1",
        "what the revision was before is remembered"
    );
    assert!(stage.event_notes("pool").contains(&"Rolled back to revision 1".to_owned()));
    assert_eq!(rolled_back(&stage), ["True", "DeploymentRollback", "Rolled back to revision 1"]);
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_is_gone_changes_nothing_and_is_reported_with_those_that_are_there() {
    let stage = stage();
    let _host = running(&stage, &pool(1)).await;
    roll_to(&stage, "large");
    until_complete(&stage).await;
    turn_back(&stage, 9);
    stage.until("the wish is gone", LONG, || deployment(&stage)["spec"]["rollbackTo"].is_null()).await;
    until_complete(&stage).await;
    assert_eq!(class_of(&stage), "large");
    let notes = stage.event_notes("pool").join("\n");
    assert!(notes.contains("revision 9 is not kept") && notes.contains("kept are 1, 2"), "{notes}");
    assert!(stage.events("pool").contains(&"DeploymentRollbackRevisionNotFound".to_owned()));
    let [status, reason, message] = rolled_back(&stage);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "DeploymentRollbackRevisionNotFound"));
    assert!(message.contains("set spec.rollbackTo.revision to one of these"), "{message}");
    turn_back(&stage, 2);
    stage.until("the wish is gone", LONG, || deployment(&stage)["spec"]["rollbackTo"].is_null()).await;
    tokio::time::sleep(SECOND).await;
    assert!(stage.events("pool").contains(&"DeploymentRollbackTemplateUnchanged".to_owned()));
    assert_eq!(rolled_back(&stage)[..2], ["False", "DeploymentRollbackTemplateUnchanged"]);
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_is_turned_back_while_it_goes_on() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(4)).await;
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    stage.until("half is rolled", LONG, || machines_of(&stage, "large").len() == 2).await;
    turn_back(&stage, 0);
    until_complete(&stage).await;
    watcher.assert_within(5, 4);
    assert_eq!(wanted(&stage), [("large".into(), 0), ("small".into(), 4)].into());
    assert_tidy(&stage, 4);
}

#[tokio::test(start_paused = true)]
async fn old_sets_beyond_the_limit_are_deleted() {
    let stage = stage();
    let mut deployment = pool(1);
    deployment["spec"]["revisionHistoryLimit"] = json!(1);
    let _host = running(&stage, &deployment).await;
    for restart in ["a", "b", "c"] {
        let annotations = json!({ "annotations": { "machinist.dev/restarted-at": restart } });
        edit(&stage, &json!({ "spec": { "template": { "metadata": annotations } } }));
        until_complete(&stage).await;
    }
    tokio::time::sleep(MINUTE).await;
    let mut kept: Vec<Value> = stage.api.all("machinesets").iter().map(revision).collect();
    kept.sort_by_key(ToString::to_string);
    assert_eq!(kept, [json!("3"), json!("4")]);
    assert_quiet(&stage).await;
}
