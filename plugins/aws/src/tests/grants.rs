//! The actions that the shipped grants name are those that the driver needs, all of them.

use machinist_sdk::driver::{Code, Failure};
use serde_json::json;

use super::harness::{Harness, granted, request_of, spec_with, with_id};

/// A complete life, of a class with all steps after a launch.
fn live(harness: &Harness) -> Result<(), Failure> {
    let nics = json!([{ "subnetID": "subnet-1", "securityGroupIDs": ["sg-1"], "ipv6PrefixCount": 1 }]);
    let spec = spec_with(json!({ "srcAndDstChecksEnabled": false, "networkInterfaces": nics }));
    let request = request_of(1, &spec);
    let request = with_id(&request, &harness.create(&request)?);
    harness.initialize(&request)?;
    harness.status(&request)?;
    harness.reboot(&request)?;
    harness.node_capacity(&spec)?;
    harness.delete(&request)
}

#[test]
fn without_any_one_of_the_granted_actions_a_life_stops() {
    live(&Harness::new()).unwrap();
    let all = granted();
    assert_eq!(all.len(), 8, "{all:?}");
    for action in all {
        let harness = Harness::new();
        harness.take_away(&action);
        let failure = live(&harness).map(|()| action.clone()).expect_err(&action);
        assert_eq!(failure.code, Code::FailedPrecondition, "{action}: {}", failure.message);
    }
}
