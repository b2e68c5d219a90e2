//! The steps after a launch.

use machinist_sdk::driver::{Code, Request};
use serde_json::{Value, json};

use super::world::{World, request_of, spec_with, with_id};
use crate::instance::initialize::is_offered;

fn forwarding() -> Value {
    spec_with(json!({ "srcAndDstChecksEnabled": false }))
}

fn interfaces(entries: Value) -> Value {
    let Value::Array(mut entries) = entries else { panic!("a list") };
    for entry in &mut entries {
        entry["subnetID"] = json!("subnet-1");
        entry["securityGroupIDs"] = json!(["sg-1"]);
    }
    json!(entries)
}

fn made(world: &World, spec: &Value) -> Request {
    let request = request_of(1, spec);
    let vm = world.create(&request).unwrap();
    world.sent();
    with_id(&request, &vm)
}

#[test]
fn a_class_that_asks_for_nothing_is_not_initialized() {
    for spec in [
        json!({}),
        json!({ "srcAndDstChecksEnabled": true }),
        json!({ "srcAndDstChecksEnabled": null }),
        json!({ "networkInterfaces": interfaces(json!([{ "ipv6PrefixCount": 0 }])) }),
    ] {
        let error = is_offered(&request_of(1, &spec_with(spec.clone())), None).unwrap_err();
        assert_eq!(error.code, Code::Unimplemented, "{spec}");
    }
    assert!(is_offered(&request_of(1, &forwarding()), None).is_ok());
    let prefixes = json!({ "networkInterfaces": interfaces(json!([{ "ipv6PrefixCount": 1 }])) });
    assert!(is_offered(&request_of(1, &spec_with(prefixes)), None).is_ok());
}

#[test]
fn every_interface_but_fabrics_stops_checking_once() {
    let world = World::new();
    let nics = interfaces(json!([{}, { "interfaceType": "efa" }, {}, { "interfaceType": "efa-only" }]));
    let mut spec = forwarding();
    spec["networkInterfaces"] = nics;
    let request = made(&world, &spec);
    let due = world.status(&request).unwrap_err();
    assert_eq!(
        (due.code, due.provider_id.as_ref()),
        (Code::Uninitialized, request.machine.provider_id.as_ref())
    );
    assert_eq!(due.node_name.as_deref(), Some("ip-10-0-0-1.ec2.internal"));
    assert!(due.message.contains("eni-1-1, eni-1-3"), "{}", due.message);
    world.sent();

    let vm = world.initialize(&request).unwrap();
    assert_eq!(
        world.sent(),
        ["DescribeInstances", "ModifyNetworkInterfaceAttribute", "ModifyNetworkInterfaceAttribute"]
    );
    assert_eq!(Some(vm.provider_id), request.machine.provider_id);
    let checks: Vec<bool> = world.live()[0].nics.iter().map(|nic| nic.checks).collect();
    assert_eq!(checks, [false, true, false, true]);
    world.status(&request).unwrap();
    world.initialize(&request).unwrap();
    assert_eq!(world.sent(), ["DescribeInstances"; 2]);
}

#[test]
fn prefixes_are_assigned_by_card_and_device_and_never_taken_away() {
    let world = World::new();
    let nics = interfaces(json!([
        { "ipv6PrefixCount": 2 },
        { "networkCardIndex": 1, "deviceIndex": 1, "ipv6PrefixCount": 1 },
        { "networkCardIndex": 2, "deviceIndex": 1, "ipv6PrefixCount": 3 },
        { "networkCardIndex": 3, "deviceIndex": 1 },
    ]));
    let request = made(&world, &spec_with(json!({ "networkInterfaces": nics })));
    world.change(0, |vm| {
        vm.nics[0].prefixes = 1;
        vm.nics[1].prefixes = 4;
        // EC2 lists them in an order of its own.
        vm.nics.reverse();
    });
    assert_eq!(world.status(&request).unwrap_err().code, Code::Uninitialized);
    world.initialize(&request).unwrap();
    let mut prefixes: Vec<(String, i32)> =
        world.live()[0].nics.iter().map(|nic| (nic.id.clone(), nic.prefixes)).collect();
    prefixes.sort();
    let expected = [("eni-1-1", 2), ("eni-1-2", 4), ("eni-1-3", 3), ("eni-1-4", 0)];
    assert_eq!(prefixes, expected.map(|(id, count)| (id.to_owned(), count)));
    world.status(&request).unwrap();
}

#[test]
fn an_interface_that_is_not_attached_is_named() {
    let world = World::new();
    let nics = interfaces(json!([{}, { "ipv6PrefixCount": 1 }]));
    let request = made(&world, &spec_with(json!({ "networkInterfaces": nics })));
    world.change(0, |vm| {
        vm.nics.pop();
    });
    let error = world.initialize(&request).unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition);
    assert!(error.message.contains("network card 0, device 1"), "{}", error.message);
}

#[test]
fn a_refusal_is_told_with_the_machine_and_the_other_interfaces_are_done() {
    let world = World::new();
    let mut spec = forwarding();
    spec["networkInterfaces"] = interfaces(json!([{}, {}]));
    let request = made(&world, &spec);
    world.refuse("ModifyNetworkInterfaceAttribute", 403, "UnauthorizedOperation");
    let error = world.initialize(&request).unwrap_err();
    assert_eq!(
        (error.code, error.provider_id.as_ref()),
        (Code::PermissionDenied, request.machine.provider_id.as_ref())
    );
    assert!(error.message.contains("ec2:ModifyNetworkInterfaceAttribute"), "{}", error.message);
    let checks: Vec<bool> = world.live()[0].nics.iter().map(|nic| nic.checks).collect();
    assert_eq!(checks, [true, false]);
    world.initialize(&request).unwrap();
}

#[test]
fn right_after_the_launch_an_instance_that_is_not_shown_is_not_gone() {
    let world = World::new();
    world.set(|model| model.lags = true);
    let request = made(&world, &forwarding());
    let error = world.initialize(&request).unwrap_err();
    assert_eq!((error.code, error.retry_after_ms), (Code::Unavailable, Some(2_000)));
    world.set(|model| model.lags = false);
    world.initialize(&request).unwrap();
}

#[test]
fn an_instance_that_is_terminated_cannot_be_initialized() {
    let world = World::new();
    let request = made(&world, &forwarding());
    world.change(0, |vm| vm.state = "terminated");
    assert_eq!(world.initialize(&request).unwrap_err().code, Code::NotFound);
    let nobody = request_of(2, &forwarding());
    assert_eq!(world.initialize(&nobody).unwrap_err().code, Code::NotFound);
}
