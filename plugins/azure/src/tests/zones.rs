//! Zones that a create tries one after the other.

use azure_cloud::{Effect, Kind, Options, Rule};
use machinist_sdk::driver::{Code, Creation, Request};
use serde_json::{Value, json};

use super::harness::{Stage, class, forgotten, request, request_of, spec, spec_with};
use crate::AzureDriver;
use crate::arm::pending::Pending;

/// A class in zone 1; the host names two others, and one that is none.
fn three_zones(spec: &Value) -> Request {
    let mut request = request_of(1, spec);
    request.class.zones = ["2", "westeurope-1", "1", "3"].map(str::to_owned).to_vec();
    request
}

/// Azure with the class's size of VMs in these zones alone.
fn offering(zones: &[&str]) -> Stage {
    let mut options = Options::default();
    options.sizes[0].zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
    Stage::new(options)
}

fn refusal(status: u16, code: &str, message: &str) -> Effect {
    Effect::Refuse { status, code: code.to_owned(), message: message.to_owned() }
}

fn noted_zone(request: &Request) -> Option<i32> {
    Pending::parse(request.machine.last_known_state.as_deref()).zone
}

/// Calls once, and stores the zone that the driver names.
fn next(world: &Stage, request: &mut Request, zone: i32) {
    let Creation::InProgress(progress) = world.create(request).unwrap() else { panic!("in progress") };
    assert!(progress.message.ends_with(&format!("zone {zone} is tried next")), "{}", progress.message);
    assert_eq!(progress.ask_again_ms, 0);
    request.machine.last_known_state = Some(progress.resume_token);
    assert_eq!(noted_zone(request), Some(zone));
}

/// Calls once, stores what the failure says, and returns its code.
fn refused(world: &Stage, request: &mut Request) -> Code {
    let failure = world.create(request).unwrap_err();
    if let Some(state) = &failure.last_known_state {
        request.machine.last_known_state = Some(state.clone());
    }
    failure.code
}

#[test]
fn a_zone_without_capacity_is_followed_by_the_next_in_a_call_of_its_own() {
    let world = offering(&["3"]);
    let mut request = three_zones(&spec());
    next(&world, &mut request, 2);
    assert!(world.vms().is_empty(), "the host stores the zone before anything is ordered there");
    next(&world, &mut request, 3);
    let vm = world.create_to_end(&mut request).unwrap();
    assert_eq!(vm.failure_domain.as_deref(), Some("3"));
    assert_eq!(world.cloud().vms_created(), 1);
    // Without id and state, and with a class of one zone, it is found in any zone.
    let mut other = forgotten(&request);
    other.class.zones.clear();
    assert_eq!(world.status(&other).unwrap().provider_id, vm.provider_id);
    world.delete_to_end(&mut other).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn a_lost_answer_stays_in_its_zone_and_makes_one_vm() {
    for (offered, zone) in [(["1", "2"], "1"), (["2", "3"], "2")] {
        let world = offering(&offered);
        let mut request = three_zones(&spec());
        if zone == "2" {
            next(&world, &mut request, 2);
        }
        let before = request.clone();
        world.fault(Rule::once("PUT", "virtualMachines", Effect::LoseAnswer));
        let failure = world.create(&request).unwrap_err();
        assert!(failure.may_have_happened, "{failure}");
        request.machine.last_known_state.clone_from(&failure.last_known_state);
        assert_eq!(
            noted_zone(&request).map(|zone| zone.to_string()),
            Some(zone.to_owned()).filter(|zone| zone != "1")
        );
        // Whatever capacity there is then, and whatever the host has stored, that VM is the Machine's.
        world.fault(Rule::always("PUT", "virtualMachines", refusal(409, "ZonalAllocationFailed", "no room")));
        for mut again in [request.clone(), before.clone(), forgotten(&request)] {
            assert_eq!(world.create_to_end(&mut again).unwrap().failure_domain.as_deref(), Some(zone));
        }
        assert_eq!(world.cloud().vms_created(), 1, "{zone}");
    }
}

#[test]
fn a_request_that_was_lost_is_repeated_in_its_zone() {
    let world = offering(&["2", "3"]);
    let mut request = three_zones(&spec());
    next(&world, &mut request, 2);
    world.fault(Rule::once("PUT", "virtualMachines", Effect::LoseRequest));
    refused(&world, &mut request);
    assert_eq!(world.create_to_end(&mut request).unwrap().failure_domain.as_deref(), Some("2"));
    assert_eq!(world.cloud().vms_created(), 1);
}

#[test]
fn a_certain_no_of_the_last_zone_is_the_answer_and_the_first_is_next() {
    let world = offering(&[]);
    let mut request = three_zones(&spec());
    next(&world, &mut request, 2);
    next(&world, &mut request, 3);
    let failure = world.create(&request).unwrap_err();
    assert_eq!(
        (failure.code, failure.may_have_happened, failure.terminal),
        (Code::ResourceExhausted, false, false)
    );
    request.machine.last_known_state.clone_from(&failure.last_known_state);
    assert_eq!(noted_zone(&request), None);
    world.pass(1_000);
    assert_eq!(world.resources(), Vec::<String>::new());
    next(&world, &mut request, 2);
}

#[test]
fn a_vm_that_fails_without_capacity_is_removed_before_the_next_zone_has_one() {
    for is_deletion_lost in [false, true] {
        let world = Stage::plain();
        let failing = Effect::FailLater { code: "ZonalAllocationFailed".into(), message: "no room".into() };
        world.fault(Rule::once("PUT", "virtualMachines", failing));
        if is_deletion_lost {
            world.fault(Rule::once("DELETE", "virtualMachines", Effect::LoseRequest));
        }
        let mut request = three_zones(&spec());
        let vm = world.create_to_end(&mut request).unwrap();
        assert_eq!(vm.failure_domain.as_deref(), Some("2"), "{is_deletion_lost}");
        assert_eq!((world.vms(), world.cloud().vms_created()), (vec!["machine-1".to_owned()], 2));
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new());
    }
}

