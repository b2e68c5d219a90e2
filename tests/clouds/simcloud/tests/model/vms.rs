use serde_json::{Value, json};
use simcloud::{Method, Request};

use super::{Harness, code, text, wanted};

#[test]
fn a_vm_boots_runs_stops_stays_visible_and_vanishes() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    assert_eq!(harness.state(&id), "pending");
    harness.pass(999);
    assert_eq!(harness.state(&id), "pending");
    harness.pass(1);
    assert_eq!(harness.state(&id), "running");
    for _ in 0..2 {
        assert_eq!(harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null).0, 202);
        assert_eq!(harness.state(&id), "stopping");
    }
    harness.pass(1000);
    assert_eq!(harness.state(&id), "terminated");
    assert_eq!(harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null).0, 202);
    assert_eq!(harness.names("/v1/vms"), ["a"]);
    harness.pass(30_000);
    assert_eq!(harness.state(&id), "404");
    assert_eq!(harness.names("/v1/vms"), [""; 0]);
    assert_eq!(
        code(&harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null)),
        (404, "not_found")
    );
}

#[test]
fn a_vm_that_is_deleted_while_it_boots_never_runs() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    harness.pass(500);
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    harness.pass(500);
    assert_eq!(harness.state(&id), "stopping");
    let kinds: Vec<String> = events(&mut harness, "");
    assert_eq!(kinds, ["reset", "stopping"]);
}

#[test]
fn wrong_values_are_named() {
    let mut harness = Harness::new();
    for (field, value, expected) in [
        ("name", json!(""), (400, "invalid_parameter")),
        ("zone", json!("nowhere"), (400, "invalid_parameter")),
        ("type", json!("huge"), (400, "invalid_parameter")),
        ("image", json!("windows"), (400, "image_not_found")),
        ("userData", json!("%%%"), (400, "invalid_parameter")),
        ("tags", json!({"a:b": "c"}), (400, "invalid_parameter")),
        ("tags", json!({"a": "c".repeat(300)}), (400, "invalid_parameter")),
        ("volumes", json!([{}]), (400, "invalid_parameter")),
        ("volumes", json!([{"id": "vol-1"}]), (404, "not_found")),
        ("surprise", json!(1), (400, "invalid_parameter")),
    ] {
        let mut body = wanted("a");
        body[field] = value;
        let answer = harness.create("key", &body);
        assert_eq!(code(&answer), expected, "{field}: {}", answer.1);
        assert!(answer.1["requestId"].as_str().unwrap().starts_with("req-"));
    }
    assert_eq!(harness.create("key", &wanted("a")).0, 201, "a refused create does not use the key up");
}

#[test]
fn tokens_open_what_they_may() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    let mut check = |token: Option<&str>, method, target: &str, expected: (u16, &str)| {
        let mut request = Request::new(method, target).with_json(&wanted("b")).unwrap();
        request.token = token.map(str::to_owned);
        let answer = harness.cloud.handle(&request, harness.now);
        let body: Value = answer.json().unwrap();
        assert_eq!((answer.status, body["code"].as_str().unwrap_or("none")), expected, "{token:?} {target}");
    };
    let own = format!("/v1/vms/{id}");
    let user_data = format!("{own}/user-data");
    check(None, Method::Get, "/v1/vms", (401, "unauthorized"));
    check(Some("wrong"), Method::Get, "/v1/vms", (401, "unauthorized"));
    check(Some("one-read"), Method::Get, "/v1/vms", (200, "none"));
    check(Some("one-read"), Method::Post, "/v1/vms", (403, "forbidden"));
    check(Some("one-read"), Method::Delete, &own, (403, "forbidden"));
    check(Some("two"), Method::Get, &own, (404, "not_found"));
    check(Some("two"), Method::Delete, &own, (404, "not_found"));
    check(Some("one"), Method::Get, &user_data, (403, "forbidden"));
    check(Some("one"), Method::Get, "/admin/faults", (403, "forbidden"));
    check(Some("sim-admin"), Method::Get, &user_data, (200, "none"));
    check(Some("sim-admin"), Method::Post, "/v1/vms", (403, "forbidden"));
    check(None, Method::Get, "/stats", (200, "none"));
    check(Some("one"), Method::Get, "/v2/vms", (404, "not_found"));
    harness.token = "two";
    assert_eq!(harness.names("/v1/vms"), [""; 0]);
}

