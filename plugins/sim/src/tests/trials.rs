//! What the driver makes of a cloud that refuses, lags, breaks and lies.

use jiff::SignedDuration;
use serde_json::json;

use super::world::{World, request, request_of, spec, with_id};
use crate::bindings::machinist::provider::types::{Code, DriverError};
use crate::cloud::{Answer, Call, Cloud, Transport};
use crate::machine::Machines;
use crate::trouble::Trouble;

fn create_under(effect: &serde_json::Value) -> (World, DriverError) {
    let world = World::new();
    world.fault("POST", "/v1/vms", effect);
    let error = *world.create(&request(1)).unwrap_err();
    world.faults(json!({}));
    (world, error)
}

#[test]
fn an_outcome_that_nobody_knows_says_so_and_the_key_brings_the_vm_back() {
    let table = [
        (json!({ "type": "timeout" }), Code::DeadlineExceeded),
        (json!({ "type": "error", "code": "internal", "afterCommit": true }), Code::Unavailable),
        (json!({ "type": "error", "code": "unavailable", "afterCommit": true }), Code::Unavailable),
        (json!({ "type": "truncate" }), Code::Unavailable),
        (json!({ "type": "garbage" }), Code::Internal),
        (json!({ "type": "html", "status": 502, "afterCommit": true }), Code::Unavailable),
        (json!({ "type": "html", "status": 200, "afterCommit": true }), Code::Unavailable),
    ];
    for (effect, code) in table {
        let (world, error) = create_under(&effect);
        assert_eq!((error.code, error.may_have_happened, error.terminal), (code, true, false), "{effect}");
        assert!(!error.message.contains('<') && error.message.len() < 300, "{}", error.message);
        assert_eq!(world.live().len(), 1, "{effect}");
        world.create(&request(1)).unwrap();
        assert_eq!(world.live().len(), 1, "{effect}");
    }
}

