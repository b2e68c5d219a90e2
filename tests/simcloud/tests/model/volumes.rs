use serde_json::{Value, json};
use simcloud::{Method, Request};

use super::{World, code, text, wanted};

fn volume(world: &mut World, name: &str, zone: &str) -> String {
    let body = json!({"name": name, "zone": zone, "sizeGib": 10, "tags": {"cluster": "c1"}});
    let answer =
        world.send(Request::new(Method::Post, "/v1/volumes").with_key(name).with_json(&body).unwrap());
    assert_eq!(answer.status, 201);
    text(&answer.json::<Value>().unwrap()["id"])
}

#[test]
fn volumes_attach_once_and_come_free_again() {
    let mut world = World::new();
    let (first, second) = (world.vm("a"), world.vm("b"));
    let id = volume(&mut world, "data", "sim-1a");
    let attach = format!("/v1/volumes/{id}/attach");
    assert_eq!(code(&world.call(Method::Post, &attach, &json!({"vm": first}))), (409, "conflict"));
    world.pass(1000);
    for _ in 0..2 {
        let (status, shown) = world.call(Method::Post, &attach, &json!({"vm": first}));
        assert_eq!((status, &shown["state"], &shown["attachedTo"]), (200, &json!("in-use"), &json!(first)));
    }
    assert_eq!(code(&world.call(Method::Post, &attach, &json!({"vm": second}))), (409, "conflict"));
    assert_eq!(
        code(&world.call(Method::Delete, &format!("/v1/volumes/{id}"), &Value::Null)),
        (409, "conflict")
    );
    let (_, vm) = world.get(&format!("/v1/vms/{first}"));
    assert_eq!(vm["volumes"], json!([{"id": id, "device": "/dev/vdb", "keep": true}]));
    for _ in 0..2 {
        let (status, shown) = world.call(Method::Post, &format!("/v1/volumes/{id}/detach"), &Value::Null);
        assert_eq!((status, &shown["state"]), (200, &json!("available")));
    }
    assert_eq!(world.get(&format!("/v1/vms/{first}")).1["volumes"], json!([]));
    assert_eq!(world.call(Method::Delete, &format!("/v1/volumes/{id}"), &Value::Null).0, 202);
    assert_eq!(code(&world.get(&format!("/v1/volumes/{id}"))), (404, "not_found"));
}

#[test]
fn a_vm_takes_its_own_volumes_with_it_and_leaves_the_kept_ones() {
    let mut world = World::new();
    let own = volume(&mut world, "own", "sim-1a");
    let mut body = wanted("a");
    body["volumes"] = json!([{"sizeGib": 1}, {"sizeGib": 2, "name": "kept", "keep": true}, {"id": own}]);
    let (status, vm) = world.create("a", &body);
    assert_eq!(status, 201, "{vm}");
    assert_eq!(vm["volumes"].as_array().unwrap().len(), 3);
    assert_eq!(world.get("/v1/volumes?tag=machine-uid:a").1["volumes"].as_array().unwrap().len(), 2);
    world.call(Method::Delete, &format!("/v1/vms/{}", text(&vm["id"])), &Value::Null);
    world.pass(1000);
    let (_, page) = world.get("/v1/volumes");
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
    let mut world = World::new();
    let id = volume(&mut world, "data", "sim-1b");
    let mut body = wanted("a");
    body["volumes"] = json!([{"id": id}]);
    assert_eq!(code(&world.create("a", &body)), (400, "invalid_parameter"));
    world.token = "two";
    assert_eq!(code(&world.create("a", &body)), (404, "not_found"));
    assert_eq!(code(&world.get(&format!("/v1/volumes/{id}"))), (404, "not_found"));
}
