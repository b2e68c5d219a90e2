//! Nothing is left, and nothing of others is touched.

use azure_cloud::{Effect, Kind, Options, Rule};
use machinist_sdk::driver::{Code, Creation, Deletion, VmState};
use serde_json::{Value, json};

use super::harness::{Stage, class, forgotten, request, request_of, spec, spec_with};
use crate::AzureDriver;

#[test]
fn a_deletion_removes_the_vm_with_all_its_parts_and_is_repeatable() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    assert_eq!(world.status(&request).unwrap().state, VmState::Running);
    let Deletion::InProgress(progress) = world.delete(&request).unwrap() else { panic!("in progress") };
    assert_eq!(world.status(&request).unwrap().state, VmState::Stopping);
    request.machine.last_known_state = Some(progress.resume_token);
    for _ in 0..3 {
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new());
        assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
    }
}

#[test]
fn parts_that_azure_leaves_are_removed_even_without_a_vm_and_with_another_class() {
    let disks =
        json!([{ "lun": 0, "name": "data", "diskSizeGB": 10, "storageAccountType": "StandardSSD_LRS" }]);
    let rich = spec_with("/properties/storageProfile/dataDisks", disks);
    for knows_its_disks in [true, false] {
        let world = Stage::plain();
        let mut request = request_of(1, &rich);
        world.create_to_end(&mut request).unwrap();
        world.fault(Rule::once("DELETE", "virtualMachines", Effect::LeaveParts));
        let Deletion::InProgress(progress) = world.delete(&request).unwrap() else { panic!("in progress") };
        if knows_its_disks {
            request.machine.last_known_state = Some(progress.resume_token);
        } else {
            request = forgotten(&request);
        }
        world.pass(5_000);
        assert_eq!(world.resources().len(), 3);
        request.class = class(&spec());
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new(), "{knows_its_disks}");
    }
}

#[test]
fn delete_options_that_are_missing_are_set_and_volumes_of_pods_stay() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    let id =
        |kind: &str, name: &str| format!("/subscriptions/sub-1/RESOURCEGROUPS/NODES/providers/{kind}/{name}");
    world.cloud().change(Kind::Vm, "nodes", "machine-1", |vm| {
        let properties = &mut vm.body["properties"];
        properties["networkProfile"]["networkInterfaces"] =
            json!([{ "id": id("Microsoft.Network/networkInterfaces", "machine-1-nic"), "properties": { "primary": true } }]);
        properties["storageProfile"]["osDisk"]["deleteOption"] = json!("Detach");
        let pvc = id("Microsoft.Compute/disks", "pvc-1");
        properties["storageProfile"]["dataDisks"] = json!([
            { "lun": 0, "name": "pvc-1", "createOption": "Attach", "deleteOption": "Detach", "managedDisk": { "id": pvc } },
        ]);
    });
    world.bodies();
    world.delete_to_end(&mut request).unwrap();
    let patch = world.bodies().into_iter().find(|body| body["properties"].is_object()).unwrap();
    let at = |pointer: &str| patch.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert_eq!(at("/properties/networkProfile/networkInterfaces/0/properties/deleteOption"), "Delete");
    assert_eq!(at("/properties/storageProfile/osDisk/deleteOption"), "Delete");
    assert_eq!(at("/properties/storageProfile/dataDisks/0/deleteOption"), "");
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn a_deletion_that_fails_later_says_why_and_is_tried_again() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    let failing =
        Effect::FailLater { code: "InternalExecutionError".into(), message: "an internal error".into() };
    world.fault(Rule::once("DELETE", "virtualMachines", failing));
    let Deletion::InProgress(progress) = world.delete(&request).unwrap() else { panic!("in progress") };
    request.machine.last_known_state = Some(progress.resume_token);
    world.pass(1_000);
    let failure = world.delete(&request).unwrap_err();
    assert_eq!(failure.cloud_code.as_deref(), Some("InternalExecutionError"));
    request.machine.last_known_state.clone_from(&failure.last_known_state);
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn a_class_that_is_poor_or_moved_to_another_group_strands_nothing() {
    for spec in [json!({}), json!({ "resourceGroup": "other" }), spec_with("/resourceGroup", json!("other"))]
    {
        for forgets in [false, true] {
            let world = Stage::plain();
            let mut request = request(1);
            world.create_to_end(&mut request).unwrap();
            request.class = class(&spec);
            if forgets {
                request = forgotten(&request);
            }
            assert_eq!(world.status(&request).unwrap().node_name, "machine-1", "{spec} {forgets}");
            world.delete_to_end(&mut request).unwrap();
            assert_eq!(world.resources(), Vec::<String>::new(), "{spec} {forgets}");
        }
    }
}