#[test]
fn throttling_passes_the_cloud_s_own_pause_on() {
    let world = World::new();
    world.fault(
        "POST",
        "/v1/vms",
        &json!({ "type": "throttle", "rate": 0.001, "burst": 1.0, "retryAfter": 7 }),
    );
    world.create(&request(1)).unwrap();
    let error = world.create(&request(2)).unwrap_err();
    assert_eq!((error.code, error.retry_after_ms), (Code::Unavailable, Some(7_000)));
    assert!(!error.may_have_happened);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn credentials_that_are_wrong_or_too_weak_are_told_apart() {
    let world = World::new();
    world.token.set("wrong");
    assert_eq!(world.create(&request(1)).unwrap_err().code, Code::Unauthenticated);
    assert_eq!(world.delete(&request(1)).unwrap_err().code, Code::Unauthenticated);
    world.token.set("sim-read-token");
    assert_eq!(world.create(&request(1)).unwrap_err().code, Code::PermissionDenied);
}

#[test]
fn a_full_zone_leads_to_the_next_and_full_zones_to_exhaustion() {
    let world = World::new();
    let full = |zones: &[&str]| {
        let capacity: Vec<_> =
            zones.iter().map(|zone| json!({ "zone": zone, "type": "*", "limit": 0 })).collect();
        world.faults(json!({ "capacity": capacity }));
    };
    full(&["sim-1a", "sim-1b"]);
    let mut request = request(1);
    request.class.zones = vec!["sim-1a".into(), "sim-1b".into()];
    let error = world.create(&request).unwrap_err();
    assert_eq!(
        (error.code, error.cloud_code.as_deref()),
        (Code::ResourceExhausted, Some("capacity_exhausted"))
    );
    assert!(error.message.ends_with("asked for in sim-1a, sim-1b"), "{}", error.message);
    assert_eq!(world.requests(), 2);

    full(&["sim-1a"]);
    let vm = world.create(&request).unwrap();
    assert_eq!(vm.failure_domain.as_deref(), Some("sim-1b"));
    // With room in the first zone again, the machine is still the one in the second.
    full(&[]);
    assert_eq!(world.create(&request).unwrap().provider_id, vm.provider_id);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_key_used_with_another_class_means_the_vm_that_it_made() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    let mut changed = spec();
    changed["type"] = json!("sim.large");
    world.sent();
    let adopted = world.create(&request_of(1, &changed)).unwrap();
    assert_eq!(adopted.provider_id, vm.provider_id);
    assert_eq!(world.sent(), ["POST /v1/vms", "GET /v1/vms"]);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_vm_that_reads_do_not_show_yet_is_waited_for() {
    let world = World::new();
    world.faults(json!({ "readLagMs": 8_000 }));
    let vm = world.create(&request(1)).unwrap();
    let mut changed = spec();
    changed["image"] = json!("linux-2");
    let error = world.create(&request_of(1, &changed)).unwrap_err();
    assert_eq!(
        (error.code, error.may_have_happened, error.retry_after_ms),
        (Code::Aborted, true, Some(1_000))
    );
    world.pass(SignedDuration::from_secs(9));
    assert_eq!(world.create(&request_of(1, &changed)).unwrap().provider_id, vm.provider_id);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_vm_that_reads_do_not_show_yet_is_deleted_by_its_id() {
    let world = World::new();
    world.faults(json!({ "readLagMs": 8_000 }));
    let vm = world.create(&request(1)).unwrap();
    world.delete(&with_id(&request(1), &vm)).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn a_key_whose_vm_is_gone_never_works_again() {
    let world = World::new();
    world.create(&request(1)).unwrap();
    let id = world.live().remove(0).id;
    world.kill(&id);
    let error = world.create(&request(1)).unwrap_err();
    assert_eq!(
        (error.code, error.terminal, error.may_have_happened),
        (Code::FailedPrecondition, true, false)
    );
    assert!(error.message.contains("delete the Machine"), "{}", error.message);
}

#[test]
fn a_deletion_that_fails_half_way_says_so_and_ends_well_when_repeated() {
    let world = World::new();
    let request = with_id(&request(1), &world.create(&request(1)).unwrap());
    world.fault("DELETE", "/v1/vms/*", &json!({ "type": "timeout", "afterCommit": false }));
    let error = world.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::DeadlineExceeded, true));
    world.fault("GET", "/v1/volumes", &json!({ "type": "error", "code": "unavailable", "retryAfter": 3 }));
    let error = world.delete(&request).unwrap_err();
    assert_eq!(
        (error.code, error.may_have_happened, error.retry_after_ms),
        (Code::Unavailable, false, Some(3_000))
    );
    world.faults(json!({}));
    world.delete(&request).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn a_proxy_s_page_of_nothing_is_no_proof_that_there_is_no_vm() {
    let world = World::new();
    let request = with_id(&request(1), &world.create(&request(1)).unwrap());
    world.fault("GET", "/v1/vms/*", &json!({ "type": "html", "status": 404 }));
    assert_eq!(world.status(&request).unwrap_err().code, Code::Unavailable);
    world.fault("DELETE", "/v1/vms/*", &json!({ "type": "html", "status": 404 }));
    assert_eq!(world.delete(&request).unwrap_err().code, Code::Unavailable);
}

/// Answers the same to everything.
struct Parrot(&'static str);

impl Transport for Parrot {
    fn host(&self) -> &str {
        "parrot.test"
    }

    fn send(&self, _: &Call) -> Result<Answer, Trouble> {
        Ok(Answer { status: 200, is_html: false, retry_after_ms: None, body: self.0.as_bytes().to_vec() })
    }
}

impl Parrot {
    fn machines(&self) -> Machines<'_> {
        Machines { cloud: Cloud::new(self), note: &|_, _| {} }
    }
}

#[test]
fn a_listing_that_turns_in_circles_ends_with_an_error() {
    let parrot = Parrot(r#"{"vms": [], "nextCursor": "again"}"#);
    assert_eq!(parrot.machines().get_status(&request(1)).unwrap_err().code, Code::Internal);
    assert!(parrot.machines().list("c1", None).is_ok());
    assert_eq!(parrot.machines().list("c1", Some("again")).unwrap_err().code, Code::Internal);
}

#[test]
fn answers_that_are_not_the_api_s_are_errors_and_never_an_absence() {
    for body in
        ["", "{", "null", "{}", r#"{"vms": 1}"#, r#"{"vms": [{"id": ""}]}"#, r#"{"vms": [{"id": "vm-1"}]}"#]
    {
        let parrot = Parrot(body);
        for error in [
            parrot.machines().get_status(&request(1)).unwrap_err(),
            parrot.machines().create(&request(1), None).unwrap_err(),
            parrot.machines().delete(&request(1)).unwrap_err(),
        ] {
            assert!(matches!(error.code, Code::Internal | Code::Unavailable), "{body}: {error:?}");
        }
    }
}

#[test]
fn what_a_cloud_lists_beside_the_question_is_not_ours() {
    let parrot = Parrot(
        r#"{"vms": [{"id": "vm-1", "name": "a", "state": "running", "zone": "z", "tags": {"cluster": "c2"}}], "volumes": []}"#,
    );
    assert_eq!(parrot.machines().get_status(&request(1)).unwrap_err().code, Code::NotFound);
    assert!(parrot.machines().list("c1", None).unwrap().machines.is_empty());
    parrot.machines().delete(&request(1)).unwrap();
}