#[test]
fn tags_change_what_a_vm_is_found_by() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    harness.vm("b");
    let patch = json!({"set": {"role": "db", "cluster": "c2"}, "remove": ["machine-uid"]});
    let (status, vm) = harness.call(Method::Patch, &format!("/v1/vms/{id}/tags"), &patch);
    assert_eq!((status, &vm["tags"]), (200, &json!({"role": "db", "cluster": "c2"})));
    assert_eq!(harness.names("/v1/vms?tag=cluster:c1"), ["b"]);
    assert_eq!(harness.names("/v1/vms?tag=cluster:c2&tag=role:db"), ["a"]);
    assert_eq!(harness.names("/v1/vms?tag=cluster"), ["a", "b"]);
    assert_eq!(harness.names("/v1/vms?tag=cluster:c2&tag=machine-uid:a"), [""; 0]);
    assert_eq!(harness.names("/v1/vms?name=b&state=pending&zone=sim-1a&region=sim-1"), ["b"]);
    assert_eq!(harness.names("/v1/vms?state=running&state=stopping"), [""; 0]);
    assert_eq!(code(&harness.get("/v1/vms?state=odd")), (400, "invalid_parameter"));
}

#[test]
fn a_vm_that_asked_for_it_shows_whether_it_was_initialized() {
    let mut harness = Harness::new();
    let mut body = wanted("a");
    body["needsInitialize"] = json!(true);
    let (_, vm) = harness.create("a", &body);
    assert_eq!((&vm["initialized"], &vm["sourceDestCheck"]), (&json!(false), &json!(true)));
    let path = format!("/v1/vms/{}/initialize", text(&vm["id"]));
    for _ in 0..2 {
        let (status, vm) = harness.call(Method::Post, &path, &json!({"sourceDestCheck": false}));
        assert_eq!((status, &vm["initialized"], &vm["sourceDestCheck"]), (200, &json!(true), &json!(false)));
    }
    let id = harness.vm("b");
    assert_eq!(harness.get(&format!("/v1/vms/{id}")).1["initialized"], json!(true));
}

#[test]
fn a_reboot_needs_a_running_vm_and_starts_another_boot() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    let path = format!("/v1/vms/{id}/reboot");
    assert_eq!(code(&harness.call(Method::Post, &path, &Value::Null)), (409, "conflict"));
    harness.pass(1000);
    let (status, vm) = harness.call(Method::Post, &path, &Value::Null);
    assert_eq!((status, &vm["bootId"], &vm["state"]), (202, &json!(2), &json!("running")));
    let (_, console) = harness.get(&format!("/v1/vms/{id}/console"));
    assert_eq!(console["output"], "created\nbooted\nrebooted\n");
}

#[test]
fn readers_of_events_learn_each_change_once() {
    let mut harness = Harness::new();
    let (_, start) = harness.admin(Method::Get, "/admin/vms", &Value::Null);
    let id = harness.vm("a");
    harness.pass(1000);
    harness.call(Method::Post, &format!("/v1/vms/{id}/reboot"), &Value::Null);
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    harness.pass(1000);
    let since = format!("?since={}", start["next"]);
    assert_eq!(events(&mut harness, &since), ["created", "running", "rebooted", "stopping", "terminated"]);
    assert_eq!(events(&mut harness, "?since=5"), [""; 0]);
    assert_eq!(events(&mut harness, "?since=77"), ["reset"], "a number of another cloud");
}

#[test]
fn a_killed_vm_is_terminated_at_once_with_a_reason() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    harness.pass(1000);
    assert_eq!(harness.admin(Method::Delete, &format!("/admin/vms/{id}"), &Value::Null).0, 202);
    let (_, vm) = harness.get(&format!("/v1/vms/{id}"));
    assert_eq!((&vm["state"], &vm["stateReason"]), (&json!("terminated"), &json!("killed")));
    assert_eq!(code(&harness.create("a", &wanted("a"))), (410, "idempotency_gone"));
}

#[test]
fn stats_count_calls_states_and_duplicates() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    let mut twin = wanted("a");
    twin["name"] = json!("a-twin");
    harness.create("other key", &twin);
    let stats = harness.cloud.stats();
    assert_eq!((stats.duplicates, stats.duplicates_ever, stats.created), (1, 1, 2));
    assert_eq!((stats.outcome("vm.create", "ok"), stats.vms.pending), (2, 2));
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    let stats = harness.cloud.stats();
    assert_eq!((stats.duplicates, stats.duplicates_ever, stats.vms.live()), (0, 1, 1));
    harness.pass(60_000);
    let stats = harness.cloud.stats();
    assert_eq!((stats.terminated, stats.vms.terminated, stats.vms.running), (1, 0, 1));
    harness.cloud.reset_stats();
    let stats = harness.cloud.stats();
    assert_eq!((stats.created, stats.duplicates_ever, stats.calls.len(), stats.vms.running), (0, 0, 0, 1));
}

fn events(harness: &mut Harness, query: &str) -> Vec<String> {
    let (status, changes) = harness.admin(Method::Get, &format!("/admin/vms{query}"), &Value::Null);
    assert_eq!(status, 200, "{changes}");
    changes["events"].as_array().unwrap().iter().map(|event| text(&event["kind"])).collect()
}
