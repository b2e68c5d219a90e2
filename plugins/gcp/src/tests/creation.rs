//! From a request to exactly one instance.

use gcp::Effect;
use machinist_sdk::driver::{Code, Creation, VmState};
use serde_json::json;

use super::harness::{Harness, PROJECT, USER_DATA, ZONE, forgotten, request, request_of, spec_with};
use crate::gce::pending::Pending;

#[test]
fn one_insert_and_a_few_looks_make_an_instance() {
    let harness = Harness::new();
    let mut request = request(1);
    let vm = harness.create(&mut request).unwrap();
    assert_eq!(vm.provider_id, format!("gce:///{PROJECT}/{ZONE}/machine-1"));
    assert_eq!((vm.node_name.as_str(), vm.state), ("machine-1", VmState::Running));
    assert_eq!(vm.failure_domain.as_deref(), Some(ZONE));
    assert_eq!(vm.addresses.len(), 1);
    assert_eq!(harness.sent(), ["instances.insert", "zoneOperations.get", "instances.get"]);
    let [vm] = harness.vms().try_into().unwrap();
    assert_eq!(vm.labels["machinist-cluster"], "c1");
    assert_eq!(vm.labels["machinist-machine-uid"], "uid-1");
    assert_eq!(vm.resource["metadata"]["items"][0], json!({ "key": "user-data", "value": USER_DATA }));
    assert!(!harness.host.sent().iter().any(|sent| {
        String::from_utf8_lossy(sent.body.as_deref().unwrap_or_default()).contains("a secret of the machine")
    }));
}

#[test]
fn a_repeated_create_finds_the_same_instance() {
    let harness = Harness::new();
    let mut first = request(1);
    let vm = harness.create(&mut first).unwrap();
    for mut again in [first.clone(), forgotten(&first)] {
        assert_eq!(harness.create(&mut again).unwrap().provider_id, vm.provider_id);
    }
    assert_eq!((harness.vms().len(), harness.most()), (1, 1));
}

#[test]
fn a_create_that_google_has_forgotten_finds_its_instance_by_name() {
    let harness = Harness::new();
    let first = request(1);
    harness.create(&mut first.clone()).unwrap();
    harness.cloud(|cloud| cloud.config.request_id_ms = 0);
    harness.sent();
    let vm = harness.create(&mut forgotten(&first)).unwrap();
    assert_eq!(vm.node_name, "machine-1");
    assert_eq!(harness.sent(), ["instances.insert", "zoneOperations.list", "instances.get"]);
    assert_eq!(harness.vms().len(), 1);
}

#[test]
fn a_changed_class_makes_no_second_instance() {
    let harness = Harness::new();
    let mut first = request(1);
    // The host dies before it stores anything.
    assert!(matches!(harness.driver().create(&first).unwrap(), Creation::InProgress(_)));
    first.class = super::harness::class(&spec_with(json!({ "machineType": "n2-standard-4" })));
    let vm = harness.create(&mut first).unwrap();
    assert_eq!((vm.node_name.as_str(), harness.vms().len(), harness.most()), ("machine-1", 1, 1));
}

#[test]
fn a_class_that_moves_to_another_zone_takes_the_instance_with_it() {
    let harness = Harness::new();
    let mut first = request(1);
    let Creation::InProgress(progress) = harness.driver().create(&first).unwrap() else { panic!("too fast") };
    first.machine.last_known_state = Some(progress.resume_token);
    first.class = super::harness::class(&spec_with(json!({ "zone": "europe-west1-c" })));
    let vm = harness.create(&mut first).unwrap();
    assert_eq!((vm.failure_domain.as_deref(), harness.vms().len()), (Some(ZONE), 1));
}

#[test]
fn an_instance_that_a_person_removed_is_created_again() {
    let harness = Harness::new();
    let mut first = request(1);
    harness.create(&mut first).unwrap();
    harness.cloud(|cloud| cloud.remove_by_hand(ZONE, "machine-1"));
    for mut again in [first.clone(), forgotten(&first)] {
        harness.create(&mut again).unwrap();
        assert_eq!((harness.vms().len(), harness.most()), (1, 1));
        harness.cloud(|cloud| cloud.remove_by_hand(ZONE, "machine-1"));
    }
}

