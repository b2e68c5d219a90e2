//! Instances of another program, in clusters that adopt them and in clusters that do not.

use machinist_sdk::driver::{Code, Failure, Request, Vm};
use serde_json::{Value, json};

use super::world::{World, class, request, request_of, spec, spec_with, with_id};

const KEYS: [&str; 2] = ["kubernetes.io/cluster/shoot", "kubernetes.io/role/node"];

/// An instance as machine-controller-manager leaves it, of the Machine with this number and with the tags of its class.
pub(super) fn mcm(world: &World, number: usize) -> Vm {
    let vm = world.create(&request(number)).unwrap();
    made_by_another_program(world, &vm);
    vm
}

/// Removes our marks and the token of the launch.
pub(super) fn made_by_another_program(world: &World, vm: &Vm) {
    let is_it = |id: &str| vm.provider_id.ends_with(id);
    let index = world.model.borrow().vms.iter().position(|vm| is_it(&vm.id)).unwrap();
    world.change(index, |vm| {
        vm.tags.remove("machinist.dev/machine-uid");
        vm.tags.remove("machinist.dev/cluster");
        vm.token = format!("of-another-program-{index}");
    });
}

/// Writes the setting with which cluster `c1` adopts.
pub(super) fn adopts(world: &World) {
    world.configure(&json!({ "adopt": { "c1": KEYS } }));
    world.grant("CreateTags");
}

fn tags(world: &World, index: usize) -> Value {
    let mut tags = json!({});
    for (key, value) in &world.model.borrow().vms[index].tags {
        tags[key] = json!(value);
    }
    tags
}

fn pages(world: &World, cluster: &str) -> Vec<(String, Option<String>)> {
    let (mut listed, mut token) = (Vec::new(), None);
    loop {
        let page = world.list(cluster, token.as_deref()).unwrap();
        listed.extend(page.machines.into_iter().map(|machine| (machine.machine_name, machine.machine_uid)));
        token = page.next;
        if token.is_none() {
            return listed;
        }
    }
}

/// Checks that creation and deletion are blocked, with an error that says what to write.
#[track_caller]
fn is_held<T: std::fmt::Debug>(answer: Result<T, Failure>) {
    let error = answer.unwrap_err();
    assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{}", error.message);
    let setting =
        r#"settings.json: {"adopt": {"c1": ["kubernetes.io/cluster/NAME", "kubernetes.io/role/ROLE"]}}"#;
    assert!(error.message.contains(setting) && error.message.contains("left alone"), "{}", error.message);
}

#[track_caller]
fn nothing_happens(world: &World, request: &Request) {
    let vms = world.live().len();
    world.sent();
    is_held(world.status(request));
    is_held(world.delete(request));
    is_held(world.reboot(request));
    assert!(world.sent().iter().all(|action| action == "DescribeInstances"));
    assert_eq!(world.live().len(), vms);
}

#[test]
fn attack_a_machine_does_not_take_an_instance_of_nobody_by_its_id_whatever_name_and_class_it_has() {
    let world = World::new();
    let vm = mcm(&world, 1);
    let keyless = spec_with(json!({ "tags": null }));
    let other_keys =
        spec_with(json!({ "tags": { "kubernetes.io/cluster/other": "1", "kubernetes.io/role/node": "1" } }));
    let broken = json!("{ nonsense");
    for spec in [spec(), keyless, other_keys, broken] {
        // Its own name, and another one.
        for number in [1, 2] {
            nothing_happens(&world, &with_id(&request_of(number, &spec), &vm));
        }
        is_held(world.delete_one(&request_of(2, &spec), &vm.provider_id));
    }
    assert_eq!(world.live().len(), 1);
}

#[test]
fn attack_the_tags_of_a_class_list_no_instance_of_another_cluster() {
    let world = World::new();
    for number in 0..3 {
        mcm(&world, number);
    }
    world.sent();
    assert!(pages(&world, "c1").is_empty());
    assert_eq!(world.sent(), ["DescribeInstances"], "nobody asks by keys");
    // An adoption for one cluster does not affect another.
    adopts(&world);
    assert!(pages(&world, "c2").is_empty());
    assert_eq!(pages(&world, "c1").len(), 3);
}

#[test]
fn attack_an_instance_of_nobody_with_a_machines_name_is_neither_taken_nor_taken_for_absent() {
    let world = World::new();
    mcm(&world, 1);
    // The host calls `get-status` before each create that is not provably the first, so that there is no second
    // instance.
    nothing_happens(&world, &request(1));
    // There is no instance of another name.
    assert_eq!(world.status(&request(2)).unwrap_err().code, Code::NotFound);
    world.delete(&request(2)).unwrap();
    assert_eq!(world.live().len(), 1);
}

#[test]
fn attack_an_id_that_reads_do_not_show_is_not_ordered_away_on_anybodys_word() {
    let world = World::new();
    world.set(|model| model.lags = true);
    let vm = world.create(&request(1)).unwrap();
    world.sent();
    world.delete(&with_id(&request(2), &vm)).unwrap();
    assert!(!world.sent().contains(&"TerminateInstances".to_owned()));
    assert_eq!(world.live().len(), 1);
}

