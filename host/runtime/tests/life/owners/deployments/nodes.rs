//! Labels and annotations of Nodes during a rollout.

use super::*;

const TAINT: &str = "deployment.machine.sapcloud.io/prefer-no-schedule";
const HELD: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const HELD_BY_US: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm";

fn node(stage: &Stage, machine: &Value) -> Value {
    let name = machine["metadata"]["labels"]["node"].as_str().unwrap_or_default();
    stage.api.find("nodes", name).unwrap_or_default()
}

fn has_taint(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().any(|taint| taint["key"] == TAINT && taint["effect"] == "PreferNoSchedule")
}

fn is_held(node: &Value) -> (bool, bool) {
    let has = |key: &str| node["metadata"]["annotations"][key] == "true";
    (has(HELD), has(HELD_BY_US))
}

#[tokio::test(start_paused = true)]
async fn during_a_rollout_old_nodes_are_avoided_and_the_autoscaler_leaves_all_alone() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(3)).await;
    let theirs =
        node(&stage, &machines_of(&stage, "small")[0])["metadata"]["name"].as_str().unwrap().to_owned();
    let annotated = json!({ "metadata": { "annotations": { HELD: "true" } } });
    stage.api.edit("nodes", &theirs, &annotated).unwrap();
    roll_to(&stage, "large");
    stage.until("one is rolled", LONG, || machines_of(&stage, "large").iter().any(is_available)).await;
    tokio::time::sleep(SECOND).await;
    edit(&stage, &json!({ "spec": { "paused": true } }));
    tokio::time::sleep(MINUTE).await;
    let old = machines_of(&stage, "small");
    assert!(!old.is_empty());
    for machine in &old {
        let node = node(&stage, machine);
        assert!(has_taint(&node), "{node}");
        let is_theirs = node["metadata"]["name"] == theirs;
        assert_eq!(is_held(&node), (true, !is_theirs));
    }
    edit(&stage, &json!({ "spec": { "paused": false } }));
    until_complete(&stage).await;
    for machine in machines_of(&stage, "large") {
        let node = node(&stage, &machine);
        assert!(!has_taint(&node) && is_held(&node) == (false, false), "{node}");
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_of_machines_that_stay_after_all_lose_their_marks() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(3)).await;
    roll_to(&stage, "large");
    stage
        .until("it is begun", LONG, || {
            machines_of(&stage, "small").iter().all(|machine| has_taint(&node(&stage, machine)))
                && machines_of(&stage, "large").len() == 1
        })
        .await;
    roll_to(&stage, "small");
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 0), ("small".into(), 3)].into());
    for machine in machines_of(&stage, "small") {
        let node = node(&stage, &machine);
        assert!(!has_taint(&node) && is_held(&node) == (false, false), "{node}");
    }
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_goes_on_although_nodes_cannot_be_written() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(2)).await;
    stage.wire.plan(|call| {
        let is_node = call.what == "nodes" && call.verb == "PATCH";
        if is_node { memory_api::wire::Fate::Refuse(403) } else { memory_api::wire::Fate::Pass }
    });
    roll_to(&stage, "large");
    stage.until("an old one is to go", LONG, || wanted(&stage).get("small") == Some(&1)).await;
    // The Node of a Machine that goes has to be emptied.
    stage.wire.heal();
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into());
}

#[tokio::test(start_paused = true)]
async fn no_deployment_writes_a_node_that_belongs_to_the_vm_of_another() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(1)).await;
    let mut other = pool(1);
    other["metadata"]["name"] = json!("other");
    other["spec"]["selector"] = json!({ "matchLabels": { "name": "other" } });
    other["spec"]["template"]["metadata"]["labels"] = json!({ "name": "other" });
    stage.api.create("machinedeployments", &other).unwrap();
    let machine_of = |pool: &str| {
        let all = stage.api.all("machines").into_iter();
        all.filter(|machine| machine["metadata"]["labels"]["name"] == pool).find(is_available)
    };
    stage.until("the other runs", LONG, || machine_of("other").is_some()).await;
    let theirs = machine_of("other").unwrap();
    let node_name = theirs["metadata"]["labels"]["node"].as_str().unwrap().to_owned();
    // The cloud has given the name of a lost VM to the VM of another Machine.
    let lost = machine_of("pool").unwrap();
    let before = lost["metadata"]["labels"]["node"].as_str().unwrap().to_owned();
    let renamed = json!({ "metadata": { "labels": { "node": node_name } } });
    stage.api.edit("machines", &in_namespace(&name_of(&lost)), &renamed).unwrap();
    stage.api.delete("nodes", &before).unwrap();
    tokio::time::sleep(5 * SECOND).await;
    roll_to(&stage, "missing");
    let begun = stage.wire.len();
    tokio::time::sleep(4 * MINUTE).await;
    let writes = stage.wire.records_since(begun, |call| {
        call.is_write() && call.what.starts_with("nodes") && call.name == node_name
    });
    assert_eq!(writes.len(), 0, "{}", memory_api::wire::table(&writes));
    let node = node(&stage, &machine_of("other").unwrap());
    assert!(!has_taint(&node) && is_held(&node) == (false, false), "{node}");
}

#[tokio::test(start_paused = true)]
async fn of_two_machines_that_name_a_node_it_is_that_of_the_one_whose_vm_it_is() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(2)).await;
    let mut machines = machines_of(&stage, "small");
    machines.sort_by_key(|machine| machine["metadata"]["creationTimestamp"].as_str().unwrap().to_owned());
    let [lost, living] = [0, 1].map(|index: usize| machines[index].clone());
    let node_name = living["metadata"]["labels"]["node"].as_str().unwrap().to_owned();
    let before = lost["metadata"]["labels"]["node"].as_str().unwrap().to_owned();
    let renamed = json!({ "metadata": { "labels": { "node": node_name } } });
    stage.api.edit("machines", &in_namespace(&name_of(&lost)), &renamed).unwrap();
    stage.api.delete("nodes", &before).unwrap();
    tokio::time::sleep(5 * SECOND).await;
    roll_to(&stage, "missing");
    stage.until("the living one is avoided", MINUTE, || has_taint(&node(&stage, &living))).await;
}