#[test]
fn disks_that_exist_before_their_vm_follow_it_into_the_next_zone() {
    let image = "/subscriptions/sub-1/resourceGroups/nodes/providers/Microsoft.Compute/images/data";
    let disks = json!([
        { "lun": 1, "name": "data", "diskSizeGB": 10, "storageAccountType": "StandardSSD_LRS", "imageRef": { "id": image } },
    ]);
    let world = offering(&["2"]);
    let mut request = three_zones(&spec_with("/properties/storageProfile/dataDisks", disks));
    assert_eq!(world.create_to_end(&mut request).unwrap().failure_domain.as_deref(), Some("2"));
    let zones: Vec<Vec<String>> = {
        let cloud = world.cloud();
        let disks = cloud.resources().filter(|resource| resource.kind == Kind::Disk);
        disks.map(|disk| disk.zones.clone()).collect()
    };
    assert_eq!(zones, [["2"], ["2"]]);
    assert_eq!(world.cloud().vms_created(), 1);
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn no_other_zone_is_tried_where_it_would_not_help() {
    for effect in [
        refusal(409, "OperationNotAllowed", "exceeding approved Total Regional Cores quota"),
        refusal(409, "SubnetIsFull", "no addresses"),
        refusal(503, "ServerBusy", "later"),
        Effect::Throttle { retry_after_s: 1 },
    ] {
        let world = Stage::plain();
        world.fault(Rule::once("PUT", "virtualMachines", effect.clone()));
        let mut request = three_zones(&spec());
        refused(&world, &mut request);
        assert_eq!(noted_zone(&request), None, "{effect:?}");
        assert_eq!(world.create_to_end(&mut request).unwrap().failure_domain.as_deref(), Some("1"));
    }
    // A class without other zones.
    assert_eq!(refused(&offering(&["2"]), &mut request(1)), Code::ResourceExhausted);
}

#[test]
fn a_zone_that_the_region_lacks_leads_back_to_the_class_s_own() {
    let mut options = Options { zones: vec!["1".to_owned()], ..Options::default() };
    options.sizes[0].zones = vec!["2".to_owned()];
    let world = Stage::new(options);
    let mut request = three_zones(&spec());
    next(&world, &mut request, 2);
    let failure = world.create(&request).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, false), "{failure}");
    request.machine.last_known_state.clone_from(&failure.last_known_state);
    assert_eq!(noted_zone(&request), None);
}

#[test]
fn a_zone_that_the_class_no_longer_names_makes_no_second_vm() {
    let world = offering(&["2", "3"]);
    let mut request = three_zones(&spec());
    next(&world, &mut request, 2);
    world.fault(Rule::once("PUT", "virtualMachines", Effect::LoseAnswer));
    refused(&world, &mut request);
    request.class.zones.clear();
    assert_eq!(world.create_to_end(&mut request).unwrap().failure_domain.as_deref(), Some("2"));
    assert_eq!(world.cloud().vms_created(), 1);
}

#[test]
fn zones_that_are_never_tried_are_named_when_the_class_is_checked() {
    let world = Stage::plain();
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    let warnings = driver.validate_class(&three_zones(&spec()).class).unwrap();
    assert!(warnings.iter().any(|warning| warning.contains(": westeurope-1: ")), "{warnings:?}");
    assert!(driver.validate_class(&class(&spec())).unwrap().is_empty());
    let mut set = spec();
    set["properties"]["zone"] = Value::Null;
    set["properties"]["availabilitySet"] = json!({ "id": "/x" });
    let warnings = driver.validate_class(&three_zones(&set).class).unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("2, westeurope-1, 1, 3")), "{warnings:?}");
}
