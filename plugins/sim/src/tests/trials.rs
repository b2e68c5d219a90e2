//! The driver with a cloud that refuses, breaks and lies, and whose reads are stale.

use jiff::SignedDuration;
use machinist_sdk::driver::{Code, Failure, HttpAnswer, Page};
use machinist_sdk::mock::MockHost;
use serde_json::json;

use super::world::{World, class, host, request, request_of, spec, with_id};
use crate::component::SimDriver;

fn create_under(effect: &serde_json::Value) -> (World, Failure) {
    let world = World::new();
    world.fault("POST", "/v1/vms", effect);
    let error = world.create(&request(1)).unwrap_err();
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
    let world = World::new().with_token("wrong");
    assert_eq!(world.create(&request(1)).unwrap_err().code, Code::Unauthenticated);
    assert_eq!(world.delete(&request(1)).unwrap_err().code, Code::Unauthenticated);
    let world = World::new().with_token("sim-read-token");
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
    // The first zone has room again, but the machine's VM is still the one in the second.
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
    let mut with_volume = spec();
    with_volume["volumes"] = json!([{ "sizeGib": 1 }]);
    let request = request_of(1, &with_volume);
    let request = with_id(&request, &world.create(&request).unwrap());
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

/// A host whose cloud gives the same answer to every request.
fn parrot(body: &'static str) -> MockHost<'static> {
    host(move |_| Ok(HttpAnswer { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() }))
}

fn list(host: &MockHost<'_>, token: Option<&str>) -> Result<Page, Failure> {
    host.driver::<SimDriver>().list(&class(&spec()), "c1", token)
}

#[test]
fn a_listing_that_turns_in_circles_ends_with_an_error() {
    let parrot = parrot(r#"{"vms": [], "nextCursor": "again"}"#);
    assert_eq!(parrot.driver::<SimDriver>().get_status(&request(1)).unwrap_err().code, Code::Internal);
    assert!(list(&parrot, None).is_ok());
    assert_eq!(list(&parrot, Some("again")).unwrap_err().code, Code::Internal);
}

#[test]
fn answers_that_are_not_the_api_s_are_errors_and_never_an_absence() {
    for body in
        ["", "{", "null", "{}", r#"{"vms": 1}"#, r#"{"vms": [{"id": ""}]}"#, r#"{"vms": [{"id": "vm-1"}]}"#]
    {
        let parrot = parrot(body);
        for error in [
            parrot.driver::<SimDriver>().get_status(&request(1)).unwrap_err(),
            parrot.driver::<SimDriver>().create(&request(1)).unwrap_err(),
            parrot.driver::<SimDriver>().delete(&request(1)).unwrap_err(),
        ] {
            assert!(matches!(error.code, Code::Internal | Code::Unavailable), "{body}: {error:?}");
        }
    }
}

#[test]
fn what_a_cloud_lists_beside_the_question_is_not_ours() {
    let parrot = parrot(
        r#"{"vms": [{"id": "vm-1", "name": "a", "state": "running", "zone": "z", "tags": {"cluster": "c2"}}], "volumes": []}"#,
    );
    assert_eq!(parrot.driver::<SimDriver>().get_status(&request(1)).unwrap_err().code, Code::NotFound);
    assert!(list(&parrot, None).unwrap().machines.is_empty());
    parrot.driver::<SimDriver>().delete(&request(1)).unwrap();
}
