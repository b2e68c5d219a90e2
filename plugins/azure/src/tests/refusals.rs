//! Refusals of Azure, as the host and people see them.

use azure_cloud::{Client, Effect, Options, Rule};
use machinist_sdk::driver::{Code, Failure};
use serde_json::json;

use super::harness::{Stage, USER_DATA, request, request_of, spec_with};

fn created(world: &Stage) -> Failure {
    world.create(&request(1)).map(|_| ()).expect_err("a refusal")
}

#[test]
fn a_wrong_secret_is_named_and_terminal() {
    let table: [(&str, &str, &str); 3] = [
        ("clientSecret", "wrong-secret-value", "clientSecret"),
        ("clientID", "33333333-0000-4000-8000-000000000000", "clientID and tenantID"),
        ("tenantID", "44444444-0000-4000-8000-000000000000", "tenantID"),
    ];
    for (key, value, advice) in table {
        let world = Stage::plain();
        world.set_secret(key, value);
        let failure = created(&world);
        assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, true), "{key}: {failure}");
        assert!(failure.message.contains(advice) && !failure.message.contains("wrong-secret"), "{failure}");
    }
    let mut options = Options::default();
    options.clients = vec![Client { is_expired: true, ..options.clients[0].clone() }];
    let failure = created(&Stage::new(options));
    assert!(failure.message.contains("has expired"), "{failure}");
    let world = Stage::plain();
    world.set_secret("subscriptionID", "sub-2");
    let failure = created(&world);
    assert_eq!(failure.code, Code::FailedPrecondition);
    assert!(failure.message.contains("subscriptionID"), "{failure}");
}

#[test]
fn a_secret_that_lacks_a_key_makes_no_request() {
    for key in ["clientID", "clientSecret", "tenantID", "subscriptionID"] {
        let world = Stage::plain();
        world.forget_secret(key);
        let failure = created(&world);
        assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, true));
        assert!(failure.message.contains(key), "{failure}");
        assert_eq!(world.sent(), Vec::new());
    }
    let world = Stage::plain();
    world.set_secret("workloadIdentityTokenFile", "/var/run/secrets/token");
    assert!(created(&world).message.contains("remove one of them"));
    world.forget_secret("clientSecret");
    world.set_secret("subscriptionID", "a/../b");
    assert!(created(&world).message.contains("not the id of a subscription"));
}

#[test]
fn a_missing_right_is_named() {
    for right in ["Microsoft.Compute/virtualMachines/write", "Microsoft.Network/networkInterfaces/write"] {
        let mut options = Options::default();
        options.denied.insert(right.to_owned());
        let failure = created(&Stage::new(options));
        assert_eq!((failure.code, failure.terminal), (Code::PermissionDenied, false));
        assert!(failure.message.contains(&format!("do {right} here")), "{failure}");
    }
}

