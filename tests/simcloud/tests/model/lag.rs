use serde_json::{Value, json};
use simcloud::Method;

use super::{World, code, wanted};

fn lagging(millis: u64) -> World {
    let mut world = World::new();
    assert_eq!(world.admin(Method::Put, "/admin/faults", &json!({"readLagMs": millis})).0, 200);
    world
}

#[test]
fn reads_see_a_create_only_after_the_lag() {
    let mut world = lagging(8000);
    let id = world.vm("a");
    world.pass(7999);
    assert_eq!(world.state(&id), "404");
    assert_eq!(world.names("/v1/vms?tag=machine-uid:a"), [""; 0]);
    world.pass(1);
    assert_eq!(world.state(&id), "pending", "it has been running for seven seconds");
    assert_eq!(world.names("/v1/vms?tag=machine-uid:a"), ["a"]);
    world.pass(1000);
    assert_eq!(world.state(&id), "running");
}

#[test]
fn the_key_is_known_at_once() {
    let mut world = lagging(8000);
    let id = world.vm("a");
    assert_eq!(world.create("a", &wanted("a")).1["id"], json!(id));
}

#[test]
fn reads_see_a_delete_late_and_the_end_of_the_record_too() {
    let mut world = lagging(8000);
    let id = world.vm("a");
    world.pass(10_000);
    assert_eq!(world.state(&id), "running");
    world.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    world.pass(7999);
    assert_eq!(world.state(&id), "running");
    world.pass(1);
    assert_eq!(world.state(&id), "stopping");
    world.pass(1000);
    assert_eq!(world.state(&id), "terminated");
    world.pass(29_000);
    let path = format!("/v1/vms/{id}");
    assert_eq!(code(&world.call(Method::Delete, &path, &Value::Null)), (404, "not_found"));
    assert_eq!(world.state(&id), "terminated");
    world.pass(8000);
    assert_eq!(world.state(&id), "404");
    assert_eq!(world.cloud.stats().vms.terminated, 0);
}

#[test]
fn a_list_by_tag_follows_the_tags_that_reads_see() {
    let mut world = lagging(1000);
    let id = world.vm("a");
    world.pass(2000);
    let patch = json!({"set": {"cluster": "c2"}});
    let (_, vm) = world.call(Method::Patch, &format!("/v1/vms/{id}/tags"), &patch);
    assert_eq!(vm["tags"]["cluster"], "c2", "the answer to a change shows it");
    assert_eq!(world.names("/v1/vms?tag=cluster:c1"), ["a"]);
    assert_eq!(world.names("/v1/vms?tag=cluster:c2"), [""; 0]);
    world.pass(1000);
    assert_eq!(world.names("/v1/vms?tag=cluster:c1"), [""; 0]);
    assert_eq!(world.names("/v1/vms?tag=cluster:c2"), ["a"]);
}

#[test]
fn without_the_lag_reads_see_everything_at_once_again() {
    let mut world = lagging(8000);
    world.vm("early");
    world.admin(Method::Put, "/admin/faults", &json!({}));
    world.vm("late");
    assert_eq!(world.names("/v1/vms"), ["late"]);
    world.pass(8000);
    assert_eq!(world.names("/v1/vms"), ["early", "late"]);
}