#[test]
fn a_group_that_is_gone_is_success_and_a_proxy_s_404_is_not() {
    let mut request = request(1);
    let world = Stage::plain();
    world.create_to_end(&mut request).unwrap();
    world.cloud().options.groups.clear();
    world.delete_to_end(&mut request).unwrap();
    let world = Stage::plain();
    world.create_to_end(&mut request).unwrap();
    world.trouble_at(0, super::harness::Fault::PageAfter);
    assert_eq!(world.delete(&request).unwrap_err().code, Code::Unavailable);
}

#[test]
fn nothing_of_others_is_touched() {
    let world = Stage::plain();
    let mut neighbour = request(2);
    world.create_to_end(&mut neighbour).unwrap();
    let before = world.resources();
    // Nothing was ever made for this one.
    world.delete_to_end(&mut request(1)).unwrap();
    // One of the same name that was never made, of this cluster and of another one.
    let mut later = forgotten(&neighbour);
    later.machine.uid = "uid-later".into();
    world.delete_to_end(&mut later.clone()).unwrap();
    later.cluster = "c2".into();
    world.delete_to_end(&mut later.clone()).unwrap();
    // One whose id leads to the VM of another cluster.
    later.machine.provider_id = Some("azure:///westeurope/machine-2".into());
    assert_eq!(world.delete(&later).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.status(&later).unwrap_err().code, Code::FailedPrecondition);
    // A stranger's network interface under the name of a part.
    let mut first = request(1);
    world.create_to_end(&mut first).unwrap();
    world.delete_to_end(&mut first).unwrap();
    assert_eq!(world.resources(), before);
}

#[test]
fn a_stranger_s_part_of_the_machine_s_name_stays() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    world.fault(Rule::once("DELETE", "virtualMachines", Effect::LeaveParts));
    let _ = world.delete(&request);
    world.pass(1_000);
    world.cloud().change(Kind::Nic, "nodes", "machine-1-nic", |nic| nic.tags.clear());
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), ["Nic machine-1-nic"]);
}

#[test]
fn a_network_interface_that_azure_keeps_for_a_while_is_removed_in_the_end() {
    let world = Stage::new(Options { nic_reserved_ms: 30_000, ..Options::default() });
    let mut request = request(1);
    let failing = Effect::FailLater { code: "AllocationFailed".into(), message: "no room".into() };
    world.fault(Rule::once("PUT", "virtualMachines", failing));
    world.fault(Rule::once("DELETE", "virtualMachines", Effect::LeaveParts));
    assert_eq!(world.create_to_end(&mut request).unwrap_err().code, Code::ResourceExhausted);
    world.pass(1_000);
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}

#[test]
fn a_vm_that_somebody_removed_is_gone_and_can_be_created_again() {
    for forgets in [false, true] {
        let world = Stage::plain();
        let mut request = request(1);
        world.create_to_end(&mut request).unwrap();
        assert!(world.cloud().remove_by_hand("nodes", "machine-1"));
        if forgets {
            request = forgotten(&request);
        }
        assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound, "{forgets}");
        assert!(world.list(&class(&spec()), None).unwrap().machines.is_empty());
        world.delete_to_end(&mut request.clone()).unwrap();
        world.create_to_end(&mut request).unwrap();
        assert_eq!((world.vms(), world.cloud().vms_created()), (vec!["machine-1".to_owned()], 2));
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new(), "{forgets}");
    }
    // Azure still works on it.
    let world = Stage::plain();
    let mut request = request(1);
    let Creation::InProgress(progress) = world.create(&request).unwrap() else { panic!("in progress") };
    request.machine.last_known_state = Some(progress.resume_token);
    assert!(world.cloud().remove_by_hand("nodes", "machine-1"));
    world.create_to_end(&mut request).unwrap();
    assert_eq!((world.vms(), world.cloud().vms_created()), (vec!["machine-1".to_owned()], 2));
}

