//! Google's errors, half answers, credentials.

use gcp::Effect;
use gcp::wire::ApiError;
use machinist_sdk::driver::{Code, Failure, HttpAnswer, NoAnswerReason};
use machinist_sdk::mock::{MockHost, Place, json_answer};
use serde_json::json;

use super::harness::{Harness, PROJECT, USER_DATA, request, request_of, spec_with};
use crate::component::GcpDriver;

#[test]
fn refusals_have_their_codes_say_what_to_do_and_leave_nothing() {
    for (status, reason, code, terminal, advice) in [
        (400, "invalid", Code::InvalidArgument, true, "correct the MachineClass's providerSpec"),
        (400, "badRequest", Code::InvalidArgument, true, "correct the MachineClass's providerSpec"),
        (401, "authError", Code::Unauthenticated, true, "put a valid key"),
        (403, "forbidden", Code::PermissionDenied, false, "roles/compute.instanceAdmin.v1"),
        (403, "accessNotConfigured", Code::PermissionDenied, false, "enable the Compute Engine API"),
        (403, "quotaExceeded", Code::ResourceExhausted, false, "raise the project's quota"),
        (403, "rateLimitExceeded", Code::Unavailable, false, "more slowly"),
        (403, "userRateLimitExceeded", Code::Unavailable, false, "more slowly"),
        (403, "somethingNew", Code::PermissionDenied, false, ""),
        (404, "notFound", Code::InvalidArgument, true, "or create it"),
        (412, "conditionNotMet", Code::Aborted, false, "tried again"),
        (429, "rateLimitExceeded", Code::Unavailable, false, "more slowly"),
    ] {
        let harness = Harness::new();
        // The host has a new token after a 401, and the driver asks once more.
        for _ in 0..=usize::from(status == 401) {
            harness.refuse("instances.insert", status, reason);
        }
        let failure = harness.create(&mut request(1)).unwrap_err();
        assert_eq!((failure.code, failure.terminal), (code, terminal), "{reason}: {}", failure.message);
        assert!(!failure.may_have_happened, "{reason}");
        assert_eq!(failure.cloud_code.as_deref(), Some(reason));
        assert!(failure.message.starts_with("failed to create the instance: because"), "{}", failure.message);
        assert!(failure.message.contains(advice), "{}", failure.message);
        assert!(harness.cloud(|cloud| cloud.is_empty()));
        harness.create(&mut request(1)).unwrap();
    }
}

#[test]
fn an_organisation_policy_says_what_to_change_and_is_not_terminal() {
    let refusal = |text: &str| Effect::Refuse(ApiError::new(412, "conditionNotMet", text));
    let failed = |code: &str| Effect::FailOperation { code: code.to_owned(), message: "x".to_owned() };
    for effect in [
        refusal("Constraint constraints/compute.vmExternalIpAccess violated for project machinist-lab."),
        refusal(
            "Operation denied by org policy on resource 'machine-1': [customConstraints/custom.n1: no N1].",
        ),
        failed("CONDITION_NOT_MET"),
        failed("ORG_POLICY_VIOLATION"),
    ] {
        let harness = Harness::new();
        harness.fault("instances.insert", effect.clone());
        let failure = harness.create(&mut request(1)).unwrap_err();
        assert_eq!(
            (failure.code, failure.terminal, failure.may_have_happened),
            (Code::FailedPrecondition, false, false),
            "{effect:?}"
        );
        assert!(failure.message.contains("organisation policy"), "{}", failure.message);
        assert!(harness.cloud(|cloud| cloud.is_empty()), "{effect:?}");
    }
}

#[test]
fn throttling_says_when_to_come_again() {
    for status in [403, 429] {
        let harness = Harness::new();
        let mut first = request(1);
        harness.create(&mut first).unwrap();
        let throttled = Effect::Refuse(ApiError {
            retry_after: Some(7),
            ..ApiError::new(status, "rateLimitExceeded", "x")
        });
        harness.fault("instances.get", throttled.clone());
        let looked = harness.status(&first).map(|_| ()).unwrap_err();
        harness.fault("instances.insert", throttled.clone());
        let created = harness.create(&mut request(2)).map(|_| ()).unwrap_err();
        harness.fault("instances.aggregatedList", throttled.clone());
        let listed = harness.list(&first.class, "c1").map(|_| ()).unwrap_err();
        harness.fault("instances.delete", throttled);
        let deleted = harness.delete(&mut first).unwrap_err();
        for failure in [looked, created, listed, deleted] {
            assert_eq!(
                (failure.code, failure.retry_after_ms, failure.may_have_happened),
                (Code::Unavailable, Some(7_000), false),
                "{status}: {}",
                failure.message
            );
        }
    }
}

