//! Instances of machine-controller-manager: no marks, two network tags, the Machine's name.

use machinist_sdk::driver::Code;
use serde_json::json;

use super::harness::{Harness, PROJECT, ZONE, request, request_of, spec_with};

const TAGS: [&str; 2] = ["kubernetes-io-cluster-lab", "kubernetes-io-role-node"];

fn adopting() -> Harness {
    Harness::new().settings(&json!({ "project": PROJECT, "adopt": { "c1": TAGS } }))
}

fn with_old_instance(harness: Harness) -> Harness {
    harness.cloud(|cloud| cloud.plant_in(ZONE, "machine-1", &json!({ "team": "a" }), &TAGS));
    harness
}

#[test]
fn without_the_setting_nothing_happens_to_it() {
    let harness = with_old_instance(Harness::new());
    let mut first = request(1);
    let failures = [
        harness.status(&first).map(|_| ()).unwrap_err(),
        harness.delete(&mut first).unwrap_err(),
        harness.create(&mut first).map(|_| ()).unwrap_err(),
    ];
    for failure in failures {
        assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false));
        assert!(failure.message.contains("kubernetes-io-cluster-NAME"), "{}", failure.message);
    }
    assert_eq!(harness.driver().initialize(&first).map(|_| ()).unwrap_err().code, Code::Unimplemented);
    assert!(harness.list(&first.class, "c1").unwrap().is_empty());
    assert_eq!(harness.vms().len(), 1);
}

#[test]
fn a_namesake_without_the_tags_of_the_class_is_a_strangers() {
    let harness = Harness::new();
    harness.cloud(|cloud| cloud.plant_in(ZONE, "machine-1", &json!({}), &["web"]));
    assert_eq!(harness.status(&request(1)).map(|_| ()).unwrap_err().code, Code::NotFound);
    harness.delete(&mut request(1)).unwrap();
    assert_eq!(harness.vms().len(), 1);
}

#[test]
fn an_adopted_instance_gets_the_marks_and_is_the_machines() {
    let harness = with_old_instance(adopting());
    let mut first = request(1);
    let due = harness.status(&first).map(|_| ()).unwrap_err();
    assert_eq!(due.code, Code::Uninitialized);
    assert_eq!(due.provider_id.as_deref(), Some("gce:///machinist-lab/europe-west1-b/machine-1"));
    assert_eq!(due.node_name.as_deref(), Some("machine-1"));
    let listed = harness.list(&first.class, "c1").unwrap();
    assert_eq!((listed.len(), listed[0].machine_uid.as_deref()), (1, None));
    for _ in 0..2 {
        harness.driver().initialize(&first).unwrap();
    }
    let labels = &harness.vms()[0].labels;
    assert_eq!((labels["team"].as_str(), labels["machinist-machine-uid"].as_str()), ("a", "uid-1"));
    harness.status(&first).unwrap();
    assert_eq!(harness.list(&first.class, "c1").unwrap().len(), 1);
    harness.delete(&mut first).unwrap();
    assert!(harness.vms().is_empty());
}

#[test]
fn labels_that_a_person_changes_meanwhile_are_not_overwritten() {
    let harness = with_old_instance(adopting());
    harness.refuse("instances.setLabels", 412, "conditionNotMet");
    let failure = harness.driver().initialize(&request(1)).map(|_| ()).unwrap_err();
    assert_eq!((failure.code, failure.may_have_happened), (Code::Aborted, false));
}

#[test]
fn an_instance_of_another_cluster_is_not_adopted() {
    let harness = adopting();
    let theirs = ["kubernetes-io-cluster-other", "kubernetes-io-role-node"];
    harness.cloud(|cloud| cloud.plant_in(ZONE, "machine-1", &json!({}), &theirs));
    let mut with_their_tags = request_of(1, &spec_with(json!({ "tags": theirs })));
    assert_eq!(harness.delete(&mut with_their_tags).unwrap_err().code, Code::FailedPrecondition);
    assert!(harness.list(&with_their_tags.class, "c1").unwrap().is_empty());
    assert_eq!(harness.vms().len(), 1);
}
