//! Control planes that are moved or restored, so that the process has another mark than the VMs.

use std::time::Duration;

use memory_api::wire::{Call, Handling};
use serde_json::{Value, json};

use crate::fixture::stage::{NAMESPACE, Stage, class, in_namespace, machine, secret};

const MINUTE: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(15 * 60);

const MARK: &str = "machinist.dev/cluster-id";

fn mark_of(stage: &Stage, kind: &str, name: &str) -> Value {
    stage.api.find(kind, &in_namespace(name)).unwrap()["metadata"]["annotations"][MARK].clone()
}

/// As a restore makes it: the same name, labels, annotations and spec, another uid, no status.
fn restored(machine: &Value) -> Value {
    let meta = &machine["metadata"];
    json!({
        "metadata": {
            "name": meta["name"], "namespace": NAMESPACE,
            "labels": meta["labels"], "annotations": meta["annotations"], "finalizers": meta["finalizers"],
        },
        "spec": machine["spec"],
    })
}

/// Machine `a` has run under the mark `test`; the control plane was moved, and its process has the mark `elsewhere`.
async fn moved(change: impl FnOnce(&mut Value)) -> (Stage, String) {
    let stage = Stage::set();
    let host = stage.host("before");
    stage.add_running("a").await;
    host.end().await;
    let mut machine = stage.machine("a").unwrap();
    let vm = machine["spec"]["providerID"].as_str().unwrap().to_owned();
    stage.api.edit("machines", &in_namespace("a"), &json!({ "metadata": { "finalizers": [] } })).unwrap();
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    change(&mut machine);
    stage.api.create("machines", &restored(&machine)).unwrap();
    stage.settings.lock().unwrap().cluster = "elsewhere".to_owned();
    (stage, vm)
}

#[tokio::test(start_paused = true)]
async fn a_machine_keeps_the_mark_of_its_vm_and_older_ones_and_their_class_get_it_from_a_listing() {
    let stage = Stage::set();
    let _host = stage.host("host");
    for name in ["a", "b"] {
        stage.add_running(name).await;
        assert_eq!(mark_of(&stage, "machines", name), "test", "with the id of its VM");
    }
    // As one that an earlier version has made.
    let without = json!({ "metadata": { "annotations": { MARK: null } } });
    stage.api.edit("machines", &in_namespace("a"), &without).unwrap();
    stage.api.edit("machineclasses", &in_namespace("small"), &without).unwrap();
    stage.until("it is stored", 2 * LONG, || mark_of(&stage, "machines", "a") == "test").await;
    stage.until("on the class too", LONG, || mark_of(&stage, "machineclasses", "small") == "test").await;
}

#[tokio::test(start_paused = true)]
async fn a_moved_control_plane_with_another_mark_loses_no_vm_and_says_which_flag_to_set() {
    let (stage, vm) = moved(|_| {}).await;
    let host = stage.host("moved");
    stage.until("it says so", MINUTE, || stage.reason("a") == "ClusterMarkDiffers").await;
    let counted = host.figures("machinist_machines_of_another_cluster");
    assert_eq!(counted, ["machinist_machines_of_another_cluster 1"]);
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until("terminating", MINUTE, || stage.phase("a") == "Terminating").await;
    stage
        .api
        .edit(
            "machines",
            &in_namespace("a"),
            &json!({ "metadata": { "labels": { "force-deletion": "True" } } }),
        )
        .unwrap();
    tokio::time::sleep(20 * LONG).await;
    assert!(stage.cloud.has(&vm) && stage.machine("a").is_some());
    assert_ne!(stage.api.find("nodes", "a").unwrap()["spec"]["unschedulable"], true, "no drain begins");
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains("start it with --cluster-id=test"), "{message}");
    assert!(stage.events("a").contains(&"ClusterMarkDiffers".to_owned()), "{:?}", stage.events("a"));
    let creates = stage.wire.records(|call| call.calls("create")).len();
    assert_eq!(creates, 1, "that of before");
    host.end().await;
    // As the message says.
    stage.settings.lock().unwrap().cluster = "test".to_owned();
    let _host = stage.host("right");
    stage.until_gone("a").await;
    assert!(!stage.cloud.has(&vm));
}

#[tokio::test(start_paused = true)]
async fn the_vm_of_a_machine_without_a_stored_mark_is_refused_by_its_driver_and_never_taken_as_gone() {
    let strip =
        |machine: &mut Value| drop(machine["metadata"]["annotations"].as_object_mut().unwrap().remove(MARK));
    let (stage, vm) = moved(strip).await;
    let without = json!({ "metadata": { "annotations": { MARK: null } } });
    stage.api.edit("machineclasses", &in_namespace("small"), &without).unwrap();
    let host = stage.host("moved");
    stage.until("it is looked for", LONG, || !stage.reason("a").is_empty()).await;
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    tokio::time::sleep(20 * LONG).await;
    assert!(stage.cloud.has(&vm) && stage.machine("a").is_some());
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains("--cluster-id=test"), "{message}");
    assert!(mark_of(&stage, "machines", "a").is_null(), "a mark that nothing proves is not stored");
    host.end().await;
    stage.settings.lock().unwrap().cluster = "test".to_owned();
    let _host = stage.host("right");
    stage.until_gone("a").await;
    assert!(!stage.cloud.has(&vm));
}