#[test]
fn outages_may_have_happened_and_carry_their_pause() {
    for effect in [
        Effect::RefuseAfter(ApiError { retry_after: Some(7), ..ApiError::new(503, "backendError", "x") }),
        Effect::LostAnswer,
        Effect::LostRequest,
        Effect::HalfAnswer,
        Effect::Page { status: 502 },
        Effect::Page { status: 200 },
        Effect::OtherShape,
    ] {
        let harness = Harness::new();
        harness.fault("instances.insert", effect.clone());
        let mut request = request(1);
        let failure = harness.create(&mut request).unwrap_err();
        assert!(failure.may_have_happened, "{effect:?}");
        assert_ne!(failure.code, Code::NotFound);
        if let Effect::RefuseAfter(_) = effect {
            assert_eq!(failure.retry_after_ms, Some(7_000));
        }
        harness.create(&mut request).unwrap();
        assert_eq!((harness.vms().len(), harness.most()), (1, 1), "{effect:?}");
    }
}

#[test]
fn nothing_but_googles_own_word_means_that_there_is_none() {
    let harness = Harness::new();
    let mut first = request(1);
    harness.create(&mut first).unwrap();
    for on in ["instances.get", "instances.aggregatedList"] {
        for effect in [
            Effect::Page { status: 404 },
            Effect::Page { status: 200 },
            Effect::OtherShape,
            Effect::HalfAnswer,
            Effect::LostAnswer,
            Effect::Refuse(ApiError::not_found("projects/machinist-lab")),
            Effect::Refuse(ApiError::new(500, "backendError", "x")),
            Effect::Refuse(ApiError::new(403, "forbidden", "x")),
        ] {
            let mut asked = first.clone();
            if on == "instances.aggregatedList" {
                asked.machine.provider_id = None;
            }
            harness.fault(on, effect.clone());
            let failure = harness.status(&asked).map(|_| ()).unwrap_err();
            assert_ne!(failure.code, Code::NotFound, "{on} {effect:?}");
            assert!(!failure.may_have_happened, "a look changes nothing");
            harness.fault(on, effect.clone());
            asked.machine.last_known_state = None;
            let deleted = harness.delete(&mut asked);
            assert!(deleted.is_err() || harness.vms().is_empty(), "{on} {effect:?}");
            if harness.vms().is_empty() {
                harness.cloud(|cloud| cloud.faults.clear());
                harness.create(&mut first).unwrap();
            }
        }
    }
}

