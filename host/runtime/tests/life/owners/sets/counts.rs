//! How many Machines a set creates, deletes and replaces.

use std::time::Duration;

use memory_api::wire::{Call, Handling};
use serde_json::{Value, json};

use super::{Census, edit, look, names, scale, set, stage, until_stable};
use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, Stage, in_namespace};

#[tokio::test(start_paused = true)]
async fn a_set_makes_its_machines_and_says_so() {
    let stage = stage(3);
    let census = Census::of(&stage);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    assert_eq!(census.most(), 3);
    let set = look(&stage, "pool").unwrap();
    let status = &set["status"];
    for field in ["replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"] {
        assert_eq!(status[field], 3, "{field}: {status}");
    }
    assert_eq!(status["observedGeneration"], set["metadata"]["generation"]);
    assert_eq!(status["lastOperation"]["type"], "Create");
    assert_eq!(status["machinist"]["conditions"][0]["reason"], "AllMachinesAvailable");
    assert_eq!(set["metadata"]["finalizers"][0], "machine.sapcloud.io/machine-controller-manager");
    assert!(stage.events("pool").contains(&"SuccessfulCreate".to_owned()), "{:?}", stage.events("pool"));
    for machine in stage.api.all("machines") {
        let meta = &machine["metadata"];
        assert_eq!(meta["labels"]["set"], "pool");
        assert_eq!(meta["annotations"]["note"], "kept");
        assert_eq!(meta["annotations"]["machinepriority.machine.sapcloud.io"], "3");
        assert_eq!(meta["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
        assert_eq!(meta["ownerReferences"][0]["controller"], true);
    }
    stage.assert_one_vm_each(3);
}

#[tokio::test(start_paused = true)]
async fn two_hundred_machines_cost_seven_writes_each_and_a_set_a_few() {
    let stage = stage(200);
    let census = Census::of(&stage);
    let _host = stage.host("host");
    until_stable(&stage, 200).await;
    assert_eq!(census.most(), 200);
    census.assert_no_name_twice();
    stage.assert_one_vm_each(200);
    let of = |what: &'static str| move |call: &Call| call.is_write() && call.what == what;
    let machines = stage.wire.records(of("machines")).len() + stage.wire.records(of("nodes")).len();
    let all = stage.wire.records(Call::is_write).len();
    let sets = stage.wire.records(of("machinesets")).len();
    assert!(all <= 200 * 7 + 30, "{all} writes, {machines} of them to Machines and Nodes, {sets} to the set");
    assert!(sets <= 25, "{sets} writes to the set");
    // What was just made with our finalizer has no VM yet: nobody looks for one.
    let calls = stage.wire.records(|call| call.verb == "CALL").len();
    assert_eq!(calls, 200, "one call of the driver each");
}

#[tokio::test(start_paused = true)]
async fn the_first_machines_are_made_one_two_four_at_a_time() {
    let stage = stage(15);
    let _host = stage.host("host");
    until_stable(&stage, 15).await;
    let mut times = stage.wire.times(|call| call.verb == "POST" && call.what == "machines");
    times.sort();
    let mut batches: Vec<usize> = Vec::new();
    let mut last = None;
    for time in times {
        if last.is_some_and(|last: Duration| time - last < Duration::from_micros(1)) {
            *batches.last_mut().unwrap() += 1;
        } else {
            batches.push(1);
        }
        last = Some(time);
    }
    assert_eq!(batches, [1, 2, 4, 8], "{}", stage.wire.trace());
}

#[tokio::test(start_paused = true)]
async fn a_smaller_set_lets_the_least_useful_go_and_never_falls_below() {
    let stage = stage(6);
    let census = Census::of(&stage);
    let _host = stage.host("host");
    until_stable(&stage, 6).await;
    let all = names(&stage);
    let chosen = &all[4];
    let path = in_namespace(chosen);
    let annotations = json!({ "machinepriority.machine.sapcloud.io": "1" });
    stage.api.edit("machines", &path, &json!({ "metadata": { "annotations": annotations } })).unwrap();
    census.begin();
    scale(&stage, 5);
    until_stable(&stage, 5).await;
    assert!(!names(&stage).contains(chosen), "the one with the lowest priority goes");
    assert_eq!(census.fewest(), 5);
    assert!(stage.events("pool").contains(&"SuccessfulDelete".to_owned()));
    scale(&stage, 0);
    until_stable(&stage, 0).await;
    stage.assert_nothing_left();
    census.assert_no_name_twice();
    scale(&stage, 2);
    until_stable(&stage, 2).await;
    census.assert_no_name_twice();
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_somebody_deletes_is_replaced() {
    let stage = stage(2);
    let census = Census::of(&stage);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let gone = names(&stage).remove(0);
    stage.api.delete("machines", &in_namespace(&gone)).unwrap();
    let holds = || !names(&stage).contains(&gone) && super::running(&stage) == 2;
    stage.until("another took its place", Duration::from_secs(300), holds).await;
    until_stable(&stage, 2).await;
    assert_eq!(census.most(), 2);
    census.assert_no_name_twice();
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_the_autoscaler_marked_goes_also_when_the_number_is_raised_again() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    let chosen = names(&stage).remove(1);
    let (marked, scaled) = ("2026-01-01T00:01:00Z", "2026-01-01T00:01:01Z");
    let annotations = json!({
        "machinepriority.machine.sapcloud.io": "1",
        "machine.sapcloud.io/marked-for-deletion-time": marked,
    });
    let path = in_namespace(&chosen);
    stage.api.edit("machines", &path, &json!({ "metadata": { "annotations": annotations } })).unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(names(&stage).contains(&chosen), "marked alone says nothing");
    let time = json!({ "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time": scaled });
    edit(&stage, &json!({ "metadata": { "annotations": time } }));
    let holds = || !names(&stage).contains(&chosen);
    stage.until("it goes", Duration::from_secs(300), holds).await;
    until_stable(&stage, 3).await;
}

#[tokio::test(start_paused = true)]
async fn failed_machines_are_replaced_and_as_many_kept_as_the_set_says() {
    // Two of six do not look like a zone that is away.
    let stage = stage(6);
    edit(&stage, &json!({ "spec": { "autoPreserveFailedMachineMax": 1 } }));
    let host = stage.host("host");
    until_stable(&stage, 6).await;
    let all = names(&stage);
    for name in &all[..2] {
        stage.report_ready(name, "Unknown");
    }
    let kept = || {
        let is_kept = |machine: &Value| {
            let wish = &machine["metadata"]["annotations"]["node.machine.sapcloud.io/preserve"];
            (wish == "auto-preserved").then_some(())
        };
        stage.api.collect("machines", is_kept).len()
    };
    let left = || all[..2].iter().filter(|name| names(&stage).contains(name)).count();
    let holds = || kept() == 1 && left() == 1 && super::running(&stage) == 5;
    stage.until("one is kept and the other replaced", Duration::from_secs(3_600), holds).await;
    let status = || look(&stage, "pool").unwrap()["status"].clone();
    let is_counted = || status()["autoPreserveFailedMachineCount"] == 1;
    stage.until("it is counted", Duration::from_secs(60), is_counted).await;
    drop(host);
}

/// How many Machines sets have deleted because they had been unhealthy for too long.
fn stale(host: &Host) -> String {
    let name = "mcm_machine_stale_machines_total ";
    host.figures(name).first().and_then(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_health_has_failed_it_counts_as_stale_and_one_that_is_gone_already_does_not() {
    for (is_gone, counted) in [(false, "1"), (true, "0")] {
        let stage = stage(3);
        let host = stage.host("host");
        until_stable(&stage, 3).await;
        let failed = names(&stage).remove(0);
        stage.wire.plan(move |call: &Call| {
            let is_it = is_gone && call.verb == "DELETE" && call.what == "machines";
            if is_it { Handling::Refuse(404) } else { Handling::Pass }
        });
        stage.report_ready(&failed, "Unknown");
        let asked = || stage.wire.records(|call| call.verb == "DELETE" && call.what == "machines").len();
        stage.until("its set deletes it", Duration::from_secs(3_600), || asked() > 0).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(stale(&host), counted, "answered by 404: {is_gone}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_never_joins_is_replaced_and_does_not_count_as_stale() {
    let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    stage.api.create("machinesets", &set("pool", 1)).unwrap();
    let host = stage.host("host");
    stage.until("it is made", Duration::from_secs(60), || !names(&stage).is_empty()).await;
    let first = names(&stage).remove(0);
    let holds = || !names(&stage).contains(&first);
    stage.until("it is replaced", Duration::from_secs(3_600), holds).await;
    assert_eq!(stale(&host), "0");
}

#[tokio::test(start_paused = true)]
async fn a_wish_on_the_node_of_another_vm_keeps_no_machine() {
    let stage = stage(3);
    let host = stage.host("host");
    until_stable(&stage, 3).await;
    host.end().await;
    let all = names(&stage);
    let node_of =
        |name: &str| stage.machine(name).unwrap()["metadata"]["labels"]["node"].as_str().unwrap().to_owned();
    let (lost, own, theirs) = (&all[0], node_of(&all[0]), node_of(&all[1]));
    let wish = json!({ "metadata": { "annotations": { "node.machine.sapcloud.io/preserve": "now" } } });
    stage.api.edit("nodes", &theirs, &wish).unwrap();
    // The cloud has given the name of a lost VM to the VM of another Machine.
    let renamed = json!({ "metadata": { "labels": { "node": theirs } } });
    stage.api.edit("machines", &in_namespace(lost), &renamed).unwrap();
    stage.api.edit("nodes", &own, &json!({ "metadata": { "finalizers": null } })).unwrap();
    stage.api.delete("nodes", &own).unwrap();
    let _next = stage.host("next");
    let holds = || !names(&stage).contains(lost);
    stage.until("the lost one is replaced", Duration::from_secs(3_600), holds).await;
    assert!(names(&stage).contains(&all[1]), "{:?}", names(&stage));
}