#[test]
fn attack_adoption_takes_nothing_that_carries_anybodys_mark_or_another_name() {
    let world = World::new();
    adopts(&world);
    let vm = mcm(&world, 1);
    // Another Machine's name.
    nothing_happens(&world, &with_id(&request(2), &vm));
    // A uid without a cluster's mark: another program leaves no such instance.
    world.change(0, |vm| drop(vm.tags.insert("machinist.dev/machine-uid".into(), "another".into())));
    nothing_happens(&world, &with_id(&request(1), &vm));
    assert!(pages(&world, "c1").is_empty());
    // One of the two tags is not enough.
    world.change(0, |vm| {
        vm.tags.remove("machinist.dev/machine-uid");
        vm.tags.remove("kubernetes.io/cluster/shoot");
    });
    nothing_happens(&world, &with_id(&request(1), &vm));
    assert!(pages(&world, "c1").is_empty());
}

#[test]
fn attack_adoption_that_is_written_wrongly_stops_every_call_and_touches_nothing() {
    let world = World::new();
    let vm = mcm(&world, 1);
    let own = world.create(&request(2)).unwrap();
    world.sent();
    world.configure(&json!({ "adopt": { "c1": ["Name", "Name"] } }));
    for request in [with_id(&request(1), &vm), with_id(&request(2), &own)] {
        for refused in [world.status(&request).unwrap_err(), world.delete(&request).unwrap_err()] {
            assert_eq!(refused.code, Code::FailedPrecondition);
            assert!(refused.message.contains("adopt in the plugin's settings"), "{}", refused.message);
        }
    }
    assert!(world.sent().is_empty());
}

#[test]
fn with_adoption_an_instance_is_its_machines_and_gets_its_marks() {
    let world = World::new();
    adopts(&world);
    let vm = mcm(&world, 1);
    for request in [request(1), with_id(&request(1), &vm)] {
        let due = world.status(&request).unwrap_err();
        assert_eq!(due.code, Code::Uninitialized, "{}", due.message);
        assert_eq!(due.provider_id.as_ref(), Some(&vm.provider_id));
        assert!(due.message.contains("mark it as the Machine's"), "{}", due.message);
    }
    assert_eq!(pages(&world, "c1"), [("machine-1".to_owned(), None)]);
    let known = with_id(&request(1), &vm);
    world.sent();
    world.initialize(&known).unwrap();
    assert_eq!(world.sent(), ["DescribeInstances", "CreateTags"]);
    let expected = json!({
        "Name": "machine-1", "machinist.dev/cluster": "c1", "machinist.dev/machine-uid": "uid-1",
        "kubernetes.io/cluster/shoot": "1", "kubernetes.io/role/node": "1",
    });
    assert_eq!(tags(&world, 0), expected);
    // From here on it is the cluster's own, whatever the settings say.
    world.configure(&json!({}));
    assert_eq!(world.status(&known).unwrap().provider_id, vm.provider_id);
    assert_eq!(pages(&world, "c1"), [("machine-1".to_owned(), Some("uid-1".to_owned()))]);
    assert_eq!(world.status(&request(1)).unwrap().provider_id, vm.provider_id);
    world.delete(&known).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn with_adoption_a_deletion_needs_no_marks_and_what_is_launched_costs_no_request_more() {
    let world = World::new();
    adopts(&world);
    let vm = mcm(&world, 1);
    world.delete(&with_id(&request(1), &vm)).unwrap();
    assert!(world.live().is_empty());

    let own = world.create(&request(2)).unwrap();
    let mut launched = with_id(&request(2), &own);
    launched.machine.last_known_state = own.last_known_state;
    world.sent();
    assert_eq!(world.initialize(&launched).unwrap_err().code, Code::Unimplemented);
    assert!(world.sent().is_empty());
}

#[test]
fn a_right_that_lacks_for_the_marks_is_named_and_the_instance_stays() {
    let world = World::new();
    adopts(&world);
    let vm = mcm(&world, 1);
    world.refuse("CreateTags", 403, "UnauthorizedOperation");
    let error = world.initialize(&with_id(&request(1), &vm)).unwrap_err();
    assert_eq!(error.code, Code::PermissionDenied);
    assert!(error.message.contains("allow ec2:CreateTags"), "{}", error.message);
    assert_eq!(error.provider_id.as_ref(), Some(&vm.provider_id));
    assert_eq!(world.live().len(), 1);

    world.take_away("CreateTags");
    let error = world.initialize(&with_id(&request(1), &vm)).unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition);
    assert!(error.message.contains("with Action CreateTags in egress"), "{}", error.message);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn an_instance_that_was_launched_for_a_machine_stays_its_own_without_its_tags() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    world.change(0, |vm| vm.tags.clear());
    let known = with_id(&request(1), &vm);
    assert_eq!(world.status(&known).unwrap_err().code, Code::Uninitialized);
    world.delete(&known).unwrap();
    assert!(world.live().is_empty());
    // Another Machine with that id is not.
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    world.change(0, |vm| vm.tags.clear());
    nothing_happens(&world, &with_id(&request(11), &vm));
}

#[test]
fn a_listing_asks_for_both_kinds_and_shows_each_once() {
    let world = World::new();
    adopts(&world);
    for number in 0..3 {
        mcm(&world, number);
    }
    world.create(&request(3)).unwrap();
    world.change(1, |vm| vm.state = "terminated");
    let first = world.list("c1", None).unwrap();
    assert_eq!((first.machines.len(), first.next.as_deref()), (1, Some("k:")));
    let names: Vec<String> = pages(&world, "c1").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["machine-3", "machine-0", "machine-2"]);
    // An operator removes the setting in the middle of a listing.
    world.configure(&json!({}));
    let rest = world.list("c1", first.next.as_deref()).unwrap();
    assert!(rest.machines.is_empty() && rest.next.is_none());
    assert!(class(&spec()).spec.contains(KEYS[0]), "the class says it all the while");
}