#[test]
fn an_incomplete_listing_is_an_error() {
    for (answer, words) in [
        (json!({ "items": { "zones/a": { "warning": { "code": "UNREACHABLE" } } } }), "leaves out a zone"),
        (json!({ "items": {}, "unreachables": ["zones/a"] }), "cannot be reached"),
        (json!({ "items": { "zones/a": { "instances": [{ "name": "x" }] } } }), "unreadable"),
        (json!({ "kind": "x" }), "no items"),
        (json!([]), "no items"),
        (json!({ "items": {}, "nextPageToken": "7" }), "same page"),
        (json!({ "items": {}, "nextPageToken": 8 }), "unreadable page token"),
        (json!({ "items": { "zones/a": { "instances": {} } } }), "unreadable zone"),
        (json!({ "items": { "zones/a": 7 } }), "unreadable zone"),
    ] {
        let host = MockHost::answering([Ok(json_answer(200, &answer))])
            .settings(json!({ "project": PROJECT }).to_string())
            .secret("serviceAccountJSON", "{}", &[]);
        let class = request(1).class;
        let failure = host.driver::<GcpDriver>().list(&class, "c1", Some("m:7")).map(|_| ()).unwrap_err();
        assert_eq!((failure.code, failure.may_have_happened), (Code::Internal, false));
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[test]
fn pages_that_repeat_and_pages_without_an_end_are_errors_after_few_requests() {
    for (is_new_page, most, words) in [(false, 2, "same page"), (true, 20, "ever further pages")] {
        let mut number = 0;
        let host = MockHost::new(move |_| {
            number += usize::from(is_new_page);
            Ok(json_answer(200, &json!({ "items": {}, "nextPageToken": format!("page-{number}") })))
        })
        .settings(json!({ "project": PROJECT }).to_string())
        .secret("serviceAccountJSON", "{}", &[]);
        let driver = host.driver::<GcpDriver>();
        for is_deletion in [false, true] {
            host.clear();
            let searched = if is_deletion {
                driver.delete(&request(1)).map(|_| ())
            } else {
                driver.get_status(&request(1)).map(|_| ())
            };
            let failure = searched.unwrap_err();
            assert_eq!((failure.code, failure.terminal), (Code::Internal, false), "{}", failure.message);
            assert!(failure.message.contains(words), "{}", failure.message);
            assert!(failure.message.contains("look at what is between"), "{}", failure.message);
            assert_eq!(host.sent().len(), most, "{}", failure.message);
        }
    }
}

#[test]
fn attack_a_refusal_that_repeats_user_data_is_not_shown() {
    let harness = Harness::new();
    let text =
        format!("Invalid value for field 'resource.metadata.items[0].value': '{USER_DATA} in other words'.");
    harness.fault("instances.insert", Effect::Refuse(ApiError::invalid(text)));
    let failure = harness.create(&mut request(1)).unwrap_err();
    assert!(
        !failure.message.contains("secret") && !failure.message.contains("other words"),
        "{}",
        failure.message
    );
    assert!(failure.message.contains("metadata"), "{}", failure.message);
}

#[test]
fn an_operation_that_fails_without_a_reason_is_a_failure() {
    let harness = Harness::new();
    harness.fault("instances.insert", Effect::FailOperation { code: String::new(), message: String::new() });
    let failure = harness.create(&mut request(1)).unwrap_err();
    assert_eq!((failure.code, failure.may_have_happened), (Code::Internal, false));
    assert!(failure.message.contains("gives no reason"), "{}", failure.message);
}

fn refused(answer: HttpAnswer) -> Failure {
    let host = MockHost::answering([Ok(answer.clone()), Ok(answer)])
        .settings(json!({ "project": PROJECT }).to_string())
        .secret("serviceAccountJSON", "{}", &[])
        .user_data("x", &[Place::json("/metadata/items/0/value")]);
    host.driver::<GcpDriver>().create(&request(1)).map(|_| ()).unwrap_err()
}

#[test]
fn a_token_service_that_refuses_is_not_google_refusing() {
    let failed = |status: u16, body: serde_json::Value, skew: Option<&str>| {
        let mut answer = json_answer(status, &body);
        answer.headers.push(("machinist-auth".to_owned(), "failed".to_owned()));
        answer.headers.extend(skew.map(|skew| ("machinist-clock-skew".to_owned(), skew.to_owned())));
        refused(answer)
    };
    let grant = json!({ "error": "invalid_grant", "error_description": "Invalid JWT Signature." });
    let failure = failed(400, grant.clone(), None);
    assert_eq!(
        (failure.code, failure.terminal, failure.may_have_happened),
        (Code::Unauthenticated, true, false)
    );
    assert!(
        failure.message.contains("Invalid JWT Signature.") && failure.message.contains("valid key"),
        "{}",
        failure.message
    );
    let failure = failed(400, grant, Some("-3600"));
    assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, false));
    assert!(failure.message.contains("3600 seconds"), "{}", failure.message);
    let text =
        "Invalid JWT: Token must be a short-lived token. Check your iat and exp values in the JWT claim.";
    let failure = failed(400, json!({ "error": "invalid_grant", "error_description": text }), None);
    assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, false));
    assert!(failure.message.contains("clock may be off"), "{}", failure.message);
    let failure = failed(503, json!({ "error": "backendError" }), None);
    assert_eq!(
        (failure.code, failure.terminal, failure.may_have_happened),
        (Code::Unavailable, false, false)
    );
    let body =
        json!({ "error": { "code": 403, "message": "Permission denied", "status": "PERMISSION_DENIED" } });
    let failure = failed(403, body, None);
    assert_eq!((failure.code, failure.terminal), (Code::PermissionDenied, false));
    assert!(failure.message.contains("workloadIdentityUser"), "{}", failure.message);
}

#[test]
fn the_host_s_own_pause_is_passed_on() {
    let headers = vec![
        ("machinist-throttled".to_owned(), "true".to_owned()),
        ("retry-after".to_owned(), "9".to_owned()),
    ];
    let failure = refused(HttpAnswer { status: 429, headers, body: b"slow down".to_vec() });
    assert_eq!(
        (failure.code, failure.retry_after_ms, failure.may_have_happened),
        (Code::Unavailable, Some(9_000), false)
    );
}

