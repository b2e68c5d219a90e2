//! Classes that their drivers reject.

use std::time::Duration;

use machinist_core::driver::error::Code;
use serde_json::json;

use crate::fixture::cloud::guest_error;
use crate::fixture::stage::{Stage, class, in_namespace, secret};
use memory_api::wire::{Call, Handling};

const SOON: Duration = Duration::from_secs(2);

fn condition(stage: &Stage) -> (String, String) {
    let class = stage.api.find("machineclasses", &in_namespace("small")).unwrap();
    let condition = &class["status"]["machinist"]["conditions"][0];
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (format!("{}={}", text("type"), text("status")), text("message"))
}

#[tokio::test(start_paused = true)]
async fn a_class_that_its_driver_refuses_holds_creation_and_says_what_is_wrong() {
    let stage = Stage::set();
    stage.cloud.find_invalid("small", Some("size: must be below 100"));
    let _host = stage.host("host");
    tokio::time::sleep(SOON).await;
    stage.add_machine("a");
    stage.until("ClassInvalid", SOON, || stage.reason("a") == "ClassInvalid").await;
    let machine = stage.machine("a").unwrap();
    let message = machine["status"]["machinist"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("size: must be below 100"), "{message}");
    assert_eq!(condition(&stage).0, "Valid=False");
    assert!(condition(&stage).1.contains("size: must be below 100"));
    assert!(stage.events("small").contains(&"ClassInvalid".to_owned()));
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(stage.cloud.made().len(), 0);
    assert_eq!(checks(&stage), 1, "asked once for the same content");
    // The class changes, and with it the verdict.
    stage.cloud.find_invalid("small", None);
    stage
        .api
        .edit("machineclasses", &in_namespace("small"), &json!({ "providerSpec": { "size": 2 } }))
        .unwrap();
    stage.until_running("a").await;
    stage.until("Valid", SOON, || condition(&stage).0 == "Valid=True").await;
    assert!(stage.events("small").contains(&"ClassAccepted".to_owned()));
}

fn checks(stage: &Stage) -> usize {
    stage.wire.records(|call| call.what == "validate-class").len()
}

#[tokio::test(start_paused = true)]
async fn another_version_of_the_driver_is_asked_again() {
    let stage = Stage::set();
    stage.cloud.find_invalid("small", Some("wrong"));
    let _host = stage.host("host");
    tokio::time::sleep(SOON).await;
    stage.add_machine("a");
    stage.until("ClassInvalid", SOON, || stage.reason("a") == "ClassInvalid").await;
    stage.cloud.find_invalid("small", None);
    stage.report_plugins(&["sim"]);
    stage.until_running("a").await;
    assert_eq!(checks(&stage), 2);
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_class_has_become_invalid_runs_on_and_is_deleted() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    stage.cloud.find_invalid("small", Some("wrong"));
    stage.report_plugins(&["sim"]);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(stage.phase("a"), "Running");
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    tokio::time::sleep(SOON).await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_breaks_or_has_no_opinion_makes_no_class_invalid() {
    for code in [Code::Unimplemented, Code::Internal, Code::Unavailable] {
        let stage = Stage::empty();
        stage.wire.plan(move |call: &Call| {
            if call.what == "validate-class" { Handling::Answer(guest_error(code)) } else { Handling::Pass }
        });
        stage.api.create("secrets", &secret()).unwrap();
        stage.api.create("machineclasses", &class()).unwrap();
        let _host = stage.host("host");
        stage.add_running("a").await;
        assert_eq!(condition(&stage).0, "=");
    }
}
