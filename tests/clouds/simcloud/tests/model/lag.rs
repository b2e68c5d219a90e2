use serde_json::{Value, json};
use simcloud::Method;

use super::{Harness, code, wanted};

fn lagging(millis: u64) -> Harness {
    let mut harness = Harness::new();
    assert_eq!(harness.admin(Method::Put, "/admin/faults", &json!({"readLagMs": millis})).0, 200);
    harness
}

#[test]
fn reads_see_a_create_only_after_the_lag() {
    let mut harness = lagging(8000);
    let id = harness.vm("a");
    harness.pass(7999);
    assert_eq!(harness.state(&id), "404");
    assert_eq!(harness.names("/v1/vms?tag=machine-uid:a"), [""; 0]);
    harness.pass(1);
    assert_eq!(harness.state(&id), "pending", "it has been running for seven seconds");
    assert_eq!(harness.names("/v1/vms?tag=machine-uid:a"), ["a"]);
    harness.pass(1000);
    assert_eq!(harness.state(&id), "running");
}

#[test]
fn the_key_is_known_at_once() {
    let mut harness = lagging(8000);
    let id = harness.vm("a");
    assert_eq!(harness.create("a", &wanted("a")).1["id"], json!(id));
}

#[test]
fn reads_see_a_delete_late_and_the_end_of_the_record_too() {
    let mut harness = lagging(8000);
    let id = harness.vm("a");
    harness.pass(10_000);
    assert_eq!(harness.state(&id), "running");
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    harness.pass(7999);
    assert_eq!(harness.state(&id), "running");
    harness.pass(1);
    assert_eq!(harness.state(&id), "stopping");
    harness.pass(1000);
    assert_eq!(harness.state(&id), "terminated");
    harness.pass(29_000);
    let path = format!("/v1/vms/{id}");
    assert_eq!(code(&harness.call(Method::Delete, &path, &Value::Null)), (404, "not_found"));
    assert_eq!(harness.state(&id), "terminated");
    harness.pass(8000);
    assert_eq!(harness.state(&id), "404");
    assert_eq!(harness.cloud.stats().vms.terminated, 0);
}

#[test]
fn a_list_by_tag_follows_the_tags_that_reads_see() {
    let mut harness = lagging(1000);
    let id = harness.vm("a");
    harness.pass(2000);
    let patch = json!({"set": {"cluster": "c2"}});
    let (_, vm) = harness.call(Method::Patch, &format!("/v1/vms/{id}/tags"), &patch);
    assert_eq!(vm["tags"]["cluster"], "c2", "the answer to a change shows it");
    assert_eq!(harness.names("/v1/vms?tag=cluster:c1"), ["a"]);
    assert_eq!(harness.names("/v1/vms?tag=cluster:c2"), [""; 0]);
    harness.pass(1000);
    assert_eq!(harness.names("/v1/vms?tag=cluster:c1"), [""; 0]);
    assert_eq!(harness.names("/v1/vms?tag=cluster:c2"), ["a"]);
}

#[test]
fn without_the_lag_reads_see_everything_at_once_again() {
    let mut harness = lagging(8000);
    harness.vm("early");
    harness.admin(Method::Put, "/admin/faults", &json!({}));
    harness.vm("late");
    assert_eq!(harness.names("/v1/vms"), ["late"]);
    harness.pass(8000);
    assert_eq!(harness.names("/v1/vms"), ["early", "late"]);
}