#[tokio::test(start_paused = true)]
async fn no_vm_is_made_of_a_class_that_carries_another_mark() {
    let stage = Stage::set();
    let mark = json!({ "metadata": { "annotations": { MARK: "before" } } });
    stage.api.edit("machineclasses", &in_namespace("small"), &mark).unwrap();
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it says so", MINUTE, || stage.reason("a") == "ClusterMarkDiffers").await;
    tokio::time::sleep(20 * LONG).await;
    assert_eq!(stage.cloud.vms(), 0);
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains("MachineClass small carries the mark of cluster before"), "{message}");
    // It came here as a copy, and nothing of that cluster is here.
    let without = json!({ "metadata": { "annotations": { MARK: null } } });
    stage.api.edit("machineclasses", &in_namespace("small"), &without).unwrap();
    stage.until_running("a").await;
}

/// Another control plane beside the one of the stage, in a namespace of its own.
const OTHER: &str = "other";

fn add_other(stage: &Stage, machines: &[&str]) {
    let of_other = |mut object: Value| {
        object["metadata"]["namespace"] = json!(OTHER);
        object
    };
    let mut class = of_other(class());
    class["secretRef"]["namespace"] = json!(OTHER);
    stage.api.create("secrets", &of_other(secret())).unwrap();
    stage.api.create("machineclasses", &class).unwrap();
    for name in machines {
        stage.api.create("machines", &of_other(machine(name))).unwrap();
    }
    *stage.namespace.lock().unwrap() = OTHER;
}

fn other_has_vm(stage: &Stage, name: &str) -> bool {
    let machine = stage.api.find("machines", &format!("{OTHER}/{name}")).unwrap();
    machine["spec"]["providerID"].as_str().is_some()
}

#[tokio::test(start_paused = true)]
async fn of_two_control_planes_with_one_mark_and_one_target_the_second_waits_until_the_first_has_stopped() {
    let stage = Stage::set();
    let first = stage.host("first");
    for name in ["a", "b"] {
        stage.add_running(name).await;
    }
    add_other(&stage, &["x"]);
    let _second = stage.host("second");
    tokio::time::sleep(20 * LONG).await;
    assert!(!other_has_vm(&stage, "x"));
    assert_eq!(stage.cloud.vms(), 2, "nobody's VM is deleted");
    let reported = stage.event_notes("machine-controller").join("\n");
    assert!(reported.contains("another control plane holds this cluster's mark"), "{reported}");
    first.end().await;
    stage.until("it is taken over", LONG, || other_has_vm(&stage, "x")).await;
}

#[tokio::test(start_paused = true)]
async fn a_copied_control_plane_removes_no_vm_even_when_somebody_deletes_its_machines() {
    let stage = Stage::set();
    let _first = stage.host("first");
    stage.add_running("a").await;
    let mut copy = restored(&stage.machine("a").unwrap());
    copy["metadata"]["namespace"] = json!(OTHER);
    add_other(&stage, &[]);
    stage.api.create("machines", &copy).unwrap();
    let _second = stage.host("second");
    tokio::time::sleep(LONG).await;
    stage.api.delete("machines", &format!("{OTHER}/a")).unwrap();
    tokio::time::sleep(20 * LONG).await;
    let left = stage.api.find("machines", &format!("{OTHER}/a")).expect("the copy waits");
    let ready = left["status"]["machinist"]["conditions"].to_string();
    assert!(ready.contains("Frozen") && ready.contains("stop it before you remove"), "{ready}");
    assert_eq!((stage.cloud.vms(), stage.phase("a").as_str()), (1, "Running"));
}

#[tokio::test(start_paused = true)]
async fn as_long_as_nobody_knows_who_holds_the_mark_nothing_is_done() {
    let stage = Stage::set();
    let _first = stage.host("first");
    stage.add_running("a").await;
    add_other(&stage, &["x"]);
    let is_mark_write =
        |call: &Call| call.what == "secrets" && call.name.starts_with("machinist-cluster-mark-");
    stage.wire.plan(move |call| {
        if call.actor == "second" && is_mark_write(call) { Handling::Lose } else { Handling::Pass }
    });
    let _second = stage.host("second");
    tokio::time::sleep(20 * MINUTE).await;
    assert!(!other_has_vm(&stage, "x"), "{}", stage.wire.trace());
    stage.wire.heal();
    tokio::time::sleep(20 * MINUTE).await;
    assert!(!other_has_vm(&stage, "x"), "the first one still works");
}

#[tokio::test(start_paused = true)]
async fn two_control_planes_with_one_mark_and_targets_of_their_own_leave_each_others_vms_alone() {
    let stage = Stage::set();
    let own = ["a", "b", "c", "d", "e"];
    own.iter().for_each(|name| stage.add_machine(name));
    let _first = stage.host_without_target("first");
    add_other(&stage, &["v", "w", "x", "y", "z"]);
    let _second = stage.host_without_target("second");
    stage.until("all are made", LONG, || stage.cloud.vms() == 10).await;
    let says_so = || stage.event_notes("small").join("").contains("one was started with --cluster-id=test");
    stage.until("it is told", LONG, says_so).await;
    tokio::time::sleep(60 * LONG).await;
    assert_eq!(stage.cloud.vms(), 10);
}
