//! A control plane whose VMs another program has created: with adoption, and without.

use std::time::Duration;

use memory_api::wire::Call;
use serde_json::json;

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, NAMESPACE, Stage, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

const MARK: &str = "machinist.dev/cluster-id";
const SETTING: &str = "adopt it by the plugin's settings";

/// A driver with a step after creation, which marks what is adopted.
fn stage() -> Stage {
    let stage = Stage::with(Habits { initializes: true, ..Habits::default() }, KubeletHabits::default());
    stage.add_class();
    stage
}

/// Machines `a` and `b` run on VMs without any mark, as another program leaves them.
async fn taken_over() -> (Stage, [String; 2]) {
    let stage = stage();
    let host = stage.host("before");
    for name in ["a", "b"] {
        stage.add_running(name).await;
    }
    tokio::time::sleep(MINUTE).await;
    host.end().await;
    let without = json!({ "metadata": { "annotations": { MARK: null } } });
    stage.api.edit("machineclasses", &in_namespace("small"), &without).unwrap();
    let vms = ["a", "b"].map(|name| {
        stage.api.edit("machines", &in_namespace(name), &without).unwrap();
        let vm = stage.machine(name).unwrap()["spec"]["providerID"].as_str().unwrap().to_owned();
        stage.cloud.unmark(&vm);
        vm
    });
    (stage, vms)
}

fn calls(stage: &Stage, since: usize, function: &str) -> usize {
    stage.wire.records_since(since, |call: &Call| call.verb == "CALL" && call.what == function).len()
}

async fn until_reported(stage: &Stage, name: &str) {
    stage.until("it says why", 2 * HOUR, || stage.reported(name, "VmPresent").1 == "VmNotProven").await;
    let (status, _, message) = stage.reported(name, "VmPresent");
    assert!(status == "Unknown" && message.contains(SETTING), "{status} {message}");
}

#[tokio::test(start_paused = true)]
async fn attack_without_adoption_no_vm_is_deleted_no_finalizer_removed_and_no_second_vm_made() {
    let (stage, vms) = taken_over().await;
    let begun = stage.wire.len();
    let _host = stage.host("after");
    for name in ["a", "b"] {
        until_reported(&stage, name).await;
        assert_eq!(stage.phase(name), "Running", "its Node is healthy");
        assert!(stage.events(name).contains(&"VmNotProven".to_owned()), "{:?}", stage.events(name));
        assert!(stage.machine(name).unwrap()["metadata"]["annotations"][MARK].is_null());
    }
    // One is deleted, by force at that; the Node of the other falls silent.
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    let force = json!({ "metadata": { "labels": { "force-deletion": "True" } } });
    stage.api.edit("machines", &in_namespace("a"), &force).unwrap();
    stage.report_ready("b", "Unknown");
    tokio::time::sleep(24 * HOUR).await;
    assert!(vms.iter().all(|vm| stage.cloud.has(vm)) && stage.cloud.vms() == 2);
    assert_ne!(stage.machine("a").unwrap()["metadata"]["finalizers"], json!([]));
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(stage.phase("a") == "Terminating" && message.contains(SETTING), "{message}");
    let (_, reason, message) = stage.reported("b", "Ready");
    assert_eq!((stage.phase("b").as_str(), reason.as_str()), ("Unknown", "ReplacementHeld"), "{message}");
    assert!(message.contains(SETTING), "{message}");
    assert_eq!(calls(&stage, begun, "create"), 0);

    // As the message says.
    stage.cloud.adopt();
    stage.until_gone("a").await;
    stage.until("it fails as ever", HOUR, || stage.phase("b") == "Failed").await;
    assert!(!stage.cloud.has(&vms[0]) && stage.cloud.has(&vms[1]));
}

