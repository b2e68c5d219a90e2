//! The actions that the shipped grants name are those that the driver needs, all of them.

use machinist_sdk::driver::{Code, Failure};
use serde_json::json;

use super::world::{World, granted, request_of, spec_with, with_id};

/// A complete life, of a class with all steps after a launch.
fn live(world: &World) -> Result<(), Failure> {
    let nics = json!([{ "subnetID": "subnet-1", "securityGroupIDs": ["sg-1"], "ipv6PrefixCount": 1 }]);
    let spec = spec_with(json!({ "srcAndDstChecksEnabled": false, "networkInterfaces": nics }));
    let request = request_of(1, &spec);
    let request = with_id(&request, &world.create(&request)?);
    world.initialize(&request)?;
    world.status(&request)?;
    world.reboot(&request)?;
    world.delete(&request)
}

#[test]
fn without_any_one_of_the_granted_actions_a_life_stops() {
    live(&World::new()).unwrap();
    let all = granted();
    assert_eq!(all.len(), 7, "{all:?}");
    for action in all {
        let world = World::new();
        world.take_away(&action);
        let failure = live(&world).map(|()| action.clone()).expect_err(&action);
        assert_eq!(failure.code, Code::FailedPrecondition, "{action}: {}", failure.message);
    }
}