#[test]
fn missing_credentials_and_projects_are_named_and_nothing_is_sent() {
    let try_with =
        |host: MockHost<'_>| host.driver::<GcpDriver>().get_status(&request(1)).map(|_| ()).unwrap_err();
    let silent = || MockHost::new(|_| Err(NoAnswerReason::Unreachable)).settings(r#"{"project": "p"}"#);
    let failure = try_with(silent());
    assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, true));
    assert!(failure.message.contains("serviceAccountJSON"), "{}", failure.message);
    // The first key that exists counts, even if it is empty.
    let failure =
        try_with(silent().secret("serviceAccountJSON", "", &[]).secret("credentialsConfig", "{}", &[]));
    assert_eq!(failure.code, Code::Unauthenticated);
    for key in ["serviceAccountJSON", "serviceaccount.json", "credentialsConfig"] {
        assert_eq!(try_with(silent().secret(key, "{}", &[])).code, Code::Unavailable, "{key}");
    }
    let nowhere =
        || MockHost::new(|_| Err(NoAnswerReason::Unreachable)).secret("credentialsConfig", "{}", &[]);
    let failure = try_with(nowhere());
    assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false));
    assert!(failure.message.contains("projectID"), "{}", failure.message);
    // Without the grant the driver cannot read it.
    assert_eq!(try_with(nowhere().secret("projectID", "p", &[])).code, Code::FailedPrecondition);
    assert_eq!(
        try_with(nowhere().secret("projectID", " p\n", &[]).revealing("projectID")).code,
        Code::Unavailable
    );
    assert_eq!(
        try_with(nowhere().secret("projectID", "../x", &[]).revealing("projectID")).code,
        Code::InvalidArgument
    );
    assert_eq!(try_with(nowhere().settings(r#"{"project": "../x"}"#)).code, Code::FailedPrecondition);
}

#[test]
fn the_project_of_the_service_account_is_the_last_that_counts() {
    let part = "serviceAccountJSON#/project_id";
    let get = |project: &str, settings: &str, grant: &str| {
        let host = MockHost::new(|_| Err(NoAnswerReason::Unreachable))
            .secret("serviceAccountJSON", "{}", &[])
            .secret(part, project, &[])
            .revealing(grant)
            .settings(settings);
        let failure = host.driver::<GcpDriver>().get_status(&request(1)).map(|_| ()).unwrap_err();
        (failure.code, host.sent().iter().map(|request| request.url.clone()).collect::<Vec<_>>())
    };
    let (code, sent) = get("of-account", "{}", part);
    assert_eq!(code, Code::Unavailable);
    assert!(sent[0].contains("/projects/of-account/"), "{sent:?}");
    let (_, sent) = get("of-account", r#"{"project": "of-settings"}"#, part);
    assert!(sent[0].contains("/projects/of-settings/"), "{sent:?}");
    assert_eq!(get("of-account", "{}", "").0, Code::FailedPrecondition, "not revealed");
    assert_eq!(get("../x", "{}", part).0, Code::InvalidArgument);
}

#[test]
fn a_class_that_names_what_google_lacks_is_refused_with_googles_words() {
    let disks =
        |image: &str, kind: &str| json!({ "disks": [{ "boot": true, "image": image, "type": kind }] });
    let nic = |subnetwork: &str| json!({ "networkInterfaces": [{ "subnetwork": subnetwork }] });
    for (fields, code, words) in [
        (json!({ "zone": "europe-west1-z" }), Code::InvalidArgument, "Unknown zone"),
        (json!({ "region": "us-east1" }), Code::InvalidArgument, "subnetwork resource cannot be found"),
        (json!({ "machineType": "n9-none" }), Code::ResourceExhausted, "does not exist in zone"),
        (disks("projects/x/global/images/y", "pd-ssd"), Code::InvalidArgument, "images/y' was not found"),
        (disks(super::harness::IMAGE, "floppy"), Code::InvalidArgument, "diskType resource cannot be found"),
        (nic("none"), Code::InvalidArgument, "subnetwork resource cannot be found"),
        (
            json!({ "gpu": { "acceleratorType": "none", "count": 1 } }),
            Code::InvalidArgument,
            "does not exist",
        ),
    ] {
        let harness = Harness::new();
        let failure = harness.create(&mut request_of(1, &spec_with(fields.clone()))).unwrap_err();
        assert_eq!(failure.code, code, "{fields}: {}", failure.message);
        assert_eq!(failure.terminal, code == Code::InvalidArgument, "{fields}");
        assert!(failure.message.contains(words), "{fields}: {}", failure.message);
        assert!(!failure.may_have_happened);
        assert!(harness.cloud(|cloud| cloud.is_empty()), "{fields}");
    }
}

#[test]
fn a_token_that_ended_is_replaced_once() {
    let harness = Harness::new();
    let mut first = request(1);
    harness.create(&mut first).unwrap();
    harness.cloud(|cloud| cloud.identity.revoke_all());
    harness.sent();
    harness.status(&first).unwrap();
    assert_eq!(harness.sent(), ["instances.get", "instances.get"]);
}

#[test]
fn the_class_names_the_project_before_secret_and_settings() {
    let harness = Harness::new().settings(&json!({ "project": "somewhere-else" }));
    assert_eq!(harness.create(&mut request(1)).unwrap_err().code, Code::PermissionDenied);
    let mut own = request_of(1, &spec_with(json!({ "project": PROJECT })));
    harness.create(&mut own).unwrap();
    // The id names it too.
    let mut known = request(1);
    known.machine.provider_id.clone_from(&own.machine.provider_id);
    harness.status(&known).unwrap();
}
