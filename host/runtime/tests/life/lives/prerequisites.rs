//! A Machine reports a missing prerequisite, and continues when it appears.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{Stage, class, in_namespace, secret};

const SOON: Duration = Duration::from_secs(2);

/// The Machine says why it waits: in its phase, operation and condition, and once in an Event. The cloud is left alone.
async fn assert_waits(stage: &Stage, reason: &str) {
    stage.until(reason, SOON, || stage.reason("a") == reason).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(stage.reason("a"), reason);
    assert_eq!(stage.phase("a"), "CrashLoopBackOff");
    let status = stage.machine("a").unwrap()["status"].clone();
    assert_eq!(status["lastOperation"]["state"], "Failed");
    let condition = &status["machinist"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("Ready"), &json!("False")));
    assert_ne!(condition["message"], "");
    let reported = stage.events("a");
    assert_eq!(reported.iter().filter(|reported| *reported == reason).count(), 1, "{reported:?}");
    assert_eq!(stage.cloud.made().len(), 0);
}

async fn assert_goes_on(stage: &Stage) {
    stage.until("Running once it is mended", SOON, || stage.phase("a") == "Running").await;
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn a_class_that_is_missing_is_awaited() {
    let stage = Stage::empty();
    let _host = stage.host("host");
    stage.add_machine("a");
    assert_waits(&stage, "ClassMissing").await;
    stage.add_class();
    assert_goes_on(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_missing_is_awaited() {
    let stage = Stage::empty();
    stage.api.create("machineclasses", &class()).unwrap();
    let _host = stage.host("host");
    stage.add_machine("a");
    assert_waits(&stage, "SecretMissing").await;
    stage.api.create("secrets", &secret()).unwrap();
    assert_goes_on(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_class_that_names_no_secret_waits_until_it_does() {
    let stage = Stage::empty();
    stage.api.create("secrets", &secret()).unwrap();
    let mut without = class();
    without["secretRef"] = Value::Null;
    stage.api.create("machineclasses", &without).unwrap();
    let _host = stage.host("host");
    stage.add_machine("a");
    assert_waits(&stage, "SecretMissing").await;
    let patch = json!({ "secretRef": class()["secretRef"] });
    stage.api.edit("machineclasses", &in_namespace("small"), &patch).unwrap();
    assert_goes_on(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn user_data_that_is_missing_is_awaited() {
    let stage = Stage::empty();
    let mut without = secret();
    without["data"]["userData"] = Value::Null;
    stage.api.create("secrets", &without).unwrap();
    stage.api.create("machineclasses", &class()).unwrap();
    let _host = stage.host("host");
    stage.add_machine("a");
    assert_waits(&stage, "UserDataMissing").await;
    stage.api.edit("secrets", &in_namespace("account"), &json!({ "data": secret()["data"] })).unwrap();
    assert_goes_on(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_nobody_serves_waits_for_a_plugin_or_for_another_class() {
    for is_plugin in [true, false] {
        let stage = Stage::set();
        let edit = |provider: &str| {
            let patch = json!({ "provider": provider });
            stage.api.edit("machineclasses", &in_namespace("small"), &patch).unwrap();
        };
        edit("Elsewhere");
        let _host = stage.host("host");
        stage.add_machine("a");
        assert_waits(&stage, "DriverNotReady").await;
        if is_plugin {
            stage.cloud.serve("elsewhere");
            stage.report_plugins(&["elsewhere"]);
        } else {
            edit("SIM");
        }
        assert_goes_on(&stage).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_cannot_be_understood_waits_until_it_is_edited() {
    let stage = Stage::set();
    stage.add_machine("a");
    stage.api.edit("machines", &in_namespace("a"), &json!({ "spec": { "class": { "kind": "" } } })).unwrap();
    let _host = stage.host("host");
    assert_waits(&stage, "InvalidMachine").await;
    let patch = json!({ "spec": { "class": { "kind": "MachineClass" } } });
    stage.api.edit("machines", &in_namespace("a"), &patch).unwrap();
    assert_goes_on(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_deleted_while_it_waits() {
    for reason in ["ClassMissing", "SecretMissing"] {
        let stage = Stage::empty();
        if reason == "SecretMissing" {
            stage.api.create("machineclasses", &class()).unwrap();
        }
        let _host = stage.host("host");
        stage.add_machine("a");
        stage.until(reason, SOON, || stage.reason("a") == reason).await;
        stage.api.delete("machines", &in_namespace("a")).unwrap();
        stage.until_gone("a").await;
        stage.assert_nothing_left();
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_harms_only_itself() {
    let stage = Stage::set();
    let broken = json!({
        "metadata": { "name": "broken", "namespace": crate::fixture::stage::NAMESPACE },
        "spec": { "class": "text", "nodeTemplate": 7 },
    });
    stage.api.create("machines", &broken).unwrap();
    let _host = stage.host("host");
    stage.add_running("a").await;
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_being_loaded_is_awaited_without_a_word_of_failure() {
    let stage = Stage::set();
    stage.cloud.begin_loading("sim");
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it says so", SOON, || stage.reason("a") == "DriverLoading").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.phase("a"), "");
    let status = stage.machine("a").unwrap()["status"].clone();
    assert_eq!(status["lastOperation"]["state"], Value::Null, "{status}");
    stage.cloud.serve("sim");
    stage.report_plugins(&["sim"]);
    assert_goes_on(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_class_of_another_kind_is_found_by_its_name_and_makes_a_vm() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_machine_with("a", |machine| machine["spec"]["class"]["kind"] = json!("AWSMachineClass"));
    assert_goes_on(&stage).await;
}
