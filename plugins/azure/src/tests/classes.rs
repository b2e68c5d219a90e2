//! Classes that the driver accepts and refuses.

use azure_cloud::problems;
use machinist_sdk::driver::Code;
use serde_json::{Value, json};

use super::harness::{Stage, USER_DATA, class, spec, spec_with};
use crate::AzureDriver;
use crate::arm::names::{Kind, ResourceId};
use crate::class::spec::{SCHEMA, read};
use crate::vm::body::{self, Launch};

fn fixtures() -> Vec<(String, Value)> {
    let all: Vec<Value> = serde_json::from_str(include_str!("classes.json")).unwrap();
    all.into_iter().map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry["spec"].clone())).collect()
}

fn refused(spec: &Value) -> String {
    let failure = read(&class(spec)).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
    failure.into_record().message
}

#[test]
fn every_class_of_mcm_s_provider_is_accepted_and_makes_bodies_that_azure_reads() {
    for (name, spec) in fixtures() {
        let (read, _) = read(&class(&spec)).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let id = ResourceId {
            subscription: "s".into(),
            group: read.group.clone(),
            kind: Kind::Vm,
            name: "vm-1".into(),
        };
        let launch = Launch { id: &id, tags: &read.tags, user_data: USER_DATA, plan: None };
        let vm = body::vm(&read, &launch);
        assert_eq!(problems("compute", "VirtualMachine", &vm), Vec::<String>::new(), "{name}: {vm}");
        let nic = body::nic(&read, &id, "/subnet", &read.tags);
        assert_eq!(problems("network", "NetworkInterface", &nic), Vec::<String>::new(), "{name}: {nic}");
        for disk in &read.data_disks {
            let disk = body::disk(&read, disk, None, &read.tags);
            assert_eq!(problems("compute", "Disk", &disk), Vec::<String>::new(), "{name}: {disk}");
        }
    }
}

#[test]
fn bodies_have_what_the_class_says() {
    let all = fixtures();
    let vm = |index: usize| {
        let (read, _) = read(&class(&all[index].1)).unwrap();
        let id =
            ResourceId { subscription: "s".into(), group: "rg".into(), kind: Kind::Vm, name: "vm-1".into() };
        body::vm(&read, &Launch { id: &id, tags: &read.tags, user_data: "", plan: None })
    };
    let set = vm(1);
    let at = |value: &Value, pointer: &str| value.pointer(pointer).cloned().unwrap_or_default();
    assert!(at(&set, "/properties/availabilitySet/id").as_str().unwrap().ends_with("/availabilitySets/a"));
    // Azure refuses blank texts.
    assert_eq!(at(&set, "/properties/storageProfile/osDisk/caching"), Value::Null);
    assert_eq!(at(&set, "/properties/storageProfile/osDisk/managedDisk"), json!({}));
    let key = at(&set, "/properties/osProfile/linuxConfiguration/ssh/publicKeys/0");
    assert_eq!(key["path"], "/home/ubuntu/.ssh/authorized_keys");
    assert!(key["keyData"].as_str().unwrap().ends_with(" nobody"));
    let scale = vm(2);
    assert!(at(&scale, "/properties/virtualMachineScaleSet/id").is_string());
    assert_eq!(at(&scale, "/zones"), Value::Null);
    let disks = at(&scale, "/properties/storageProfile/dataDisks");
    assert_eq!(
        (disks[0]["name"].as_str(), disks[0]["createOption"].as_str()),
        (Some("vm-1-kubelet-0-data-disk"), Some("Empty"))
    );
    assert_eq!(
        (disks[1]["name"].as_str(), disks[1]["createOption"].as_str()),
        (Some("vm-1-1-data-disk"), Some("Attach"))
    );
    let secret = vm(3);
    assert_eq!(
        at(&secret, "/properties/securityProfile/uefiSettings"),
        json!({ "vTpmEnabled": true, "secureBootEnabled": false })
    );
    assert_eq!(at(&secret, "/zones"), json!(["2"]));
    let spot = vm(4);
    assert_eq!(at(&spot, "/properties/evictionPolicy"), "Delete");
    assert_eq!(at(&spot, "/properties/billingProfile/maxPrice"), -1);
}

