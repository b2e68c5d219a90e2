//! The interfaces for Cluster API: ids of Nodes, zones, interruptions, resources.

use machinist_sdk::driver::{Class, Code};
use serde_json::{Value, json};

use super::harness::{Harness, class, request, request_of, spec};

#[test]
fn a_node_has_the_drivers_own_id() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    let requests = harness.requests();
    assert_eq!(harness.driver().node_id(&request(1), &vm).unwrap(), vm.provider_id);
    assert_eq!((requests, harness.requests()), (1, 0), "it asks no cloud");
}

#[test]
fn a_placed_class_makes_vms_in_that_zone_and_nowhere_else() {
    let harness = Harness::new();
    let several = Class { zones: vec!["sim-1a".into(), "sim-1c".into()], ..class(&spec()) };
    let placed = harness.driver().place(&several, "sim-1b").unwrap();
    let read: Value = serde_json::from_str(&placed).unwrap();
    let mut expected = spec();
    expected["zone"] = json!("sim-1b");
    assert_eq!(read, expected, "all else stays");
    let vm = harness.create(&request_of(1, &read)).unwrap();
    assert_eq!(vm.failure_domain.as_deref(), Some("sim-1b"));
    let again = harness.driver().place(&class(&read), "sim-1b").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), read);

    harness.faults(json!({ "capacity": [{ "zone": "sim-1b", "type": "*", "limit": 0 }] }));
    assert_eq!(harness.create(&request_of(2, &read)).unwrap_err().code, Code::ResourceExhausted);
}

#[test]
fn a_class_that_is_invalid_cannot_be_placed() {
    let harness = Harness::new();
    for wrong in [json!({ "type": "sim.small" }), json!([]), json!(null)] {
        let error = harness.driver().place(&class(&wrong), "sim-1b").unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
    }
}

#[test]
fn a_vm_may_be_taken_away_if_its_class_says_so() {
    let harness = Harness::new();
    let answer = |spec: &Value| harness.driver().is_interruptible(&class(spec)).map_err(|error| error.code);
    let with = |value: Value| {
        let mut spec = spec();
        spec["interruptible"] = value;
        spec
    };
    assert_eq!(answer(&spec()), Ok(false));
    assert_eq!(answer(&with(json!(null))), Ok(false));
    assert_eq!(answer(&with(json!(true))), Ok(true));
    assert_eq!(answer(&with(json!("yes"))), Err(Code::InvalidArgument));
    assert_eq!(harness.requests(), 0, "it asks no cloud");
}

#[test]
fn a_node_has_the_resources_of_its_type() {
    let harness = Harness::new();
    let known = harness.driver().node_capacity(&class(&spec())).unwrap();
    assert_eq!(known.resources, [("cpu", "2"), ("memory", "4Gi")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(
        (known.architecture.as_deref(), known.operating_system.as_deref()),
        (Some("amd64"), Some("linux"))
    );
    assert_eq!(harness.sent(), ["GET /v1/regions"]);
    let mut unknown = spec();
    unknown["type"] = json!("sim.none");
    assert_eq!(harness.driver().node_capacity(&class(&unknown)).unwrap_err().code, Code::NotFound);
}
