//! A fixed prerequisite requeues its Machine at once.

use std::time::Duration;

use machinist_core::driver::error::Code;
use memory_api::wire::{Call, Handling};
use serde_json::{Value, json};

use crate::fixture::cloud::guest_error;
use crate::fixture::stage::{Host, Stage, in_namespace};
use memory_api::encode;

const SOON: Duration = Duration::from_secs(3);
const HOUR: Duration = Duration::from_secs(3_600);

/// The cloud refuses all until somebody fixes the class.
fn refuse(stage: &Stage, code: Code) {
    stage.wire.plan(
        move |call: &Call| {
            if call.verb == "CALL" { Handling::Answer(guest_error(code)) } else { Handling::Pass }
        },
    );
}

/// The fix, by its kind.
type Fix = (&'static str, fn(&Stage));

const FIXES: [Fix; 3] = [
    ("Secret", |stage| {
        let data = json!({ "data": { "key": encode(b"the right one") } });
        stage.api.edit("secrets", &in_namespace("account"), &data).unwrap();
    }),
    ("class", |stage| {
        let spec = json!({ "providerSpec": { "size": 2 } });
        stage.api.edit("machineclasses", &in_namespace("small"), &spec).unwrap();
    }),
    ("class's reference", |stage| {
        let mut other = crate::fixture::stage::secret();
        other["metadata"]["name"] = json!("other");
        stage.api.create("secrets", &other).unwrap();
        let spec = json!({ "credentialsSecretRef": { "name": "other", "namespace": "shoot" } });
        stage.api.edit("machineclasses", &in_namespace("small"), &spec).unwrap();
    }),
];

async fn waiting_creation(code: Code) -> (Stage, Host) {
    let stage = Stage::set();
    refuse(&stage, code);
    let host = stage.host("host");
    stage.add_machine_with("a", |machine| machine["spec"]["creationTimeout"] = json!("100h"));
    tokio::time::sleep(3 * HOUR).await;
    assert_eq!(stage.phase("a"), "CrashLoopBackOff");
    (stage, host)
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_was_refused_for_hours_is_tried_at_once_when_its_secret_or_class_is_fixed() {
    for (what, fix) in FIXES {
        let (stage, _host) = waiting_creation(Code::Unauthenticated).await;
        stage.wire.heal();
        fix(&stage);
        let is_made = || stage.machine("a").unwrap()["spec"]["providerID"] != Value::Null;
        stage.until(&format!("made after the {what} was mended"), SOON, is_made).await;
        stage.until_running("a").await;
        stage.assert_one_vm_each(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_was_refused_for_hours_is_tried_at_once_when_its_secret_or_class_is_fixed() {
    for code in [Code::Unauthenticated, Code::PermissionDenied, Code::Unavailable] {
        for (what, fix) in FIXES {
            let stage = Stage::set();
            let _host = stage.host("host");
            stage.add_running("a").await;
            refuse(&stage, code);
            stage.api.delete("machines", &in_namespace("a")).unwrap();
            tokio::time::sleep(3 * HOUR).await;
            assert_eq!(stage.cloud.vms(), 1);
            assert_eq!(stage.reason("a"), "VmDeletionFailed");
            stage.wire.heal();
            fix(&stage);
            stage
                .until(&format!("gone after the {what} was mended"), SOON, || stage.machine("a").is_none())
                .await;
            stage.assert_nothing_left();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_was_deleted_by_force_and_comes_back_ends_both_waits_at_once() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let free = json!({ "metadata": { "finalizers": null } });
    stage.api.edit("secrets", &in_namespace("account"), &free).unwrap();
    stage.api.delete("secrets", &in_namespace("account")).unwrap();
    refuse(&stage, Code::Unauthenticated);
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.add_machine("b");
    tokio::time::sleep(3 * HOUR).await;
    assert_eq!(stage.reason("b"), "SecretMissing");
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains("Secret shoot/account does not exist"), "{message}");
    stage.wire.heal();
    stage.api.create("secrets", &crate::fixture::stage::secret()).unwrap();
    stage.until("both go on", SOON, || stage.machine("a").is_none() && stage.cloud.vms() == 1).await;
}
