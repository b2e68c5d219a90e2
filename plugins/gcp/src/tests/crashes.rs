//! A request or an answer is lost, or the host dies, at each moment of a life. There is never a second instance, and
//! nothing is left.

use std::collections::BTreeSet;

use gcp::wire::ApiError;
use gcp::{Effect, Rule};
use machinist_sdk::driver::{Creation, Deletion, Request, VmState};
use serde_json::json;

use super::harness::{Harness, ZONE, forgotten, remember, request_of, spec_with};

/// A life has no more requests than this.
const MOMENTS: usize = 40;
const CALLS: usize = 60;

/// The fate of the host after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// It stores the answer.
    Lives,
    /// It dies after each call that begins with this number of requests, before it stores anything.
    DiesAfter(usize),
    /// All that it stored is lost after each call that begins with this number of requests.
    ForgetsAfter(usize),
}

/// A life as the host leads it: it looks before each create but the first, and creates until there is an instance.
/// Returns the number of requests.
fn live(harness: &Harness, host: Host, zones: &serde_json::Value) -> usize {
    let mut request = request_of(1, &spec_with(json!({ "zones": zones })));
    let mut is_created = false;
    for _ in 0..CALLS {
        let stored = request.clone();
        if let Ok(vm) = harness.status(&request)
            && vm.state == VmState::Running
        {
            request.machine.provider_id = Some(vm.provider_id);
            is_created = true;
            break;
        }
        match harness.driver().create(&request) {
            Ok(Creation::Created(vm)) => {
                request.machine.provider_id = Some(vm.provider_id.clone());
                remember(&mut request, vm.last_known_state.as_ref());
            }
            Ok(Creation::InProgress(progress)) => remember(&mut request, Some(&progress.resume_token)),
            Err(failure) => remember(&mut request, failure.last_known_state.as_ref()),
        }
        survive(harness, host, &mut request, &stored);
        assert!(harness.most() <= 1, "two instances of one Machine");
        harness.pass(100);
    }
    assert!(is_created, "no instance after {CALLS} calls");
    assert_eq!(harness.vms().len(), 1);
    let mut is_gone = false;
    for _ in 0..CALLS {
        let stored = request.clone();
        match harness.driver().delete(&request) {
            Ok(Deletion::Deleted(state)) => {
                remember(&mut request, state.as_ref());
                is_gone = true;
            }
            Ok(Deletion::InProgress(progress)) => remember(&mut request, Some(&progress.resume_token)),
            Err(failure) => remember(&mut request, failure.last_known_state.as_ref()),
        }
        if is_gone {
            break;
        }
        survive(harness, host, &mut request, &stored);
        harness.pass(100);
    }
    assert!(is_gone, "not gone after {CALLS} calls");
    assert!(harness.cloud(|cloud| cloud.is_empty()), "left: {:?}", harness.cloud(|cloud| cloud.disk_names()));
    assert!(harness.most() <= 1);
    harness.host.sent().len()
}

fn survive(harness: &Harness, host: Host, request: &mut Request, stored: &Request) {
    let sent = harness.host.sent().len();
    match host {
        Host::DiesAfter(number) if sent >= number && sent < number + 3 => *request = stored.clone(),
        Host::ForgetsAfter(number) if sent >= number && sent < number + 3 => *request = forgotten(stored),
        Host::Lives | Host::DiesAfter(_) | Host::ForgetsAfter(_) => {}
    }
}

fn harness(full: &[&str]) -> Harness {
    let harness = Harness::new();
    harness.cloud(|cloud| {
        cloud.full_zones = full.iter().map(|zone| (*zone).to_owned()).collect::<BTreeSet<_>>();
    });
    harness
}

/// Runs each life with a plain class, and with one whose first zone has no capacity.
fn each(run: impl Fn(&[&str], &serde_json::Value)) {
    run(&[], &json!([]));
    run(&[ZONE], &json!(["europe-west1-c", "europe-west1-d"]));
}

#[test]
fn a_fault_at_each_request_makes_no_second_instance_and_leaves_nothing() {
    let effects = [
        Effect::LostRequest,
        Effect::LostAnswer,
        Effect::HalfAnswer,
        Effect::RefuseAfter(ApiError::new(503, "backendError", "x")),
        Effect::Refuse(ApiError::new(429, "rateLimitExceeded", "x")),
        Effect::Refuse(ApiError::new(403, "rateLimitExceeded", "x")),
        Effect::Refuse(ApiError::new(401, "authError", "x")),
        Effect::Page { status: 502 },
        Effect::Page { status: 404 },
        Effect::OtherShape,
        Effect::FailOperation { code: "INTERNAL_ERROR".into(), message: "x".into() },
    ];
    each(|full, zones| {
        let requests = live(&harness(full), Host::Lives, zones);
        assert!((4..MOMENTS).contains(&requests), "{requests}");
        for effect in &effects {
            for moment in 0..requests {
                let harness = harness(full);
                harness.cloud(|cloud| cloud.faults.add(Rule::nth(moment, effect.clone())));
                live(&harness, Host::Lives, zones);
                assert!(
                    harness.cloud(|cloud| cloud.faults.is_used_up()),
                    "{effect:?} at {moment} met no request"
                );
            }
        }
    });
}

#[test]
fn a_host_that_dies_at_each_moment_makes_no_second_instance_and_leaves_nothing() {
    each(|full, zones| {
        for moment in 0..MOMENTS {
            for host in [Host::DiesAfter(moment), Host::ForgetsAfter(moment)] {
                live(&harness(full), host, zones);
            }
        }
    });
}

#[test]
fn a_lost_answer_and_a_host_that_forgets_together_make_no_second_instance() {
    each(|full, zones| {
        for lost in 0..20 {
            for moment in 0..20 {
                let harness = harness(full);
                harness.cloud(|cloud| cloud.faults.add(Rule::nth(lost, Effect::LostAnswer)));
                live(&harness, Host::ForgetsAfter(moment), zones);
            }
        }
    });
}
