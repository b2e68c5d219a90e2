//! Deletions without their class, their Secret or their VM.

use machinist_api::names::annotations;

use super::*;
use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{class, secret};

#[tokio::test(start_paused = true)]
async fn a_missing_class_is_awaited_after_the_drain_and_its_return_ends_the_wait() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    drop_class(&stage);
    delete(&stage);
    stage.until("it is said", MOMENT, || stage.reason("a") == "ClassMissing").await;
    let ready = condition(&stage, "Ready");
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("MachineClass small") && message.contains(annotations::VM_IS_GONE), "{message}");
    assert_eq!(condition(&stage, "Drained")["status"], "True");
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    assert_eq!(stage.cloud.vms(), 1);
    let begun = stage.wire.elapsed();
    stage.api.create("machineclasses", &class()).unwrap();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(3), "{}", stage.wire.trace());
    stage.assert_nothing_left();
}

/// Against our finalizer, as only somebody with rights to it can.
fn drop_class(stage: &Stage) {
    let free = json!({ "metadata": { "finalizers": null } });
    stage.api.delete("machineclasses", &in_namespace("small")).unwrap();
    if stage.api.find("machineclasses", &in_namespace("small")).is_some() {
        stage.api.edit("machineclasses", &in_namespace("small"), &free).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn somebodys_word_that_the_vm_is_gone_lets_a_machine_go_that_nobody_else_can_end() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    drop_class(&stage);
    delete(&stage);
    stage.until("it is said", MOMENT, || stage.reason("a") == "ClassMissing").await;
    annotate(&stage, annotations::VM_IS_GONE, Some("true"));
    stage.until_gone("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(stage.events("a").contains(&"VmDeclaredGone".to_owned()), "{:?}", stage.events("a"));
    let note = stage.event_notes("a").into_iter().find(|note| note.contains("sim:///vm-1"));
    assert!(note.is_some(), "{:?}", stage.event_notes("a"));
    assert_eq!(stage.api.count("nodes"), 0);
}

#[tokio::test(start_paused = true)]
async fn somebodys_word_does_not_count_while_the_cloud_shows_the_vm() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    annotate(&stage, annotations::VM_IS_GONE, Some("true"));
    delete(&stage);
    stage.until_gone("a").await;
    assert_eq!(stage.cloud.vms(), 0, "the VM went first");
    assert!(vm_orders(&stage) > 0);
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_nobody_has_begun_to_make_goes_without_its_class() {
    let stage = Stage::empty();
    let _host = stage.host("host");
    let mut machine = crate::fixture::stage::machine("a");
    machine["metadata"]["finalizers"] = json!([machinist_api::names::finalizers::MACHINE]);
    stage.api.create("machines", &machine).unwrap();
    stage.until("its class is awaited", MOMENT, || stage.reason("a") == "ClassMissing").await;
    delete(&stage);
    let begun = stage.wire.elapsed();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn without_its_secret_the_driver_is_asked_all_the_same() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    stage
        .api
        .edit("secrets", &in_namespace("account"), &json!({ "metadata": { "finalizers": null } }))
        .unwrap();
    stage.api.delete("secrets", &in_namespace("account")).unwrap();
    delete(&stage);
    tokio::time::sleep(Duration::from_secs(2)).await;
    if stage.machine("a").is_some() {
        stage.api.create("secrets", &secret()).unwrap();
    }
    stage.until_gone("a").await;
    assert!(vm_orders(&stage) > 0);
    assert_eq!(stage.cloud.vms(), 0);
}

/// Its VM was just made, and reads do not show it yet.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_ends_no_wait_for_the_reads_of_the_cloud() {
    let lag = Duration::from_secs(8);
    let habits = Habits { keeps_keys: true, reads_lag: lag, initializes: false };
    let stage = Stage::with(habits, KubeletHabits { never_joins: true, ..KubeletHabits::default() });
    stage.add_class();
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("the VM is made", MOMENT, || stage.cloud.vms() == 1).await;
    delete(&stage);
    let asked = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    stage.shift_hosts(jiff::SignedDuration::from_secs(60));
    stage.until_gone("a").await;
    assert!(asked.elapsed() >= lag, "{:?}", asked.elapsed());
    stage.assert_nothing_left();
}