#[test]
fn each_refusal_has_its_code_and_says_what_to_do() {
    let quota = "exceeding approved Total Regional Cores quota";
    let requests = "The server rejected the request because too many requests have been received.";
    let table = [
        (409, "SkuNotAvailable", "", Code::ResourceExhausted, false, "use another vmSize"),
        (
            409,
            "OverconstrainedZonalAllocationRequest",
            "",
            Code::ResourceExhausted,
            false,
            "use another vmSize",
        ),
        (409, "OperationNotAllowed", quota, Code::ResourceExhausted, false, "raise the subscription's quota"),
        (409, "OperationNotAllowed", "is being updated", Code::Aborted, false, "tried again"),
        (400, "InvalidParameter", "", Code::InvalidArgument, true, "correct the MachineClass's providerSpec"),
        (404, "NotFound", "no such image", Code::FailedPrecondition, false, "create the missing resource"),
        (404, "ResourceNotFound", "", Code::FailedPrecondition, false, "correct its name or id"),
        (403, "RequestDisallowedByPolicy", "", Code::FailedPrecondition, false, "follows the policy"),
        (403, "LinkedAuthorizationFailed", "", Code::PermissionDenied, false, "on the linked resource"),
        (409, "ScopeLocked", "", Code::FailedPrecondition, false, "remove the lock"),
        (409, "MissingSubscriptionRegistration", "", Code::FailedPrecondition, false, "az provider register"),
        (429, "TooManyRequests", "", Code::Unavailable, false, "more slowly"),
        // Compute's throttling has a code that means something else with another status.
        (429, "OperationNotAllowed", requests, Code::Unavailable, false, "more slowly"),
        (401, "ExpiredAuthenticationToken", "", Code::Unauthenticated, false, "fetches another token"),
        (401, "InvalidAuthenticationToken", "", Code::Unauthenticated, false, "correct clientID"),
        (500, "InternalServerError", "", Code::Unavailable, false, "tried again"),
        (503, "ServerBusy", "", Code::Unavailable, false, "tried again"),
    ];
    for (status, code, message, expected, terminal, advice) in table {
        let world = Stage::plain();
        let effect = Effect::Refuse { status, code: code.into(), message: message.into() };
        // After a 401 the request is sent once more.
        let times = if status == 401 { 2 } else { 1 };
        world.fault(Rule { times, ..Rule::once("PUT", "virtualMachines", effect) });
        let mut request = request(1);
        let failure = world.create(&request).map(|_| ()).expect_err("a refusal");
        assert_eq!((failure.code, failure.terminal), (expected, terminal), "{code}: {failure}");
        assert_eq!(failure.cloud_code.as_deref(), Some(code));
        assert_eq!(failure.may_have_happened, status >= 500, "{code}");
        assert!(failure.message.contains(advice), "{code}: {failure}");
        assert!(world.vms().is_empty(), "{code}");
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn a_token_that_has_expired_is_replaced_and_the_request_is_sent_once_more() {
    let world = Stage::plain();
    let mut request = request(1);
    world.create_to_end(&mut request).unwrap();
    world.cloud().expire_tokens();
    world.sent();
    world.status(&request).unwrap();
    assert_eq!(world.sent().len(), 2);
    assert_eq!(world.cloud().counts()["token"], 2);
    // A token that Azure never takes is no loop.
    let refused =
        Effect::Refuse { status: 401, code: "InvalidAuthenticationToken".into(), message: "x".into() };
    world.fault(Rule::always("", "virtualMachines", refused));
    assert_eq!(world.status(&request).unwrap_err().code, Code::Unauthenticated);
    assert_eq!(world.sent().len(), 2);
}

#[test]
fn throttling_says_when_to_come_again() {
    let world = Stage::plain();
    world.fault(Rule::always("", "", Effect::Throttle { retry_after_s: 17 }));
    let failure = world.status(&request(1)).unwrap_err();
    assert_eq!((failure.code, failure.retry_after_ms), (Code::Unavailable, Some(17_000)));
}

#[test]
fn unknown_places_and_sizes_are_the_class_s_fault_and_leave_nothing() {
    for (pointer, value, advice) in [
        ("/location", json!("atlantis"), "correct location"),
        (
            "/properties/hardwareProfile/vmSize",
            json!("Standard_Huge"),
            "correct the MachineClass's providerSpec",
        ),
        ("/properties/zone", json!(9), "correct properties.zone"),
    ] {
        let world = Stage::plain();
        let mut request = request_of(1, &spec_with(pointer, value));
        let failure = world.create(&request).unwrap_err();
        assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true), "{pointer}: {failure}");
        assert!(failure.message.contains(advice), "{pointer}: {failure}");
        world.delete_to_end(&mut request).unwrap();
        assert_eq!(world.resources(), Vec::<String>::new(), "{pointer}");
    }
    let world = Stage::plain();
    let nowhere = spec_with("/resourceGroup", json!("nowhere"));
    let failure = world.create(&request_of(1, &nowhere)).unwrap_err();
    assert_eq!(failure.code, Code::FailedPrecondition);
    assert!(failure.message.contains("create the resource group"), "{failure}");
    let everywhere = spec_with("/properties/hardwareProfile/vmSize", json!("Standard_M128s"));
    let mut elsewhere = everywhere;
    elsewhere["properties"]["zone"] = json!(2);
    let failure = world.create(&request_of(2, &elsewhere)).unwrap_err();
    assert_eq!(failure.code, Code::ResourceExhausted, "{failure}");
}

#[test]
fn no_message_repeats_user_data() {
    let world = Stage::plain();
    let effect = Effect::Refuse {
        status: 400,
        code: "InvalidParameter".into(),
        message: format!("customData is wrong: {USER_DATA}"),
    };
    world.fault(Rule::once("PUT", "virtualMachines", effect));
    let failure = created(&world);
    assert!(!failure.message.contains("write_files"), "{failure}");
}
