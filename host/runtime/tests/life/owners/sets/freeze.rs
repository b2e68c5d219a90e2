//! Frozen sets: a set with far too many Machines creates no more.

use std::time::Duration;

use serde_json::json;

use super::{conditions, edit, look, names, reported, stage, until_stable};
use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{NAMESPACE, Stage, machine};

fn is_labelled(stage: &Stage) -> bool {
    look(stage, "pool").unwrap()["metadata"]["labels"]["freeze"] == "True"
}

#[tokio::test(start_paused = true)]
async fn a_set_with_too_many_is_frozen_says_so_and_thaws() {
    let stage = stage(2);
    let host = stage.host("host");
    until_stable(&stage, 2).await;
    host.end().await;
    // Four that look like its own: 2 + 4 reaches twice the wanted number and two more.
    for number in 0..4 {
        let mut stray = machine(&format!("stray-{number}"));
        stray["metadata"]["labels"] = json!({ "set": "pool" });
        stage.api.create("machines", &stray).unwrap();
    }
    let _host = stage.host("next");
    stage.until("it is frozen", Duration::from_secs(60), || is_labelled(&stage)).await;
    let is_reported =
        || conditions(&stage).get("Frozen").is_some_and(|why| why == "OverShootingReplicaCount");
    stage.until("it says so", Duration::from_secs(60), is_reported).await;
    until_stable(&stage, 2).await;
    stage.until("it thaws", Duration::from_secs(60), || !is_labelled(&stage)).await;
    let is_reported = || !conditions(&stage).contains_key("Frozen");
    stage.until("it says so", Duration::from_secs(60), is_reported).await;
    let count = |reason: &str| stage.events("pool").iter().filter(|reported| *reported == reason).count();
    assert_eq!((count("FrozeMachineSet"), count("UnfrozeMachineSet")), (1, 1), "{:?}", stage.events("pool"));
}

#[tokio::test(start_paused = true)]
async fn a_label_without_need_is_taken_off_and_the_missing_are_made() {
    let stage = stage(1);
    let _host = stage.host("host");
    until_stable(&stage, 1).await;
    edit(&stage, &json!({ "metadata": { "labels": { "freeze": "True" } }, "spec": { "replicas": 3 } }));
    until_stable(&stage, 3).await;
    assert!(!is_labelled(&stage));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_while_dangerous_work_is_held_and_all_of_it_afterwards() {
    let stage = stage(2);
    let request = json!({ "metadata": { "name": "machinist-freeze", "namespace": NAMESPACE } });
    stage.api.create("configmaps", &request).unwrap();
    let _host = stage.host("host");
    stage.until("it is told", Duration::from_secs(200), || reported(&stage, "Ready").1 == "Frozen").await;
    assert!(names(&stage).is_empty());
    stage.api.delete("configmaps", &format!("{NAMESPACE}/machinist-freeze")).unwrap();
    until_stable(&stage, 2).await;
}

#[tokio::test(start_paused = true)]
async fn where_it_is_asked_for_a_set_whose_machines_never_join_stops_making_them() {
    let never_joins = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), never_joins);
    stage.settings.lock().unwrap().sets.failed_joins = Some(4);
    stage.add_class();
    stage.api.create("machinesets", &super::set("pool", 2)).unwrap();
    let _host = stage.host("host");
    let is_reported = || conditions(&stage).get("Frozen").is_some_and(|why| why == "MachinesFailToJoin");
    stage.until("it is frozen", Duration::from_secs(4 * 3_600), is_reported).await;
    let made = || stage.wire.records(|call| call.verb == "POST" && call.what == "machines").len();
    let before = made();
    assert!((4..=6).contains(&before), "{before} Machines were made");
    tokio::time::sleep(Duration::from_secs(24 * 3_600)).await;
    assert_eq!(made(), before);
    assert!(is_labelled(&stage));
    assert!(stage.events("pool").contains(&"FrozeMachineSet".to_owned()), "{:?}", stage.events("pool"));
}