#[test]
fn an_operation_that_fails_is_followed_by_one_with_another_id() {
    let harness = Harness::new();
    let mut request = request(1);
    let fail =
        || Effect::FailOperation { code: "QUOTA_EXCEEDED".into(), message: "Quota 'CPUS' exceeded.".into() };
    harness.fault("instances.insert", fail());
    let failure = harness.create(&mut request).unwrap_err();
    assert_eq!((failure.code, failure.may_have_happened), (Code::ResourceExhausted, false));
    assert_eq!(failure.cloud_code.as_deref(), Some("QUOTA_EXCEEDED"));
    assert_eq!(Pending::parse(request.machine.last_known_state.as_deref()).attempt, 1);
    assert!(harness.cloud(|cloud| cloud.is_empty()), "a failed operation leaves nothing");
    harness.create(&mut request).unwrap();
    assert_eq!(harness.vms().len(), 1);
    // A host that forgot everything meets the failed operation again, and gets on.
    let mut other = super::harness::request(2);
    harness.fault("instances.insert", fail());
    harness.create(&mut other.clone()).unwrap_err();
    harness.create(&mut other).unwrap_err();
    harness.create(&mut other).unwrap();
    assert_eq!(harness.vms().len(), 2);
}

#[test]
fn names_that_google_does_not_take_are_refused_before_anything_is_sent() {
    let harness = Harness::new();
    for name in ["machine.1", "1-machine", &"m".repeat(64)] {
        let mut request = request(1);
        request.machine.name = name.to_owned();
        let failure = harness.create(&mut request).unwrap_err();
        assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true), "{name}");
        assert!(failure.message.contains("63"), "{}", failure.message);
    }
    assert!(harness.sent().is_empty());
}

#[test]
fn a_name_that_belongs_to_somebody_else_is_left_alone() {
    let labels =
        |cluster: &str, uid: &str| json!({ "machinist-cluster": cluster, "machinist-machine-uid": uid });
    for (labels, code, words) in [
        (labels("c1", "uid-of-another"), Code::AlreadyExists, "another Machine of this cluster"),
        (labels("c2", "uid-of-another"), Code::AlreadyExists, "belongs to cluster c2"),
        (labels("c2", "uid-1"), Code::FailedPrecondition, "--cluster-id=c2"),
        (json!({}), Code::FailedPrecondition, "carries no mark"),
    ] {
        let harness = Harness::new();
        harness.cloud(|cloud| cloud.plant_in(ZONE, "machine-1", &labels, &[]));
        let failure = harness.create(&mut request(1)).unwrap_err();
        assert_eq!(failure.code, code, "{}", failure.message);
        assert!(failure.message.contains(words), "{}", failure.message);
        assert_eq!(harness.vms().len(), 1);
    }
}

#[test]
fn the_disk_of_an_earlier_instance_is_removed_first() {
    let harness = Harness::new();
    let own = json!({ "machinist-cluster": "c1", "machinist-machine-uid": "uid-1" });
    harness.cloud(|cloud| cloud.plant_disk(ZONE, "machine-1", &own));
    harness.create(&mut request(1)).unwrap();
    assert_eq!(harness.vms().len(), 1);

    let harness = Harness::new();
    harness.cloud(|cloud| cloud.plant_disk(ZONE, "machine-1", &json!({ "owner": "a-person" })));
    let failure = harness.create(&mut request(1)).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false));
    assert!(failure.message.contains("disks/machine-1"), "{}", failure.message);
    assert_eq!(harness.cloud(|cloud| cloud.disk_names()), [format!("{ZONE}/machine-1")]);
}

#[test]
fn user_data_has_its_key_by_its_first_line_and_may_be_empty() {
    for (text, key) in [
        ("#cloud-config\n{}\n", Some("user-data")),
        ("## template: jinja\n#cloud-config\n{}\n", Some("user-data")),
        ("#!/bin/sh\necho \"x\"\n", Some("startup-script")),
        ("", None),
    ] {
        let harness = Harness::new().user_data(text);
        harness.create(&mut request(1)).unwrap();
        let [vm] = harness.vms().try_into().unwrap();
        match key {
            Some(key) => assert_eq!(vm.resource["metadata"]["items"], json!([{ "key": key, "value": text }])),
            None => assert!(vm.resource["metadata"]["items"].is_null()),
        }
    }
    let harness = Harness::new().user_data(&"x".repeat(256 * 1024 + 1));
    let failure = harness.create(&mut request(1)).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
    let script = spec_with(json!({ "metadata": [{ "key": "startup-script", "value": "x" }] }));
    let harness = Harness::new().user_data("#!/bin/sh\n");
    let failure = harness.create(&mut request_of(1, &script)).unwrap_err();
    assert!(failure.message.contains("has the key startup-script"), "{}", failure.message);
    assert!(harness.sent().is_empty());
}
