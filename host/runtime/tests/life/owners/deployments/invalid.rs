//! Invalid deployments, and sets that others edit.

use super::*;

/// The message of a deployment that is created like this. It creates nothing, and is fixed afterwards.
async fn refuses(change: impl FnOnce(&mut Value), fix: &Value) -> (String, String) {
    let stage = stage();
    let _host = stage.host("host");
    let mut deployment = pool(2);
    change(&mut deployment);
    stage.api.create("machinedeployments", &deployment).unwrap();
    tokio::time::sleep(MINUTE).await;
    assert_eq!((stage.api.count("machinesets"), stage.api.count("machines")), (0, 0));
    let said = reported(&stage);
    assert!(stage.events("pool").contains(&said.0), "{:?}", stage.events("pool"));
    assert_quiet(&stage).await;
    edit(&stage, fix);
    until_complete(&stage).await;
    assert_tidy(&stage, 2);
    said
}

#[tokio::test(start_paused = true)]
async fn a_selector_that_is_empty_selects_nothing() {
    let fix = json!({ "spec": { "selector": { "matchLabels": { "name": "pool" } } } });
    let (reason, message) = refuses(|pool| pool["spec"]["selector"] = json!({}), &fix).await;
    assert!(reason == "SelectingAll" && message.contains("spec.selector is empty"), "{reason}: {message}");
}

#[tokio::test(start_paused = true)]
async fn a_selector_must_fit_the_template() {
    let fix = json!({ "spec": { "selector": { "matchLabels": { "name": "pool" } } } });
    let other = json!({ "matchLabels": { "name": "other" } });
    let (reason, message) = refuses(|pool| pool["spec"]["selector"] = other, &fix).await;
    assert!(reason == "InvalidDeployment" && message.contains("does not select"), "{reason}: {message}");
    let (reason, message) = refuses(|pool| pool["spec"]["selector"] = Value::Null, &fix).await;
    assert!(reason == "InvalidDeployment" && message.contains("is missing"), "{reason}: {message}");
}

#[tokio::test(start_paused = true)]
async fn a_template_must_name_a_class_and_a_strategy_its_bounds() {
    let fix = json!({ "spec": {
        "template": { "spec": { "class": { "kind": "MachineClass", "name": "small" } } },
        "strategy": rolling(1, 1),
    } });
    let change = |pool: &mut Value| {
        pool["spec"]["template"]["spec"]["class"] = json!({});
        pool["spec"]["strategy"] =
            json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "many" } });
    };
    let (reason, message) = refuses(change, &fix).await;
    assert_eq!(reason, "InvalidDeployment");
    for reported in
        ["class.name is missing", "class.kind is missing", "maxUnavailable is missing", "\"many\""]
    {
        assert!(message.contains(reported), "{reported}: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn overlapping_deployments_are_reported_and_keep_their_own() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let mut other = pool(1);
    other["metadata"]["name"] = json!("rival");
    stage.api.create("machinedeployments", &other).unwrap();
    tokio::time::sleep(MINUTE).await;
    edit(&stage, &json!({ "spec": { "replicas": 3 } }));
    tokio::time::sleep(MINUTE).await;
    assert!(reported(&stage).1.contains("overlaps with that of rival"), "{:?}", reported(&stage));
    assert_eq!((stage.api.count("machinesets"), stage.api.count("machines")), (2, 4));
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_scaled_by_hand_is_set_right() {
    let stage = slow_stage();
    let mut deployment = pool(4);
    deployment["spec"]["strategy"] = rolling(1, 1);
    let _host = running(&stage, &deployment).await;
    roll_to(&stage, "large");
    stage.until("it is begun", LONG, || machines_of(&stage, "large").len() == 2).await;
    let old = name_of(&set_of(&stage, "small"));
    let many = json!({ "spec": { "replicas": 6 } });
    stage.api.edit("machinesets", &in_namespace(&old), &many).unwrap();
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 4), ("small".into(), 0)].into());
    assert_tidy(&stage, 4);
}

#[tokio::test(start_paused = true)]
async fn a_set_whose_template_is_changed_by_hand_becomes_an_old_one() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(2)).await;
    let set = name_of(&set_of(&stage, "small"));
    let changed = json!({ "spec": { "template": { "spec": { "class": { "name": "large" } } } } });
    stage.api.edit("machinesets", &in_namespace(&set), &changed).unwrap();
    stage.until("there is another set", LONG, || stage.api.count("machinesets") == 2).await;
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 0), ("small".into(), 2)].into());
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_somebody_deletes_is_made_again() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let set = stage.api.all("machinesets")[0].clone();
    stage.api.delete("machinesets", &in_namespace(&name_of(&set))).unwrap();
    let is_another = || {
        let sets = stage.api.all("machinesets");
        sets.len() == 1 && sets[0]["metadata"]["uid"] != set["metadata"]["uid"]
    };
    stage.until("there is another set", LONG, is_another).await;
    until_complete(&stage).await;
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_without_an_owner_is_adopted_labelled_and_rolled() {
    let stage = stage();
    let template = json!({
        "metadata": { "labels": { "name": "pool" } },
        "spec": { "class": { "kind": "MachineClass", "name": "small" } },
    });
    let set = json!({
        "metadata": { "name": "by-hand", "namespace": NAMESPACE, "labels": { "name": "pool" } },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "name": "pool" } }, "template": template,
        },
    });
    stage.api.create("machinesets", &set).unwrap();
    let _host = stage.host("host");
    stage.until("it has its Machines", LONG, || machines_of(&stage, "small").len() == 2).await;
    let mut deployment = pool(2);
    deployment["spec"]["template"]["spec"]["class"]["name"] = json!("large");
    stage.api.create("machinedeployments", &deployment).unwrap();
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into());
    let adopted = set_of(&stage, "small");
    let hash = &adopted["spec"]["selector"]["matchLabels"]["machine-template-hash"];
    assert!(hash.is_string() && adopted["metadata"]["labels"]["machine-template-hash"] == *hash, "{adopted}");
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_not_selected_any_more_is_released() {
    let stage = stage();
    let _host = running(&stage, &pool(1)).await;
    let set = name_of(&stage.api.all("machinesets")[0]);
    let away = json!({ "metadata": { "labels": { "name": "away" } } });
    stage.api.edit("machinesets", &in_namespace(&set), &away).unwrap();
    stage.until("there is another set", LONG, || stage.api.count("machinesets") == 2).await;
    until_complete(&stage).await;
    let released = stage.api.find("machinesets", &in_namespace(&set)).unwrap();
    let owners = released["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    assert!(owners.is_empty() && released["spec"]["replicas"] == 1, "{released}");
    let released = format!("released MachineSet {set}, which is not selected any more");
    assert!(stage.event_notes("pool").contains(&released), "{:?}", stage.event_notes("pool"));
    assert_eq!(stage.api.count("machines"), 2);
}
