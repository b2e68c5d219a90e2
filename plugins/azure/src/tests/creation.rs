//! From a request to exactly one VM.

use azure_cloud::{Effect, Kind, Options, Rule};
use machinist_sdk::driver::{Code, Creation, Failure};
use serde_json::{Value, json};

use super::harness::{Stage, USER_DATA, forgotten, request, request_of, spec_with};
use crate::arm::pending::Pending;

#[test]
fn a_create_orders_a_vm_and_the_next_calls_ask_how_it_goes() {
    let world = Stage::plain();
    let mut request = request(1);
    let Creation::InProgress(progress) = world.create(&request).unwrap() else { panic!("in progress") };
    assert!(Pending::parse(Some(&progress.resume_token)).poll.is_some());
    // A VM that is being created is no VM yet, and not a second one.
    let Creation::InProgress(_) = world.create(&forgotten(&request)).unwrap() else { panic!("in progress") };
    let vm = world.create_to_end(&mut request).unwrap();
    assert_eq!(
        (vm.provider_id.as_str(), vm.node_name.as_str()),
        ("azure:///westeurope/machine-1", "machine-1")
    );
    assert_eq!(vm.failure_domain.as_deref(), Some("1"));
    let kinds: Vec<&str> = vm.addresses.iter().map(|address| address.kind.as_str()).collect();
    assert_eq!(kinds, ["Hostname", "InternalIP"]);
    assert_eq!(world.resources(), ["Vm machine-1", "Nic machine-1-nic", "Disk machine-1-os-disk"]);
    let again = world.create_to_end(&mut forgotten(&request)).unwrap();
    assert_eq!(again.provider_id, vm.provider_id);
    assert_eq!(world.cloud().vms_created(), 1);
}

#[test]
fn everything_carries_the_marks_and_the_class_s_tags() {
    let world = Stage::plain();
    world.create_to_end(&mut request(1)).unwrap();
    for resource in world.cloud().resources() {
        let tags = ["machinist.dev-cluster", "machinist.dev-machine-uid", "machinist.dev-machine-name"];
        let found = tags.map(|tag| resource.tag(tag).unwrap_or_default().to_owned());
        assert_eq!(found, ["c1", "uid-1", "machine-1"], "{}", resource.name);
        assert_eq!(resource.tag("kubernetes.io-role-node"), Some("1"), "{}", resource.name);
    }
}

#[test]
fn user_data_reaches_the_vm_and_nothing_else() {
    use base64::Engine as _;
    let world = Stage::plain();
    world.create_to_end(&mut request(1)).unwrap();
    let encoded = base64::engine::general_purpose::STANDARD.encode(USER_DATA);
    let cloud = world.cloud();
    let vm = cloud.vms()[0];
    assert_eq!(
        vm.body.pointer("/properties/osProfile/customData").and_then(Value::as_str),
        Some(encoded.as_str())
    );
}

#[test]
fn an_agreement_is_accepted_once_and_a_missing_one_is_named() {
    let image = "/properties/storageProfile/imageReference";
    let paid = spec_with(image, json!({ "urn": "kinvolk:flatcar-paid:flatcar:3815.2.0" }));
    let world = Stage::plain();
    world.create_to_end(&mut request_of(1, &paid)).unwrap();
    world.create_to_end(&mut request_of(2, &paid)).unwrap();
    assert_eq!(world.cloud().counts()["agreements.put"], 1);
    let strange = spec_with(image, json!({ "urn": "acme:strange:new:1.0.0" }));
    let failure = world.create(&request_of(3, &strange)).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::NotFound, true));
    assert!(failure.message.contains("skipMarketplaceAgreement"), "{failure}");
    let unknown = spec_with(image, json!({ "urn": "acme:none:new:1.0.0" }));
    let failure = world.create(&request_of(4, &unknown)).unwrap_err();
    assert_eq!(failure.code, Code::NotFound);
    assert!(failure.message.contains("acme:none:new:1.0.0"), "{failure}");
}

#[test]
fn a_vm_without_capacity_is_removed_with_its_parts_and_made_again_later() {
    let world = Stage::plain();
    let failing =
        Effect::FailLater { code: "ZonalAllocationFailed".into(), message: "no room in the zone".into() };
    world.fault(Rule::once("PUT", "virtualMachines", failing));
    let mut request = request(1);
    let failure = world.create_to_end(&mut request).unwrap_err();
    assert_eq!((failure.code, failure.may_have_happened), (Code::ResourceExhausted, false));
    assert_eq!(failure.cloud_code.as_deref(), Some("ZonalAllocationFailed"));
    assert!(failure.message.contains("another vmSize, zone or location"), "{failure}");
    world.pass(10_000);
    assert_eq!(world.resources(), Vec::<String>::new());
    world.create_to_end(&mut request).unwrap();
    assert_eq!(world.vms(), ["machine-1"]);
}

