//! A fault at each request of a life: one VM, and nothing left.

use azure_cloud::Options;
use machinist_sdk::driver::{Code, Request};
use serde_json::{Value, json};

use super::harness::{Fault, Stage, forgotten, request_of, spec, spec_with};

/// A class with all parts that exist before their VM.
fn rich() -> Value {
    let image = "/subscriptions/sub-1/resourceGroups/nodes/providers/Microsoft.Compute/images/data";
    let disks = json!([
        { "lun": 0, "diskSizeGB": 10, "storageAccountType": "StandardSSD_LRS" },
        { "lun": 1, "name": "data", "diskSizeGB": 10, "storageAccountType": "StandardSSD_LRS", "imageRef": { "id": image } },
    ]);
    let mut spec = spec_with("/properties/storageProfile/dataDisks", disks);
    super::harness::set(
        &mut spec,
        "/properties/storageProfile/imageReference",
        json!({ "urn": "kinvolk:flatcar-paid:flatcar:3815.2.0" }),
    );
    spec
}

/// One life. Returns how many requests it took.
fn live(world: &Stage, request: &mut Request) -> usize {
    let vm = world.create_to_end(request).unwrap();
    assert_eq!(vm.node_name, request.machine.name);
    assert_eq!(world.vms(), std::slice::from_ref(&request.machine.name));
    world.delete_to_end(request).unwrap();
    let mut requests = world.sent().len();
    // The host looks once more, and does not believe a stale answer.
    let gone = world.status(request).map_err(|failure| failure.code);
    assert_eq!(gone.map(|vm| vm.node_name), Err(Code::NotFound));
    requests += world.sent().len();
    requests
}

fn check(options: &Options, spec: &Value) {
    let requests = live(&Stage::new(options.clone()), &mut request_of(1, spec));
    assert!(requests > 10, "{requests}");
    for trouble in Fault::ALL {
        for at in 0..requests - 2 {
            let world = Stage::new(options.clone());
            world.trouble_at(at, trouble);
            let mut request = request_of(1, spec);
            live(&world, &mut request);
            let made = world.cloud().vms_created();
            assert_eq!(made, 1, "{trouble:?} at request {at}: {made} VMs");
            assert_eq!(world.resources(), Vec::<String>::new(), "{trouble:?} at request {at}");
        }
    }
}

#[test]
fn a_fault_at_any_request_makes_no_second_vm_and_leaves_nothing() {
    check(&Options::default(), &spec());
}

#[test]
fn the_same_with_disks_that_exist_before_their_vm_and_an_agreement() {
    check(&Options { part_ms: 1_500, ..Options::default() }, &rich());
}

#[test]
fn the_same_while_reads_and_resource_graph_lag() {
    let options = Options { read_lag_ms: 3_000, graph_lag_ms: 60_000, ..Options::default() };
    check(&options, &spec());
}

#[test]
fn no_broken_answer_means_that_there_is_no_vm() {
    for trouble in Fault::ALL {
        for forgets in [false, true] {
            let world = Stage::plain();
            let mut request = request_of(1, &spec());
            world.create_to_end(&mut request).unwrap();
            let asked = if forgets { forgotten(&request) } else { request };
            world.trouble_at(0, trouble);
            let looked = world.status(&asked).unwrap_err();
            world.revive();
            world.trouble_at(0, trouble);
            let listed = world.list(&asked.class, None).unwrap_err();
            world.revive();
            world.trouble_at(0, trouble);
            let deleted = world.delete(&asked).unwrap_err();
            world.revive();
            for failure in [looked, listed, deleted] {
                assert_ne!(failure.code, Code::NotFound, "{trouble:?}: {failure}");
                assert!(!failure.may_have_happened && !failure.terminal, "{trouble:?}: {failure}");
            }
            assert_eq!(world.vms(), ["machine-1"], "{trouble:?}");
        }
    }
}

#[test]
fn a_host_that_dies_again_and_again_makes_no_second_vm() {
    for every in 1..6 {
        let world = Stage::plain();
        let mut request = request_of(1, &rich());
        for _ in 0..40 {
            world.trouble_at(every, Fault::Kill);
            let _ = world.create(&forgotten(&request));
            world.revive();
            world.pass(1_000);
        }
        world.create_to_end(&mut request).unwrap();
        assert_eq!(world.cloud().vms_created(), 1, "{every}");
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new(), "{every}");
    }
}

/// The requests of one machine, from create to gone.
#[test]
fn a_life_takes_few_requests() {
    let world = Stage::plain();
    let mut request = request_of(1, &spec());
    let vm = world.create_to_end(&mut request).unwrap();
    assert!(vm.provider_id.starts_with("azure:///westeurope/"));
    let create: Vec<String> = world.sent().into_iter().map(|(method, _)| method).collect();
    // Network interface, image (its plan), VM, operation, VM.
    assert_eq!(create, ["GET", "PUT", "GET", "PUT", "GET", "GET"]);
    world.delete_to_end(&mut request).unwrap();
    let delete: Vec<String> = world.sent().into_iter().map(|(method, _)| method).collect();
    // VM, order, operation, two parts that are gone, Resource Graph.
    assert_eq!(delete, ["GET", "DELETE", "GET", "GET", "GET", "POST"]);
}
