//! Rollouts that keep the VMs.

use super::*;

const RESULT: &str = "node.machine.sapcloud.io/update-result";
const SELECTED: &str = "node.machine.sapcloud.io/selected-for-update";
const CANDIDATE: &str = "node.machine.sapcloud.io/candidate-for-update";

fn in_place(orchestration: &str, surge: u32, unavailable: u32) -> Value {
    json!({ "type": "InPlaceUpdate", "inPlaceUpdate": {
        "orchestrationType": orchestration, "maxSurge": surge, "maxUnavailable": unavailable,
    } })
}

fn reason(node: &Value) -> Value {
    condition_of(&node["status"]["conditions"], "InPlaceUpdate")["reason"].clone()
}

/// The agents on Nodes: an update takes a few seconds.
async fn agents(stage: &Stage) {
    loop {
        tokio::time::sleep(2 * SECOND).await;
        for node in stage.api.all("nodes") {
            let is_due = reason(&node) == "ReadyForUpdate" && node["metadata"]["labels"][RESULT].is_null();
            if is_due {
                let labels = json!({ "metadata": { "labels": { RESULT: "successful" } } });
                stage.api.edit("nodes", &name_of(&node), &labels).unwrap();
            }
        }
    }
}

/// Waits, while agents work.
async fn with_agents(stage: &Stage, done: impl Future<Output = ()>) {
    tokio::select! {
        () = agents(stage) => {}
        () = done => {}
    }
}

/// All is said and done: Nodes take pods again, and nothing is said of an update any more.
fn assert_ended(stage: &Stage) {
    for node in stage.api.all("nodes") {
        let labels = &node["metadata"]["labels"];
        let is_clean = [RESULT, SELECTED, CANDIDATE].iter().all(|label| labels[*label].is_null());
        assert!(is_clean && node["spec"]["unschedulable"] != true, "{node}");
    }
    for machine in stage.api.all("machines") {
        assert!(machine["metadata"]["labels"][RESULT].is_null(), "{machine}");
    }
}

/// The agents of critical components take their taint off, as they do when they are ready.
fn components_are_ready(stage: &Stage) {
    for node in stage.api.all("nodes") {
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let critical = "node.gardener.cloud/critical-components-not-ready";
        let rest: Vec<Value> = taints.into_iter().filter(|taint| taint["key"] != critical).collect();
        stage.api.edit("nodes", &name_of(&node), &json!({ "spec": { "taints": rest } })).unwrap();
    }
}

fn sets_have(stage: &Stage, large: i64, small: i64) -> bool {
    wanted(stage) == [("large".into(), large), ("small".into(), small)].into()
}

