use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use simcloud::{Method, Request};

use super::{Harness, code, text, wanted};

#[test]
fn the_same_key_and_body_give_the_same_vm() {
    let mut harness = Harness::new();
    let (status, first) = harness.create("key", &wanted("a"));
    assert_eq!(status, 201);
    harness.pass(1000);
    let (status, again) = harness.create("key", &wanted("a"));
    assert_eq!((status, &again["id"], &again["state"]), (200, &first["id"], &json!("running")));
    assert_eq!(harness.cloud.stats().created, 1);
}

#[test]
fn an_absent_default_is_the_same_body() {
    let mut harness = Harness::new();
    let (_, first) = harness.create("key", &wanted("a"));
    let mut spelled_out = wanted("a");
    spelled_out["volumes"] = json!([]);
    spelled_out["needsInitialize"] = json!(false);
    assert_eq!(harness.create("key", &spelled_out).1["id"], first["id"]);
}

#[test]
fn the_same_key_with_another_body_is_refused_without_naming_the_vm() {
    let mut harness = Harness::new();
    let (_, first) = harness.create("key", &wanted("a"));
    let mut other = wanted("a");
    other["userData"] = json!("b3RoZXI=");
    let answer = harness.create("key", &other);
    assert_eq!(code(&answer), (409, "idempotency_mismatch"));
    assert!(!answer.1.to_string().contains(&text(&first["id"])));
}

#[test]
fn the_key_of_a_deleted_vm_is_gone_for_ever() {
    let mut harness = Harness::new();
    let id = harness.vm("a");
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    for millis in [0, 1000, 100_000, 10_000_000] {
        harness.pass(millis);
        assert_eq!(code(&harness.create("a", &wanted("a"))), (410, "idempotency_gone"));
    }
}

#[test]
fn accounts_do_not_share_keys_and_no_key_means_no_promise() {
    let mut harness = Harness::new();
    harness.vm("a");
    harness.token = "two";
    assert_eq!(harness.create("a", &wanted("a")).0, 201);
    for _ in 0..2 {
        let request = Request::new(Method::Post, "/v1/vms").with_json(&wanted("a")).unwrap();
        assert_eq!(harness.send(request).status, 201);
    }
    assert_eq!(harness.create("", &wanted("a")).0, 400);
    assert_eq!(harness.create(&"k".repeat(200), &wanted("a")).0, 400);
}

#[test]
fn a_time_out_after_the_commit_leaves_one_vm_under_the_key() {
    let mut harness = Harness::new();
    let faults = json!({"rules": [{"match": {"nth": 1}, "effect": {"type": "timeout", "holdMs": 5000}}]});
    assert_eq!(harness.admin(Method::Put, "/admin/faults", &faults).0, 200);
    let request = || Request::new(Method::Post, "/v1/vms").with_key("a").with_json(&wanted("a")).unwrap();
    let lost = harness.send(request());
    assert_eq!(lost.delivery, simcloud::Delivery::Never);
    assert_eq!(lost.delay, std::time::Duration::from_secs(5));
    assert_eq!(harness.send(request()).status, 200);
    assert_eq!(harness.cloud.stats().created, 1);
    assert_eq!(harness.cloud.stats().outcome("vm.create", "timeout"), 1);
}

/// A request of a careless caller with two keys and three names.
#[derive(Clone, Debug)]
enum Act {
    Create { key: u8, name: u8 },
    Delete { name: u8 },
    Pass { millis: u64 },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..3u8, 0..3u8).prop_map(|(key, name)| Act::Create { key, name }),
        1 => (0..3u8).prop_map(|name| Act::Delete { name }),
        2 => (0..40_000u64).prop_map(|millis| Act::Pass { millis }),
    ]
}

proptest! {
    #[test]
    fn a_key_never_makes_two_vms(acts in prop::collection::vec(act(), 1..60), unlucky in 0.0..1.0f64) {
        let mut harness = Harness::new();
        let rule = |effect: Value| json!({"match": {"probability": unlucky / 3.0}, "effect": effect});
        let faults = json!({"readLagMs": 5000, "rules": [
            rule(json!({"type": "timeout"})),
            rule(json!({"type": "error", "code": "internal", "afterCommit": true})),
            rule(json!({"type": "garbage"})),
        ]});
        prop_assert_eq!(harness.admin(Method::Put, "/admin/faults", &faults).0, 200);
        let mut made: BTreeMap<u8, BTreeSet<String>> = BTreeMap::new();
        for act in acts {
            let before: BTreeSet<String> = harness.cloud.vms().map(|vm| vm.id.clone()).collect();
            match act {
                Act::Create { key, name } => {
                    let body = wanted(&format!("vm-{name}"));
                    let request = Request::new(Method::Post, "/v1/vms").with_key(&format!("key-{key}"));
                    harness.send(request.with_json(&body).unwrap());
                    let after = harness.cloud.vms().map(|vm| vm.id.clone());
                    made.entry(key).or_default().extend(after.filter(|id| !before.contains(id)));
                }
                Act::Delete { name } => {
                    let name = format!("vm-{name}");
                    let id = harness.cloud.vms().find(|vm| vm.name == name).map(|vm| vm.id.clone());
                    if let Some(id) = id {
                        harness.send(Request::new(Method::Delete, &format!("/v1/vms/{id}")));
                    }
                }
                Act::Pass { millis } => harness.pass(millis),
            }
        }
        for (key, vms) in made {
            prop_assert!(vms.len() <= 1, "key {} made {:?}", key, vms);
        }
    }
}
