//! VMs of another program, in clusters that adopt them and in others.

use azure_cloud::{Kind, Options};
use machinist_sdk::driver::{Code, Request};
use serde_json::json;

use super::harness::{Stage, class, request, spec, spec_with};
use crate::AzureDriver;

const CLUSTER: &str = "kubernetes.io-cluster-lab";
const ROLE: &str = "kubernetes.io-role-node";

/// A VM as machine-controller-manager leaves it: the class's tags, and no marks.
fn by_mcm(options: Options) -> (Stage, Request) {
    let disks = json!([{ "lun": 0, "diskSizeGB": 10, "storageAccountType": "StandardSSD_LRS" }]);
    let spec = spec_with("/properties/storageProfile/dataDisks", disks);
    let world = Stage::new(options);
    let mut request = super::harness::request_of(1, &spec);
    world.create_to_end(&mut request).unwrap();
    let names = [
        (Kind::Vm, "machine-1"),
        (Kind::Nic, "machine-1-nic"),
        (Kind::Disk, "machine-1-os-disk"),
        (Kind::Disk, "machine-1-0-data-disk"),
    ];
    for (kind, name) in names {
        world
            .cloud()
            .change(kind, "nodes", name, |one| one.tags.retain(|key, _| !key.starts_with("machinist")));
    }
    request.machine.last_known_state = None;
    (world, request)
}

#[test]
fn without_the_setting_a_vm_of_mcm_is_neither_gone_nor_the_machine_s() {
    let (world, mut request) = by_mcm(Options::default());
    for _ in 0..2 {
        for failure in [world.status(&request).unwrap_err(), world.delete(&request).unwrap_err()] {
            assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false));
            assert!(failure.message.contains(r#"{"adopt": {"c1":"#), "{failure}");
        }
        request.machine.provider_id = None;
    }
    assert!(world.list(&class(&spec()), None).unwrap().machines.is_empty());
    assert_eq!(world.resources().len(), 4);
}

#[test]
fn with_the_setting_it_is_found_listed_marked_and_deleted() {
    let (world, mut request) = by_mcm(Options::default());
    world.configure(&json!({ "adopt": { "c1": [CLUSTER, ROLE] } }));
    let due = world.status(&request).unwrap_err();
    assert_eq!((due.code, due.node_name.as_deref()), (Code::Uninitialized, Some("machine-1")));
    let first = world.list(&class(&spec()), None).unwrap();
    assert!(first.machines.is_empty());
    let keyed = world.list(&class(&spec()), first.next.as_deref()).unwrap();
    assert_eq!(keyed.machines.len(), 1);
    assert_eq!(
        (keyed.machines[0].machine_name.as_str(), keyed.machines[0].machine_uid.as_deref()),
        ("machine-1", None)
    );
    let host = world.host();
    for _ in 0..2 {
        let vm = host.driver::<AzureDriver>().initialize(&request).unwrap();
        assert_eq!(vm.node_name, "machine-1");
    }
    for resource in world.cloud().resources() {
        assert_eq!(resource.tag("machinist.dev-machine-uid"), Some("uid-1"), "{}", resource.name);
        assert_eq!(resource.tag(ROLE), Some("1"), "{}", resource.name);
    }
    // From here on the setting is not needed.
    world.configure(&json!({}));
    world.status(&request).unwrap();
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn an_adopted_vm_is_deleted_with_all_its_parts_before_it_is_marked() {
    let (world, mut request) = by_mcm(Options::default());
    world.configure(&json!({ "adopt": { "c1": [CLUSTER, ROLE] } }));
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn another_machine_s_name_is_not_adopted() {
    let (world, request) = by_mcm(Options::default());
    world.configure(&json!({ "adopt": { "c1": [CLUSTER, ROLE] } }));
    let mut other = super::harness::request(2);
    other.machine.provider_id.clone_from(&request.machine.provider_id);
    assert_eq!(world.status(&other).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.delete(&other).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.resources().len(), 4);
}

#[test]
fn without_the_setting_there_is_nothing_to_initialize() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    world.sent();
    let host = world.host();
    let failure = host.driver::<AzureDriver>().initialize(&request).unwrap_err();
    assert_eq!(failure.code, Code::Unimplemented);
    assert_eq!(world.sent(), Vec::new());
}
