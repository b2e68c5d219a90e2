//! Zones that a create tries one after the other.

use machinist_sdk::driver::{Code, Creation, NoAnswerReason, Progress, Request};
use serde_json::json;

use super::harness::{Fault, Harness, no_answer, request_of, spec_with, state_of, with_state};
use crate::class::{spec, zone};

const FULL: &str = "InsufficientInstanceCapacity";

/// A class with three zones, of which the host names two and one that has no subnet.
fn three_zones() -> Request {
    let subnets = json!({ "eu-west-1b": "subnet-b", "eu-west-1c": "subnet-c" });
    let mut request = request_of(1, &spec_with(json!({ "subnetsByZone": subnets })));
    request.class.zones = ["eu-west-1c", "eu-west-1x", "eu-west-1b"].map(str::to_owned).to_vec();
    request
}

fn next(harness: &Harness, request: &Request) -> Progress {
    match harness.begin(request).unwrap() {
        Creation::InProgress(progress) => progress,
        Creation::Created(vm) => panic!("created {}", vm.provider_id),
    }
}

/// Zone, subnet and token of a launch.
fn launch(harness: &Harness, index: usize) -> [Option<String>; 3] {
    let form = harness.live()[index].form.clone();
    ["Placement.AvailabilityZone", "NetworkInterface.1.SubnetId", "ClientToken"]
        .map(|name| form.get(name).cloned())
}

#[test]
fn a_zone_without_capacity_is_followed_by_the_next_with_a_token_of_its_own() {
    let harness = Harness::new();
    let first = three_zones();
    harness.refuse("RunInstances", 500, FULL);
    let progress = next(&harness, &first);
    assert!(progress.message.ends_with("zone eu-west-1c is tried next"), "{}", progress.message);
    assert_eq!(progress.ask_again_ms, 0);
    assert!(harness.live().is_empty(), "the host stores the zone before anything is launched there");

    let second = with_state(&first, Some(&progress.resume_token));
    harness.refuse("RunInstances", 400, FULL);
    let progress = next(&harness, &second);
    let third = with_state(&first, Some(&progress.resume_token));
    let vm = harness.create(&third).unwrap();
    let [zone, subnet, token] = launch(&harness, 0);
    assert_eq!((zone.as_deref(), subnet.as_deref()), (Some("eu-west-1b"), Some("subnet-b")));
    assert_eq!(token.unwrap(), format!("{}-2", first.idempotency_key));
    let again = with_state(&first, vm.last_known_state.as_ref());
    assert_eq!(harness.create(&again).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn a_lost_answer_stays_in_its_zone() {
    let harness = Harness::new();
    let first = three_zones();
    harness.refuse("RunInstances", 500, FULL);
    let second = with_state(&first, Some(&next(&harness, &first).resume_token));
    harness.fault("RunInstances", Fault::After(no_answer(NoAnswerReason::TimedOut)));
    let error = harness.begin(&second).unwrap_err();
    assert!(error.may_have_happened);
    // Whatever the zone says then, the instance of the lost answer is the machine's.
    let state = error.into_record().last_known_state;
    let third = with_state(&first, state.as_ref());
    assert_eq!(state_of(state.as_ref()).zone.as_deref(), Some("eu-west-1c"));
    harness.create(&third).unwrap();
    assert_eq!(harness.live().len(), 1);
    // A host that died before it stored the answer repeats the call with the state before.
    harness.create(&second).unwrap();
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn a_certain_no_of_the_last_zone_is_the_answer_and_the_first_is_next() {
    let harness = Harness::new();
    let mut request = three_zones();
    for _ in 0..2 {
        harness.refuse("RunInstances", 500, FULL);
        request = with_state(&request, Some(&next(&harness, &request).resume_token));
    }
    harness.refuse("RunInstances", 500, FULL);
    let error = harness.begin(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::ResourceExhausted, false));
    let state = error.into_record().last_known_state;
    assert_eq!((state_of(state.as_ref()).zone, state_of(state.as_ref()).attempt), (None, 3));
    harness.create(&with_state(&request, state.as_ref())).unwrap();
    assert_eq!(launch(&harness, 0)[1].as_deref(), Some("subnet-1"));
}

#[test]
fn no_other_zone_is_tried_where_it_would_not_help() {
    for (status, code) in
        [(400, "VcpuLimitExceeded"), (403, "UnauthorizedOperation"), (503, "RequestLimitExceeded")]
    {
        let harness = Harness::new();
        harness.refuse("RunInstances", status, code);
        let error = harness.begin(&three_zones()).unwrap_err();
        assert_eq!(state_of(error.last_known_state.as_ref()).zone, None, "{code}");
    }
    // A class without other zones.
    let harness = Harness::new();
    harness.refuse("RunInstances", 500, FULL);
    let alone = request_of(1, &spec_with(json!({})));
    assert_eq!(harness.begin(&alone).unwrap_err().code, Code::ResourceExhausted);
}

#[test]
fn a_zone_that_the_class_no_longer_names_makes_no_second_instance() {
    let harness = Harness::new();
    let first = three_zones();
    harness.refuse("RunInstances", 500, FULL);
    let mut second = with_state(&first, Some(&next(&harness, &first).resume_token));
    harness.fault("RunInstances", Fault::After(no_answer(NoAnswerReason::TimedOut)));
    harness.begin(&second).unwrap_err();
    second.class.zones.clear();
    harness.create(&second).unwrap();
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn zones_without_a_subnet_are_named_when_the_class_is_checked() {
    let class = three_zones().class;
    let (spec, _) = spec::read(&class).unwrap();
    let warning = zone::without_subnet(&spec, &class.zones).unwrap();
    assert!(warning.contains("eu-west-1x") && !warning.contains("eu-west-1c"), "{warning}");
    assert_eq!(zone::without_subnet(&spec, &class.zones[..1]), None);
}
