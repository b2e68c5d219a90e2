//! Zones that a create tries one after the other.

use gcp::Effect;
use machinist_sdk::driver::{Code, Creation, Request};
use serde_json::json;

use super::harness::{Harness, ZONE, class, forgotten, remember, request_of, spec, spec_with};
use crate::gce::pending::Pending;

/// A class with a further zone of its own; the host names another one and one of another region.
fn three_zones() -> Request {
    let mut request = request_of(1, &spec_with(json!({ "zones": ["europe-west1-c"] })));
    request.class.zones = ["europe-west1-b", "us-central1-a", "europe-west1-d"].map(str::to_owned).to_vec();
    request
}

fn full(harness: &Harness, zones: &[&str]) {
    harness.cloud(|cloud| cloud.full_zones = zones.iter().map(|zone| (*zone).to_owned()).collect());
}

#[test]
fn a_zone_without_capacity_is_followed_by_the_next() {
    let harness = Harness::new();
    full(&harness, &[ZONE, "europe-west1-c"]);
    let mut request = three_zones();
    let vm = harness.create(&mut request).unwrap();
    assert_eq!(vm.failure_domain.as_deref(), Some("europe-west1-d"));
    assert_eq!((harness.vms().len(), harness.most()), (1, 1));
    // Without id and state it is found in any zone.
    assert_eq!(harness.status(&forgotten(&request)).unwrap().provider_id, vm.provider_id);
    harness.delete(&mut forgotten(&request)).unwrap();
    assert!(harness.cloud(|cloud| cloud.is_empty()));
}

#[test]
fn the_host_stores_the_next_zone_before_anything_is_sent_there() {
    let harness = Harness::new();
    full(&harness, &[ZONE]);
    let mut request = three_zones();
    loop {
        let Creation::InProgress(progress) = harness.driver().create(&request).unwrap() else {
            panic!("no zone")
        };
        remember(&mut request, Some(&progress.resume_token));
        if progress.message.contains("is tried next") {
            assert_eq!(progress.ask_again_ms, 0);
            break;
        }
        harness.pass(1_000);
    }
    assert!(harness.vms().is_empty());
    let state = Pending::parse(request.machine.last_known_state.as_deref());
    assert_eq!((state.zone.as_deref(), state.attempt, state.insert), (Some("europe-west1-c"), 1, None));
    // A lost answer stays in its zone, whatever capacity the first one has by then.
    full(&harness, &[]);
    harness.fault("instances.insert", Effect::LostAnswer);
    let failure = harness.create(&mut request).unwrap_err();
    assert!(failure.may_have_happened);
    let vm = harness.create(&mut request).unwrap();
    assert_eq!(vm.failure_domain.as_deref(), Some("europe-west1-c"));
    assert_eq!((harness.vms().len(), harness.most()), (1, 1));
}

#[test]
fn a_lost_answer_in_the_first_zone_makes_one_instance() {
    let harness = Harness::new();
    let first = three_zones();
    harness.fault("instances.insert", Effect::LostAnswer);
    let mut request = first.clone();
    assert!(harness.create(&mut request).unwrap_err().may_have_happened);
    // The zone is full then. The instance of the lost answer is the machine's, whatever the host has stored.
    full(&harness, &[ZONE]);
    for mut again in [request, first] {
        assert_eq!(harness.create(&mut again).unwrap().failure_domain.as_deref(), Some(ZONE));
        assert_eq!((harness.vms().len(), harness.most()), (1, 1));
    }
}

#[test]
fn each_zone_has_a_request_id_of_its_own_that_repetitions_keep() {
    let harness = Harness::new();
    full(&harness, &[ZONE, "europe-west1-c", "europe-west1-d"]);
    let mut request = three_zones();
    harness.create(&mut request).unwrap_err();
    let inserts: Vec<String> = harness
        .host
        .sent()
        .iter()
        .filter_map(|sent| sent.url.split_once("requestId=").map(|(_, id)| id.to_owned()))
        .collect();
    let distinct: std::collections::BTreeSet<&String> = inserts.iter().collect();
    assert_eq!((inserts.len(), distinct.len()), (3, 3), "{inserts:?}");
    // A host that stored nothing sends the first one again.
    harness.create(&mut three_zones()).unwrap_err();
    let again = harness.host.sent().iter().filter(|sent| sent.url.contains(&inserts[0])).count();
    assert_eq!(again, 2);
}

