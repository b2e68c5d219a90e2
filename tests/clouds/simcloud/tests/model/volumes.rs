use serde_json::{Value, json};
use simcloud::{Method, Request};

use super::{Harness, code, text, wanted};

fn volume(harness: &mut Harness, name: &str, zone: &str) -> String {
    let body = json!({"name": name, "zone": zone, "sizeGib": 10, "tags": {"cluster": "c1"}});
    let answer =
        harness.send(Request::new(Method::Post, "/v1/volumes").with_key(name).with_json(&body).unwrap());
    assert_eq!(answer.status, 201);
    text(&answer.json::<Value>().unwrap()["id"])
}

#[test]
fn volumes_attach_once_and_come_free_again() {
    let mut harness = Harness::new();
    let (first, second) = (harness.vm("a"), harness.vm("b"));
    let id = volume(&mut harness, "data", "sim-1a");
    let attach = format!("/v1/volumes/{id}/attach");
    assert_eq!(code(&harness.call(Method::Post, &attach, &json!({"vm": first}))), (409, "conflict"));
    harness.pass(1000);
    for _ in 0..2 {
        let (status, shown) = harness.call(Method::Post, &attach, &json!({"vm": first}));
        assert_eq!((status, &shown["state"], &shown["attachedTo"]), (200, &json!("in-use"), &json!(first)));
    }
    assert_eq!(code(&harness.call(Method::Post, &attach, &json!({"vm": second}))), (409, "conflict"));
    assert_eq!(
        code(&harness.call(Method::Delete, &format!("/v1/volumes/{id}"), &Value::Null)),
        (409, "conflict")
    );
    let (_, vm) = harness.get(&format!("/v1/vms/{first}"));
    assert_eq!(vm["volumes"], json!([{"id": id, "device": "/dev/vdb", "keep": true}]));
    for _ in 0..2 {
        let (status, shown) = harness.call(Method::Post, &format!("/v1/volumes/{id}/detach"), &Value::Null);
        assert_eq!((status, &shown["state"]), (200, &json!("available")));
    }
    assert_eq!(harness.get(&format!("/v1/vms/{first}")).1["volumes"], json!([]));
    assert_eq!(harness.call(Method::Delete, &format!("/v1/volumes/{id}"), &Value::Null).0, 202);
    assert_eq!(code(&harness.get(&format!("/v1/volumes/{id}"))), (404, "not_found"));
}

#[test]
fn a_vm_takes_its_own_volumes_with_it_and_leaves_the_kept_ones() {
    let mut harness = Harness::new();
    let own = volume(&mut harness, "own", "sim-1a");
    let mut body = wanted("a");
    body["volumes"] = json!([{"sizeGib": 1}, {"sizeGib": 2, "name": "kept", "keep": true}, {"id": own}]);
    let (status, vm) = harness.create("a", &body);
    assert_eq!(status, 201, "{vm}");
    assert_eq!(vm["volumes"].as_array().unwrap().len(), 3);
    assert_eq!(harness.get("/v1/volumes?tag=machine-uid:a").1["volumes"].as_array().unwrap().len(), 2);
    harness.call(Method::Delete, &format!("/v1/vms/{}", text(&vm["id"])), &Value::Null);
    harness.pass(1000);
    let (_, page) = harness.get("/v1/volumes");
    let left: Vec<(&Value, &Value)> = page["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| (&volume["name"], &volume["state"]))
        .collect();
    let free = json!("available");
    assert_eq!(left, [(&json!("own"), &free), (&json!("kept"), &free)]);
}

#[test]
fn a_volume_of_another_zone_or_account_cannot_be_attached() {
    let mut harness = Harness::new();
    let id = volume(&mut harness, "data", "sim-1b");
    let mut body = wanted("a");
    body["volumes"] = json!([{"id": id}]);
    assert_eq!(code(&harness.create("a", &body)), (400, "invalid_parameter"));
    harness.token = "two";
    assert_eq!(code(&harness.create("a", &body)), (404, "not_found"));
    assert_eq!(code(&harness.get(&format!("/v1/volumes/{id}"))), (404, "not_found"));
}
