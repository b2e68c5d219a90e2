//! The interfaces for Cluster API: ids of Nodes, zones, resources, spot. And restarts, and volumes.

use machinist_sdk::driver::Code;
use serde_json::{Value, json};

use super::harness::{Stage, class, request, request_of, spec, spec_with};
use crate::AzureDriver;

#[test]
fn a_node_has_the_id_that_the_cloud_controller_manager_writes() {
    let world = Stage::plain();
    let mut request = request_of(1, &spec_with("/resourceGroup", json!("Nodes")));
    let vm = world.create_to_end(&mut request).unwrap();
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    let expected = "azure:///subscriptions/sub-1/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/machine-1";
    assert_eq!(driver.node_id(&request, &vm).unwrap(), expected);
    let seen = world.status(&request).unwrap();
    assert_eq!(driver.node_id(&request, &seen).unwrap(), expected);
    let unknown = machinist_sdk::driver::Vm { last_known_state: None, ..vm };
    assert_eq!(driver.node_id(&request, &unknown).unwrap_err().code, Code::FailedPrecondition);
}

#[test]
fn a_class_is_put_into_a_zone() {
    let world = Stage::plain();
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    let placed = driver.place(&class(&spec()), "2").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&placed).unwrap(), spec_with("/properties/zone", json!(2)));
    let mut again = class(&spec());
    again.spec = placed.clone();
    assert_eq!(driver.place(&again, "2").unwrap(), placed);
    let mut request = request(1);
    request.class.spec = placed;
    assert_eq!(world.create_to_end(&mut request).unwrap().failure_domain.as_deref(), Some("2"));
    for nowhere in ["", "0", "4", "westeurope-1", "01"] {
        assert_eq!(
            driver.place(&class(&spec()), nowhere).unwrap_err().code,
            Code::InvalidArgument,
            "{nowhere}"
        );
    }
    let mut set = spec();
    set["properties"]["zone"] = Value::Null;
    set["properties"]["availabilitySet"] = json!({ "id": "/x" });
    let failure = driver.place(&class(&set), "1").unwrap_err();
    assert!(failure.message.contains("properties.zone"), "{failure}");
}

#[test]
fn a_node_has_the_resources_of_its_size() {
    let world = Stage::plain();
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    let node = driver.node_capacity(&class(&spec())).unwrap();
    let pairs: Vec<(&str, &str)> =
        node.resources.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(pairs, [("cpu", "2"), ("memory", "8192Mi"), ("ephemeral-storage", "50Gi")]);
    assert_eq!(node.architecture.as_deref(), Some("amd64"));
    let unknown = spec_with("/properties/hardwareProfile/vmSize", json!("Standard_Huge"));
    assert_eq!(driver.node_capacity(&class(&unknown)).unwrap_err().code, Code::NotFound);
}

#[test]
fn only_spot_vms_are_interruptible() {
    let world = Stage::plain();
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    assert!(!driver.is_interruptible(&class(&spec())).unwrap());
    let spot = spec_with("/properties/priority", json!("Spot"));
    assert!(driver.is_interruptible(&class(&spot)).unwrap());
    world.create_to_end(&mut request_of(1, &spot)).unwrap();
    let cloud = world.cloud();
    let vm = cloud.vms()[0];
    assert_eq!(vm.body["properties"]["evictionPolicy"], "Delete");
}

#[test]
fn a_restart_keeps_the_vm() {
    let world = Stage::plain();
    let mut request = request(1);
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    assert_eq!(driver.reboot(&request).unwrap_err().code, Code::NotFound);
    world.create_to_end(&mut request).unwrap();
    driver.reboot(&request).unwrap();
    assert_eq!(world.cloud().counts()["virtualMachines.restart"], 1);
    assert_eq!(world.vms(), ["machine-1"]);
}

#[test]
fn volumes_have_the_names_of_their_disks() {
    let world = Stage::plain();
    let host = world.host();
    let specs = [
        json!({ "azureDisk": { "diskName": "old" } }).to_string(),
        json!({ "csi": { "driver": "disk.csi.azure.com", "volumeHandle": "/subscriptions/s/x/disks/new" } })
            .to_string(),
        json!({ "csi": { "driver": "other", "volumeHandle": "x" } }).to_string(),
        json!({ "nfs": {} }).to_string(),
    ];
    let ids = host.driver::<AzureDriver>().get_volume_ids(&specs).unwrap();
    assert_eq!(ids, [Some("old".to_owned()), Some("/subscriptions/s/x/disks/new".to_owned()), None, None]);
}