/// Somebody makes a VM with these tags. Returns its name.
fn planted(world: &Stage, tags: &str) -> String {
    let before = world.vms();
    let target = format!("/admin/vms/planted?{tags}");
    world.cloud().handle(&azure_cloud::Request::new("POST", &target), 1);
    world.vms().into_iter().find(|name| !before.contains(name)).unwrap()
}

#[test]
fn two_vms_of_one_machine_are_named_and_both_stay() {
    let world = Stage::plain();
    let tags =
        "machinist.dev-cluster=c1&machinist.dev-machine-uid=uid-1&machinist.dev-machine-name=machine-1";
    let names = [planted(&world, tags), planted(&world, tags)];
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    let request = request(1);
    for failure in [driver.get_status(&request).unwrap_err(), driver.reboot(&request).unwrap_err()] {
        assert_eq!((failure.code, failure.terminal), (Code::OutOfRange, false), "{failure}");
        assert!(names.iter().all(|name| failure.message.contains(name)), "{failure}");
        assert!(failure.message.contains("delete all but one"), "{failure}");
    }
    assert_eq!(world.vms(), names);
}

#[test]
fn a_vm_of_another_cluster_and_one_without_marks_are_left_alone_whatever_is_asked() {
    let world = Stage::plain();
    let mut own = request(1);
    world.create_to_end(&mut own).unwrap();
    let theirs = "machinist.dev-cluster=c2&machinist.dev-machine-uid=uid-9&machinist.dev-machine-name=theirs";
    let nobodys = "kubernetes.io-cluster-lab=1&kubernetes.io-role-node=1";
    for (tags, words) in [(theirs, "--cluster-id=c2"), (nobodys, r#"{"adopt": {"c1":"#)] {
        let id = format!("azure:///westeurope/{}", planted(&world, tags));
        let before = world.resources();
        let mut led_astray = request(2);
        led_astray.machine.provider_id = Some(id.clone());
        let host = world.host();
        let driver = host.driver::<AzureDriver>();
        for failure in [
            driver.get_status(&led_astray).unwrap_err(),
            driver.reboot(&led_astray).unwrap_err(),
            driver.delete(&led_astray).unwrap_err(),
            driver.delete_by_id(&own, &id).unwrap_err(),
        ] {
            assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false), "{failure}");
            assert!(failure.message.contains(words), "{failure}");
        }
        assert_eq!(world.resources(), before);
    }
}

#[test]
fn one_vm_of_two_can_be_removed() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    let query =
        "machinist.dev-cluster=c1&machinist.dev-machine-uid=uid-1&machinist.dev-machine-name=machine-1";
    let target = format!("/admin/vms/machine-1?{query}");
    world.cloud().handle(&azure_cloud::Request::new("POST", &target), 1);
    let second = world.vms().into_iter().find(|name| name != "machine-1").unwrap();
    assert_eq!(world.status(&forgotten(&request)).unwrap().node_name, "machine-1");
    let host = world.host();
    let driver = host.driver::<AzureDriver>();
    let kept = driver.delete_by_id(&request, "azure:///westeurope/machine-1").unwrap_err();
    assert_eq!(kept.code, Code::FailedPrecondition);
    let unusual = driver.delete_by_id(&request, "aws:///a/i-1").unwrap_err();
    assert_eq!(unusual.code, Code::InvalidArgument);
    for _ in 0..2 {
        driver.delete_by_id(&request, &format!("azure:///westeurope/{second}")).unwrap();
        world.pass(1_000);
    }
    world.resources();
    assert_eq!(world.vms(), ["machine-1"]);
    // A deletion removes all that carry the marks.
    world.cloud().handle(&azure_cloud::Request::new("POST", &target), 1);
    world.delete_to_end(&mut request).unwrap();
    assert_eq!(world.resources(), Vec::<String>::new());
}