#[test]
fn after_the_last_zone_the_answer_is_no_and_the_first_one_is_next() {
    let harness = Harness::new();
    full(&harness, &[ZONE, "europe-west1-c", "europe-west1-d"]);
    let mut request = three_zones();
    let failure = harness.create(&mut request).unwrap_err();
    assert_eq!(
        (failure.code, failure.may_have_happened, failure.terminal),
        (Code::ResourceExhausted, false, false)
    );
    assert_eq!(failure.cloud_code.as_deref(), Some("ZONE_RESOURCE_POOL_EXHAUSTED"));
    let state = Pending::parse(request.machine.last_known_state.as_deref());
    assert_eq!((state.zone.as_deref(), state.attempt), (Some(ZONE), 3));
    full(&harness, &[]);
    assert_eq!(harness.create(&mut request).unwrap().failure_domain.as_deref(), Some(ZONE));
}

#[test]
fn a_machine_type_that_a_zone_lacks_is_looked_for_in_the_next() {
    let harness = Harness::new();
    let mut request =
        request_of(1, &spec_with(json!({ "machineType": "m1-ultramem-40", "zones": ["europe-west1-c"] })));
    assert_eq!(harness.create(&mut request).unwrap().failure_domain.as_deref(), Some("europe-west1-c"));
    let failure = harness
        .create(&mut request_of(2, &spec_with(json!({ "machineType": "m1-ultramem-40" }))))
        .unwrap_err();
    assert_eq!(failure.code, Code::ResourceExhausted, "{}", failure.message);
}

#[test]
fn quotas_and_doubts_lead_to_no_other_zone() {
    for effect in [
        Effect::FailOperation { code: "QUOTA_EXCEEDED".into(), message: "x".into() },
        Effect::Refuse(gcp::wire::ApiError::new(503, "ZONE_RESOURCE_POOL_EXHAUSTED", "x")),
        Effect::LostRequest,
    ] {
        let harness = Harness::new();
        harness.fault("instances.insert", effect);
        let mut request = three_zones();
        harness.create(&mut request).unwrap_err();
        assert_eq!(harness.create(&mut request).unwrap().failure_domain.as_deref(), Some(ZONE));
    }
}

#[test]
fn a_zone_that_the_class_no_longer_names_is_looked_at_first() {
    let harness = Harness::new();
    full(&harness, &[ZONE]);
    let mut request = three_zones();
    harness.fault("instances.insert", Effect::FailOperation { code: "STOCKOUT".into(), message: "x".into() });
    for _ in 0..5 {
        if let Ok(Creation::InProgress(progress)) = harness.driver().create(&request) {
            remember(&mut request, Some(&progress.resume_token));
            harness.pass(1_000);
        }
        if Pending::parse(request.machine.last_known_state.as_deref()).zone.as_deref()
            == Some("europe-west1-c")
        {
            break;
        }
    }
    harness.fault("instances.insert", Effect::LostAnswer);
    harness.create(&mut request).unwrap_err();
    full(&harness, &[]);
    request.class = class(&spec());
    assert_eq!(harness.create(&mut request).unwrap().failure_domain.as_deref(), Some("europe-west1-c"));
    assert_eq!((harness.vms().len(), harness.most()), (1, 1));
}

#[test]
fn a_class_in_a_failure_domain_has_one_zone() {
    let harness = Harness::new();
    let placed = harness.driver().place(&three_zones().class, "europe-west1-e").unwrap();
    let placed = serde_json::from_str(&placed).unwrap();
    let mut request = request_of(1, &placed);
    assert_eq!(harness.create(&mut request).unwrap().failure_domain.as_deref(), Some("europe-west1-e"));
    for nowhere in ["us-central1-a", "europe-west1", "nowhere-9z", "", "europe-west1-b/x"] {
        let failure = harness.driver().place(&three_zones().class, nowhere).unwrap_err();
        assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true), "{nowhere}");
    }
    let warnings = harness.driver().validate_class(&three_zones().class).unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("us-central1-a")), "{warnings:?}");
    assert!(harness.driver().validate_class(&request_of(1, &spec()).class).unwrap().is_empty());
}