#[tokio::test(start_paused = true)]
async fn with_adoption_everything_goes_on_and_each_vm_gets_its_marks() {
    let (stage, vms) = taken_over().await;
    stage.cloud.adopt();
    let begun = stage.wire.len();
    let host = stage.host("after");
    for (name, vm) in ["a", "b"].into_iter().zip(&vms) {
        let uid = stage.machine(name).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
        stage.until("it is marked", 2 * HOUR, || stage.cloud.uid_on(vm) == uid).await;
        assert_eq!((stage.phase(name).as_str(), stage.reason(name).as_str()), ("Running", "NodeHealthy"));
        let mark = || stage.machine(name).unwrap()["metadata"]["annotations"][MARK].clone();
        stage.until("the mark is stored", HOUR, || mark() == "test").await;
    }
    assert!(stage.tokens().is_empty(), "a VM that has joined needs no bootstrap token: {:?}", stage.tokens());
    tokio::time::sleep(24 * HOUR).await;
    let of = |function| calls(&stage, begun, function);
    assert_eq!((of("create"), of("delete"), of("initialize"), stage.cloud.vms()), (0, 0, 2, 2));
    assert_eq!(host.metric("machinist_foreign_vms"), "0");
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    assert!(!stage.cloud.has(&vms[0]) && stage.cloud.has(&vms[1]));
}

#[tokio::test(start_paused = true)]
async fn attack_a_machine_whose_vm_is_not_stored_gets_no_second_one_and_is_not_failed() {
    let stage = stage();
    let vm = stage.cloud.plant_unmarked("a");
    stage.add_machine_with("a", |machine| {
        // As another program leaves it when it dies between the cloud's answer and its own note.
        machine["metadata"]["finalizers"] = json!(["machine.sapcloud.io/machine-controller-manager"]);
    });
    let _host = stage.host("after");
    tokio::time::sleep(24 * HOUR).await;
    assert!(stage.cloud.vms() == 1 && calls(&stage, 0, "create") == 0);
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains(SETTING), "{message}");
    assert_ne!(stage.phase("a"), "Failed", "its set would replace it");
    stage.cloud.adopt();
    let id = || stage.machine("a").unwrap()["spec"]["providerID"].clone();
    stage.until("it is stored", HOUR, || id() == vm.as_str()).await;
    assert_eq!(calls(&stage, 0, "create"), 0);
}

async fn foreign(planted: usize) -> (Stage, Host, Vec<String>) {
    let stage = stage();
    stage.cloud.adopt();
    let host = stage.host("host");
    stage.add_running("a").await;
    let names = (0..planted).map(|number| format!("gone-{number}"));
    let vms = names.map(|name| stage.cloud.plant_unmarked(&name)).collect();
    (stage, host, vms)
}

#[tokio::test(start_paused = true)]
async fn attack_vms_that_carry_no_mark_are_counted_and_reported_and_never_deleted() {
    for planted in [1, 40] {
        let (stage, host, vms) = foreign(planted).await;
        let ours = stage.cloud.plant("test", "gone", "uid-gone");
        // Somebody who may write classes says that they are to go.
        let word = json!({ "metadata": { "annotations": { "machinist.dev/delete-unknown-vms": "true" } } });
        stage.api.edit("machineclasses", &in_namespace("small"), &word).unwrap();
        tokio::time::sleep(20 * HOUR).await;
        assert!(vms.iter().all(|vm| stage.cloud.has(vm)), "{planted}");
        assert!(!stage.cloud.has(&ours), "ours goes as ever");
        assert_eq!(host.metric("machinist_foreign_vms"), planted.to_string());
        let reported = stage.events("small");
        assert_eq!(reported.iter().filter(|reason| *reason == "ForeignVms").count(), 1, "{reported:?}");
        let notes = stage.event_notes("small").join("\n");
        let is_named = vms.iter().any(|vm| notes.contains(vm));
        assert!(is_named && notes.contains("carry no mark of this control plane"), "{notes}");
        // Until a person removes one, or a Machine has it.
        let known = json!({
            "metadata": { "name": "gone-0", "namespace": NAMESPACE },
            "spec": { "class": { "kind": "MachineClass", "name": "small" }, "providerID": vms[0] },
        });
        stage.api.create("machines", &known).unwrap();
        let left = (planted - 1).to_string();
        stage.until("it is its Machine's", HOUR, || host.metric("machinist_foreign_vms") == left).await;
    }
}