#[test]
fn every_rule_names_its_field() {
    let table = [
        ("/location", json!(""), "location is missing"),
        ("/resourceGroup", json!("a/b"), "resourceGroup must be"),
        ("/resourceGroup", json!(7), "resourceGroup must be a string"),
        ("/tags", json!({ "kubernetes.io-role-node": "1" }), "kubernetes.io-cluster-"),
        ("/subnetInfo/vnetName", json!(null), "subnetInfo.vnetName is missing"),
        ("/subnetInfo", json!(null), "subnetInfo is missing"),
        ("/cloudConfiguration", json!({ "name": "azurepublic" }), "cloudConfiguration.name"),
        ("/properties", json!(null), "properties is missing"),
        ("/properties/hardwareProfile", json!({}), "properties.hardwareProfile.vmSize is missing"),
        ("/properties/osProfile", json!({}), "properties.osProfile.adminUsername is missing"),
        ("/properties/zone", json!(null), "exactly one of zone"),
        ("/properties/availabilitySet", json!({ "id": "x" }), "exactly one of zone"),
        ("/properties/machineSet", json!({ "id": "x", "kind": "other" }), "machineSet.kind"),
        ("/properties/storageProfile/imageReference", json!({}), "imageReference needs exactly one"),
        (
            "/properties/storageProfile/imageReference",
            json!({ "urn": "a:b:c" }),
            "imageReference.urn must be",
        ),
        (
            "/properties/storageProfile/imageReference",
            json!({ "urn": "a:b:c:d", "id": "x" }),
            "imageReference needs exactly one",
        ),
        ("/properties/storageProfile/osDisk", json!(null), "properties.storageProfile.osDisk is missing"),
        ("/properties/storageProfile/osDisk/diskSizeGB", json!(0), "osDisk.diskSizeGB"),
        ("/properties/storageProfile/osDisk/createOption", json!(""), "osDisk.createOption is missing"),
        ("/properties/storageProfile/osDisk/caching", json!("Some"), "osDisk.caching must be one of"),
        ("/properties/storageProfile/dataDisks", json!([{ "lun": -1 }]), "dataDisks[0].lun"),
        (
            "/properties/storageProfile/dataDisks",
            json!([{ "lun": 1, "diskSizeGB": 1, "storageAccountType": "x" }, { "lun": 1, "diskSizeGB": 1, "storageAccountType": "x" }]),
            "lun 1 is used twice",
        ),
        (
            "/properties/storageProfile/dataDisks",
            json!([{ "lun": 1, "diskSizeGB": 1 }]),
            "dataDisks[0].storageAccountType is missing",
        ),
        (
            "/properties/capacityReservation",
            json!({ "capacityReservationGroupID": "/a/b/c" }),
            "capacityReservationGroupID",
        ),
        ("/properties/securityProfile", json!({ "securityType": "Some" }), "securityProfile.securityType"),
        ("/properties/evictionPolicy", json!("Delete"), "priority Spot"),
        ("/tags/a~1b", json!("1"), "tags[\"a/b\"]"),
    ];
    for (pointer, value, expected) in table {
        let name = pointer.rsplit('/').next().unwrap().replace("~1", "/");
        let mut spec = spec();
        let parent = pointer.rsplit_once('/').unwrap().0;
        spec.pointer_mut(parent).unwrap()[name] = value;
        let message = refused(&spec);
        assert!(message.contains(expected), "{pointer}: {message}");
    }
    assert!(refused(&json!("text")).contains("providerSpec must be an object"));
}

#[test]
fn unknown_fields_are_warned_of_and_the_driver_s_tags_are_its_own() {
    let mut unusual = spec_with("/colour", json!(1));
    unusual["tags"]["Machinist.dev-Cluster"] = json!("mine");
    let (read, warnings) = read(&class(&unusual)).unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(!read.tags.contains_key("Machinist.dev-Cluster"));
}

#[test]
fn the_schema_is_json_and_knows_every_field_of_the_fixtures() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for (name, spec) in fixtures() {
        for field in spec.as_object().unwrap().keys() {
            assert!(schema["properties"][field].is_object(), "{name}: {field}");
        }
        for field in spec["properties"].as_object().unwrap().keys() {
            let known = schema["properties"]["properties"]["properties"].as_object().unwrap();
            assert!(known.keys().any(|known| known.eq_ignore_ascii_case(field)), "{name}: {field}");
        }
    }
}

#[test]
fn describe_names_what_the_driver_is() {
    let world = Stage::plain();
    let host = world.host();
    let about = host.driver::<AzureDriver>().describe();
    assert_eq!((about.name.as_str(), about.providers), ("azure", vec!["Azure".to_owned()]));
    assert_eq!(about.hosts.first().map(String::as_str), Some("management.azure.com"));
}