#[tokio::test(start_paused = true)]
async fn machines_keep_their_vms_and_change_their_set() {
    let stage = stage();
    let mut deployment = pool(3);
    deployment["spec"]["strategy"] = in_place("Auto", 0, 1);
    let _host = running(&stage, &deployment).await;
    let before: Vec<String> = stage.api.all("machines").iter().map(name_of).collect();
    roll_to(&stage, "large");
    with_agents(&stage, stage.until("all are moved", LONG, || sets_have(&stage, 3, 0))).await;
    components_are_ready(&stage);
    until_complete(&stage).await;
    let machines = stage.api.all("machines");
    assert_eq!(machines.iter().map(name_of).collect::<Vec<_>>(), before);
    let set = set_of(&stage, "large");
    for machine in &machines {
        assert_eq!(machine["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
        let hash = &set["metadata"]["labels"]["machine-template-hash"];
        assert_eq!(&machine["metadata"]["labels"]["machine-template-hash"], hash);
    }
    assert_ended(&stage);
    stage.assert_one_vm_each(3);
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn no_more_nodes_are_chosen_than_may_be_missing() {
    let stage = stage();
    let mut deployment = pool(4);
    deployment["spec"]["strategy"] = in_place("Auto", 0, 2);
    let _host = running(&stage, &deployment).await;
    let most = Arc::new(Mutex::new(0));
    let seen = most.clone();
    let chosen: Arc<Mutex<BTreeMap<String, bool>>> = Arc::default();
    stage.api.observe(move |change| {
        if change.plural == "nodes"
            && let Some(node) = change.new
        {
            let mut chosen = chosen.lock().unwrap();
            chosen.insert(name_of(node), node["metadata"]["labels"][SELECTED] == "true");
            let count = chosen.values().filter(|is| **is).count();
            let mut most = seen.lock().unwrap();
            *most = count.max(*most);
        }
    });
    roll_to(&stage, "large");
    let goes_on = async {
        stage
            .until("all are moved", LONG, || {
                components_are_ready(&stage);
                sets_have(&stage, 4, 0)
            })
            .await;
    };
    with_agents(&stage, goes_on).await;
    components_are_ready(&stage);
    until_complete(&stage).await;
    assert_eq!(*most.lock().unwrap(), 2);
    assert_ended(&stage);
    stage.assert_one_vm_each(4);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_fails_holds_its_node_and_goes_on_when_it_is_fixed() {
    let stage = stage();
    let mut deployment = pool(2);
    deployment["spec"]["strategy"] = in_place("Auto", 0, 1);
    let _host = running(&stage, &deployment).await;
    let before: Vec<String> = stage.api.all("machines").iter().map(name_of).collect();
    roll_to(&stage, "large");
    let is_ready = |node: &Value| reason(node) == "ReadyForUpdate";
    stage.until("one is handed over", LONG, || stage.api.all("nodes").iter().any(is_ready)).await;
    let chosen = name_of(stage.api.all("nodes").iter().find(|node| is_ready(node)).unwrap());
    let failed = json!({ "metadata": { "labels": { RESULT: "failed" } } });
    stage.api.edit("nodes", &chosen, &failed).unwrap();
    let is_failed = |machine: &Value| machine["status"]["currentStatus"]["phase"] == "InPlaceUpdateFailed";
    stage.until("its Machine says so", LONG, || stage.api.all("machines").iter().any(is_failed)).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert!(
        stage.api.all("nodes").iter().filter(|node| is_ready(node)).count() <= 1,
        "no second one is taken out of service"
    );
    assert_eq!(
        stage.api.all("machines").iter().map(name_of).collect::<Vec<_>>(),
        before,
        "no VM is replaced"
    );
    // The agent has fixed it.
    stage.api.edit("nodes", &chosen, &json!({ "metadata": { "labels": { RESULT: "successful" } } })).unwrap();
    let goes_on = stage.until("all are moved", LONG, || {
        components_are_ready(&stage);
        sets_have(&stage, 2, 0)
    });
    with_agents(&stage, goes_on).await;
    components_are_ready(&stage);
    until_complete(&stage).await;
    assert_ended(&stage);
    stage.assert_one_vm_each(2);
}

#[tokio::test(start_paused = true)]
async fn with_manual_orchestration_the_user_chooses() {
    let stage = stage();
    let mut deployment = pool(2);
    deployment["spec"]["strategy"] = in_place("Manual", 0, 1);
    let _host = running(&stage, &deployment).await;
    roll_to(&stage, "large");
    until_reported(&stage, "WaitingForSelection").await;
    tokio::time::sleep(5 * MINUTE).await;
    let nodes = stage.api.all("nodes");
    assert!(nodes.iter().all(|node| node["metadata"]["labels"][CANDIDATE] == "true"), "{nodes:#?}");
    for (node, moved) in nodes.iter().zip(1..) {
        let chosen = json!({ "metadata": { "labels": { SELECTED: "true" } } });
        stage.api.edit("nodes", &name_of(node), &chosen).unwrap();
        with_agents(&stage, stage.until("one is moved", LONG, || sets_have(&stage, moved, 2 - moved))).await;
        components_are_ready(&stage);
        tokio::time::sleep(MINUTE).await;
    }
    until_complete(&stage).await;
    assert_ended(&stage);
    stage.assert_one_vm_each(2);
}

#[tokio::test(start_paused = true)]
async fn an_update_in_place_is_scaled_while_it_goes_on() {
    let stage = stage();
    let mut deployment = pool(3);
    deployment["spec"]["strategy"] = in_place("Auto", 0, 1);
    let _host = running(&stage, &deployment).await;
    roll_to(&stage, "large");
    with_agents(&stage, stage.until("one is moved", LONG, || wanted(&stage).get("large") == Some(&1))).await;
    scale(&stage, 5);
    let goes_on = async {
        stage
            .until("all are moved", LONG, || {
                components_are_ready(&stage);
                sets_have(&stage, 5, 0)
            })
            .await;
    };
    with_agents(&stage, goes_on).await;
    components_are_ready(&stage);
    until_complete(&stage).await;
    assert_tidy(&stage, 5);
    assert_ended(&stage);
}
