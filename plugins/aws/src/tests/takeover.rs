//! Instances of another program, in clusters that adopt them and in clusters that do not.

use machinist_sdk::driver::{Code, Failure, Request, Vm};
use serde_json::{Value, json};

use super::harness::{Harness, class, request, request_of, spec, spec_with, with_id};

const KEYS: [&str; 2] = ["kubernetes.io/cluster/shoot", "kubernetes.io/role/node"];

/// An instance as machine-controller-manager leaves it, of the Machine with this number and with the tags of its class.
pub(super) fn mcm(harness: &Harness, number: usize) -> Vm {
    let vm = harness.create(&request(number)).unwrap();
    made_by_another_program(harness, &vm);
    vm
}

/// Removes our marks and the token of the launch.
pub(super) fn made_by_another_program(harness: &Harness, vm: &Vm) {
    let is_it = |id: &str| vm.provider_id.ends_with(id);
    let index = harness.model.borrow().vms.iter().position(|vm| is_it(&vm.id)).unwrap();
    harness.change(index, |vm| {
        vm.tags.remove("machinist.dev/machine-uid");
        vm.tags.remove("machinist.dev/cluster");
        vm.token = format!("of-another-program-{index}");
    });
}

/// Writes the setting with which cluster `c1` adopts.
pub(super) fn adopts(harness: &Harness) {
    harness.configure(&json!({ "adopt": { "c1": KEYS } }));
    harness.grant("CreateTags");
}

fn tags(harness: &Harness, index: usize) -> Value {
    let mut tags = json!({});
    for (key, value) in &harness.model.borrow().vms[index].tags {
        tags[key] = json!(value);
    }
    tags
}