#[test]
fn a_refused_vm_leaves_no_network_interface() {
    let world = Stage::new(Options { quota_cores: 1, ..Options::default() });
    let failure = world.create(&request(1)).unwrap_err();
    assert_eq!(failure.code, Code::ResourceExhausted);
    assert!(failure.message.contains("quota"), "{failure}");
    world.pass(1_000);
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn a_vm_that_runs_although_azure_calls_it_failed_counts() {
    let world = Stage::plain();
    let mut request = request(1);
    let Creation::InProgress(progress) = world.create(&request).unwrap() else { panic!("in progress") };
    request.machine.last_known_state = Some(progress.resume_token);
    world.fault(Rule::once("GET", "operations", Effect::LoseRequest));
    world.pass(1_000);
    assert!(world.create(&request).is_err());
    world.cloud().change(Kind::Vm, "nodes", "machine-1", |vm| {
        vm.state = azure_cloud::State::Failed;
        vm.failure = Some(("OSProvisioningTimedOut".into(), "the agent did not report".into()));
    });
    let vm = world.create_to_end(&mut request).unwrap();
    assert_eq!(
        vm.conditions.first().map(|condition| condition.reason.as_str()),
        Some("OSProvisioningTimedOut")
    );
}

#[test]
fn disks_of_an_earlier_vm_go_first_and_those_of_others_stay() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    world.fault(Rule::once("DELETE", "virtualMachines", Effect::LeaveParts));
    let _ = world.delete(&request);
    world.pass(1_000);
    assert_eq!(world.resources(), ["Nic machine-1-nic", "Disk machine-1-os-disk"]);
    world.create_to_end(&mut forgotten(&request)).unwrap();
    assert_eq!(world.vms(), ["machine-1"]);
    world.delete_to_end(&mut request).unwrap();
    // A stranger's disk of the name.
    let mut other = super::harness::request(2);
    world.create_to_end(&mut other).unwrap();
    world.fault(Rule::once("DELETE", "virtualMachines", Effect::LeaveParts));
    let _ = world.delete(&other);
    world.pass(1_000);
    world.cloud().change(Kind::Disk, "nodes", "machine-2-os-disk", |disk| disk.tags.clear());
    let failure = world.create_to_end(&mut forgotten(&other)).unwrap_err();
    assert_eq!(failure.code, Code::AlreadyExists);
    assert!(
        failure.message.contains("machine-2-os-disk") && failure.message.contains("remove it"),
        "{failure}"
    );
    assert!(world.resources().contains(&"Disk machine-2-os-disk".to_owned()));
}

#[test]
fn the_name_of_another_vm_is_not_taken() {
    let world = Stage::plain();
    let mut first = request(1);
    world.create_to_end(&mut first).unwrap();
    let before = world.resources();
    let code = |failure: Failure| (failure.code, failure.message.clone());
    // A Machine of the same name that came later.
    let mut later = forgotten(&first);
    later.machine.uid = "uid-later".into();
    let (refused, message) = code(world.create(&later).unwrap_err());
    assert_eq!(refused, Code::AlreadyExists, "{message}");
    // Another cluster.
    later.cluster = "c2".into();
    let (refused, message) = code(world.create(&later).unwrap_err());
    assert_eq!(refused, Code::AlreadyExists, "{message}");
    // The same Machine, under the mark that its control plane had before.
    let mut moved = forgotten(&first);
    moved.cluster = "c2".into();
    assert_eq!(world.status(&moved).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.resources(), before);
}

#[test]
fn a_name_that_azure_refuses_makes_no_request() {
    let world = Stage::plain();
    let mut request = request(1);
    request.machine.name = "a".repeat(65);
    let failure = world.create(&request).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
    assert_eq!(world.sent(), Vec::new());
}

#[test]
fn a_full_subnet_and_a_wrong_one_are_distinguished() {
    let world = Stage::plain();
    let tiny = spec_with("/subnetInfo/subnetName", json!("tiny"));
    world.create_to_end(&mut request_of(1, &tiny)).unwrap();
    let failure = world.create(&request_of(2, &tiny)).unwrap_err();
    assert_eq!(failure.code, Code::ResourceExhausted, "{failure}");
    let none = spec_with("/subnetInfo/subnetName", json!("none"));
    let failure = world.create(&request_of(3, &none)).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
}