fn pages(harness: &Harness, cluster: &str) -> Vec<(String, Option<String>)> {
    let (mut listed, mut token) = (Vec::new(), None);
    loop {
        let page = harness.list(cluster, token.as_deref()).unwrap();
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
fn nothing_happens(harness: &Harness, request: &Request) {
    let vms = harness.live().len();
    harness.sent();
    is_held(harness.status(request));
    is_held(harness.delete(request));
    is_held(harness.reboot(request));
    assert!(harness.sent().iter().all(|action| action == "DescribeInstances"));
    assert_eq!(harness.live().len(), vms);
}

#[test]
fn attack_a_machine_does_not_take_an_instance_of_nobody_by_its_id_whatever_name_and_class_it_has() {
    let harness = Harness::new();
    let vm = mcm(&harness, 1);
    let keyless = spec_with(json!({ "tags": null }));
    let other_keys =
        spec_with(json!({ "tags": { "kubernetes.io/cluster/other": "1", "kubernetes.io/role/node": "1" } }));
    let broken = json!("{ nonsense");
    for spec in [spec(), keyless, other_keys, broken] {
        // Its own name, and another one.
        for number in [1, 2] {
            nothing_happens(&harness, &with_id(&request_of(number, &spec), &vm));
        }
        is_held(harness.delete_one(&request_of(2, &spec), &vm.provider_id));
    }
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn attack_the_tags_of_a_class_list_no_instance_of_another_cluster() {
    let harness = Harness::new();
    for number in 0..3 {
        mcm(&harness, number);
    }
    harness.sent();
    assert!(pages(&harness, "c1").is_empty());
    assert_eq!(harness.sent(), ["DescribeInstances"], "nobody asks by keys");
    // An adoption for one cluster does not affect another.
    adopts(&harness);
    assert!(pages(&harness, "c2").is_empty());
    assert_eq!(pages(&harness, "c1").len(), 3);
}

#[test]
fn attack_an_instance_of_nobody_with_a_machines_name_is_neither_taken_nor_taken_for_absent() {
    let harness = Harness::new();
    mcm(&harness, 1);
    // The host calls `get-status` before each create that is not provably the first, so that there is no second
    // instance.
    nothing_happens(&harness, &request(1));
    // There is no instance of another name.
    assert_eq!(harness.status(&request(2)).unwrap_err().code, Code::NotFound);
    harness.delete(&request(2)).unwrap();
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn attack_an_id_that_reads_do_not_show_is_not_ordered_away_on_anybodys_word() {
    let harness = Harness::new();
    harness.set(|model| model.lags = true);
    let vm = harness.create(&request(1)).unwrap();
    harness.sent();
    harness.delete(&with_id(&request(2), &vm)).unwrap();
    assert!(!harness.sent().contains(&"TerminateInstances".to_owned()));
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn attack_adoption_takes_nothing_that_carries_anybodys_mark_or_another_name() {
    let harness = Harness::new();
    adopts(&harness);
    let vm = mcm(&harness, 1);
    // Another Machine's name.
    nothing_happens(&harness, &with_id(&request(2), &vm));
    // A uid without a cluster's mark: another program leaves no such instance.
    harness.change(0, |vm| drop(vm.tags.insert("machinist.dev/machine-uid".into(), "another".into())));
    nothing_happens(&harness, &with_id(&request(1), &vm));
    assert!(pages(&harness, "c1").is_empty());
    // One of the two tags is not enough.
    harness.change(0, |vm| {
        vm.tags.remove("machinist.dev/machine-uid");
        vm.tags.remove("kubernetes.io/cluster/shoot");
    });
    nothing_happens(&harness, &with_id(&request(1), &vm));
    assert!(pages(&harness, "c1").is_empty());
}

#[test]
fn attack_adoption_that_is_written_wrongly_stops_every_call_and_touches_nothing() {
    let harness = Harness::new();
    let vm = mcm(&harness, 1);
    let own = harness.create(&request(2)).unwrap();
    harness.sent();
    harness.configure(&json!({ "adopt": { "c1": ["Name", "Name"] } }));
    for request in [with_id(&request(1), &vm), with_id(&request(2), &own)] {
        for refused in [harness.status(&request).unwrap_err(), harness.delete(&request).unwrap_err()] {
            assert_eq!(refused.code, Code::FailedPrecondition);
            assert!(refused.message.contains("adopt in the plugin's settings"), "{}", refused.message);
        }
    }
    assert!(harness.sent().is_empty());
}

#[test]
fn with_adoption_an_instance_is_its_machines_and_gets_its_marks() {
    let harness = Harness::new();
    adopts(&harness);
    let vm = mcm(&harness, 1);
    for request in [request(1), with_id(&request(1), &vm)] {
        let due = harness.status(&request).unwrap_err();
        assert_eq!(due.code, Code::Uninitialized, "{}", due.message);
        assert_eq!(due.provider_id.as_ref(), Some(&vm.provider_id));
        assert!(due.message.contains("mark it as the Machine's"), "{}", due.message);
    }
    assert_eq!(pages(&harness, "c1"), [("machine-1".to_owned(), None)]);
    let known = with_id(&request(1), &vm);
    harness.sent();
    harness.initialize(&known).unwrap();
    assert_eq!(harness.sent(), ["DescribeInstances", "CreateTags"]);
    let expected = json!({
        "Name": "machine-1", "machinist.dev/cluster": "c1", "machinist.dev/machine-uid": "uid-1",
        "kubernetes.io/cluster/shoot": "1", "kubernetes.io/role/node": "1",
    });
    assert_eq!(tags(&harness, 0), expected);
    // From here on it is the cluster's own, whatever the settings say.
    harness.configure(&json!({}));
    assert_eq!(harness.status(&known).unwrap().provider_id, vm.provider_id);
    assert_eq!(pages(&harness, "c1"), [("machine-1".to_owned(), Some("uid-1".to_owned()))]);
    assert_eq!(harness.status(&request(1)).unwrap().provider_id, vm.provider_id);
    harness.delete(&known).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn with_adoption_a_deletion_needs_no_marks_and_what_is_launched_costs_no_request_more() {
    let harness = Harness::new();
    adopts(&harness);
    let vm = mcm(&harness, 1);
    harness.delete(&with_id(&request(1), &vm)).unwrap();
    assert!(harness.live().is_empty());

    let own = harness.create(&request(2)).unwrap();
    let mut launched = with_id(&request(2), &own);
    launched.machine.last_known_state = own.last_known_state;
    harness.sent();
    assert_eq!(harness.initialize(&launched).unwrap_err().code, Code::Unimplemented);
    assert!(harness.sent().is_empty());
}

#[test]
fn a_right_that_lacks_for_the_marks_is_named_and_the_instance_stays() {
    let harness = Harness::new();
    adopts(&harness);
    let vm = mcm(&harness, 1);
    harness.refuse("CreateTags", 403, "UnauthorizedOperation");
    let error = harness.initialize(&with_id(&request(1), &vm)).unwrap_err();
    assert_eq!(error.code, Code::PermissionDenied);
    assert!(error.message.contains("allow ec2:CreateTags"), "{}", error.message);
    assert_eq!(error.provider_id.as_ref(), Some(&vm.provider_id));
    assert_eq!(harness.live().len(), 1);

    harness.take_away("CreateTags");
    let error = harness.initialize(&with_id(&request(1), &vm)).unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition);
    assert!(error.message.contains("with Action CreateTags in egress"), "{}", error.message);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn an_instance_that_was_launched_for_a_machine_stays_its_own_without_its_tags() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    harness.change(0, |vm| vm.tags.clear());
    let known = with_id(&request(1), &vm);
    assert_eq!(harness.status(&known).unwrap_err().code, Code::Uninitialized);
    harness.delete(&known).unwrap();
    assert!(harness.live().is_empty());
    // Another Machine with that id is not.
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    harness.change(0, |vm| vm.tags.clear());
    nothing_happens(&harness, &with_id(&request(11), &vm));
}

#[test]
fn a_listing_asks_for_both_kinds_and_shows_each_once() {
    let harness = Harness::new();
    adopts(&harness);
    for number in 0..3 {
        mcm(&harness, number);
    }
    harness.create(&request(3)).unwrap();
    harness.change(1, |vm| vm.state = "terminated");
    let first = harness.list("c1", None).unwrap();
    assert_eq!((first.machines.len(), first.next.as_deref()), (1, Some("k:")));
    let names: Vec<String> = pages(&harness, "c1").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["machine-3", "machine-0", "machine-2"]);
    // An operator removes the setting in the middle of a listing.
    harness.configure(&json!({}));
    let rest = harness.list("c1", first.next.as_deref()).unwrap();
    assert!(rest.machines.is_empty() && rest.next.is_none());
    assert!(class(&spec()).spec.contains(KEYS[0]), "the class says it all the while");
}
