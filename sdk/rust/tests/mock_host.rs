//! The mock host treats secrets and requests like the host.

use machinist_sdk::driver::{
    About, Capabilities, Class, Code, Creation, Deletion, Driver, Encoding, Failure, Host, HttpAnswer,
    HttpRequest, NoAnswerReason, OfflineHost, Reboot, Request, SecretRefusal, Vm, VmState,
};
use machinist_sdk::mock::{MockHost, Place, a_class, a_request, json_answer};
use serde_json::{Value, json};

/// Does the work that the class names.
struct Probe;

machinist_sdk::export_driver!(Probe, reboot);

impl Driver for Probe {
    fn describe(_: &dyn OfflineHost) -> About {
        About {
            name: "probe".into(),
            version: "0.1.0".into(),
            providers: vec!["probe".into()],
            class_schema: None,
            capabilities: Capabilities::STATUS,
            consistency_window_ms: 0,
            hosts: Vec::new(),
        }
    }

    fn validate_class(_: &Class, host: &dyn OfflineHost) -> Result<Vec<String>, Failure> {
        Ok(vec![host.settings()])
    }

    fn create(request: &Request, host: &dyn Host) -> Result<Creation, Failure> {
        let spec: Value = serde_json::from_str(&request.class.spec).unwrap();
        let token = host.secrets().needed("token", "the token")?.placeholder(&[])?;
        let data = host.secrets().user_data().map(|data| data.placeholder(&[Encoding::Base64]));
        let data = data.transpose()?.unwrap_or_default();
        let text = |field: &str| {
            spec[field].as_str().unwrap_or_default().replace("TOKEN", &token).replace("DATA", &data)
        };
        let mut sent = HttpRequest::post(format!("https://cloud.example/{}", text("path")))
            .header("x-auth", text("auth"))
            .header("content-type", text("kind"));
        sent.body = spec.get("body").map(|_| text("body").into_bytes());
        let answer = host
            .send(&sent)
            .map_err(|error| Failure::new(error.reason.code(), format!("{:?}", error.reason)))?;
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        host.log().info("answered", &[("body", &body), ("echo", text("auth").as_str())]);
        Ok(Creation::Created(Vm {
            provider_id: body,
            node_name: String::new(),
            state: VmState::Running,
            addresses: Vec::new(),
            failure_domain: None,
            conditions: Vec::new(),
            last_known_state: None,
        }))
    }

    fn delete(_: &Request, host: &dyn Host) -> Result<Deletion, Failure> {
        Ok(Deletion::Deleted(host.secrets().user_data().map(|_| "has user data".to_owned())))
    }

    fn get_volume_ids(_: &[String], _: &dyn OfflineHost) -> Result<Vec<Option<String>>, Failure> {
        Ok(vec![None])
    }
}

impl Reboot for Probe {
    fn reboot(_: &Request, host: &dyn Host) -> Result<(), Failure> {
        let secret = host.secrets().open("token").unwrap();
        let refused = secret.reveal().unwrap_err();
        assert_eq!(refused.refusal, SecretRefusal::NotGranted);
        Err(refused.into())
    }
}

const TOKEN: &str = "s3cret-\"token";

fn host<'c>(answer: Result<HttpAnswer, NoAnswerReason>) -> MockHost<'c> {
    MockHost::answering([answer])
        .secret("token", TOKEN, &[Place::header("X-Auth"), Place::json("/a~1b/0"), Place::form("tok")])
        .user_data("#cloud", &[Place::json("/data")])
}

fn ok() -> Result<HttpAnswer, NoAnswerReason> {
    Ok(json_answer(200, &json!({})))
}

fn created(host: &MockHost<'_>, spec: &Value) -> Result<String, Failure> {
    host.driver::<Probe>().create(&a_request(1, &a_class(spec))).map(|creation| match creation {
        Creation::Created(vm) => vm.provider_id,
        Creation::InProgress(progress) => progress.message,
    })
}

#[track_caller]
fn seen(spec: &Value, body: &str) {
    let host = host(ok());
    created(&host, spec).unwrap();
    assert_eq!(String::from_utf8(host.seen()[0].body.clone().unwrap()).unwrap(), body);
    let sent = format!("{:?}", host.sent());
    assert!(!sent.contains("s3cret") && !sent.contains("#cloud"), "{sent}");
}

#[track_caller]
fn denied(spec: &Value) {
    let host = host(ok());
    assert_eq!(created(&host, spec).unwrap_err().message, "Denied", "{spec}");
    assert!(host.seen().is_empty());
}

#[test]
fn a_secret_is_filled_in_where_it_may_travel() {
    seen(&json!({ "kind": "application/json", "body": r#"{"data":"DATA"}"# }), r##"{"data":"I2Nsb3Vk"}"##);
    seen(
        &json!({ "kind": "application/x-www-form-urlencoded", "body": "a=1&tok=TOKEN" }),
        "a=1&tok=s3cret-\"token",
    );
    let host = host(ok());
    created(&host, &json!({ "auth": "Bearer TOKEN" })).unwrap();
    assert_eq!(host.seen()[0].header_value("X-AUTH"), Some("Bearer s3cret-\"token"));
}

#[test]
fn a_secret_anywhere_else_is_denied() {
    denied(&json!({ "path": "TOKEN" }));
    denied(&json!({ "kind": "TOKEN" }));
    denied(&json!({ "auth": "DATA" }));
    denied(&json!({ "kind": "application/json", "body": r#"{"token":"TOKEN"}"# }));
    denied(&json!({ "kind": "application/json", "body": r#"{"TOKEN":1}"# }));
    denied(&json!({ "kind": "text/plain", "body": "TOKEN" }));
    denied(&json!({ "kind": "application/x-www-form-urlencoded", "body": "other=TOKEN" }));
    // Unescaped it would end the string around it.
    denied(&json!({ "kind": "application/json", "body": r#"{"a/b":["TOKEN"]}"# }));
}

#[test]
fn what_comes_back_and_what_is_logged_holds_no_secret() {
    let host = host(Ok(HttpAnswer {
        body: format!("you sent {TOKEN} and I2Nsb3Vk").into_bytes(),
        ..HttpAnswer::default()
    }));
    assert_eq!(created(&host, &json!({ "auth": "TOKEN" })).unwrap(), "you sent *** and ***");
    let line = host.lines().remove(0);
    assert_eq!((line.message.as_str(), line.fields[0].1.as_str()), ("answered", "you sent *** and ***"));
}

#[test]
fn a_secret_without_a_place_is_not_granted_and_one_that_is_missing_is_named() {
    let granted_nowhere = MockHost::answering([]).secret("token", TOKEN, &[]);
    let failure = created(&granted_nowhere, &json!({})).unwrap_err();
    assert_eq!(failure.code, Code::FailedPrecondition);
    assert!(failure.message.contains("key: token"), "{failure}");
    let failure = created(&MockHost::answering([]), &json!({})).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, true));
    assert_eq!(failure.message, "the MachineClass's Secret has no key token: add the token");
}

#[test]
fn calls_have_what_the_host_gives_them_and_no_more() {
    let host = host(ok()).settings(r#"{"endpoint": "x"}"#);
    let driver = host.driver::<Probe>();
    let request = a_request(1, &a_class(&json!({})));
    assert!(matches!(driver.delete(&request), Ok(Deletion::Deleted(None))));
    assert_eq!(driver.validate_class(&request.class).unwrap(), [r#"{"endpoint": "x"}"#]);
    assert_eq!(driver.get_status(&request).unwrap_err().code, Code::Unimplemented);
    assert!(driver.reboot(&request).unwrap_err().message.contains("not granted"));
    assert_eq!(driver.get_volume_ids(&["{}".to_owned()]).unwrap(), [None]);
    let failure = driver.get_volume_ids(&[]).unwrap_err();
    assert_eq!(failure.message, "get_volume_ids must answer one entry for each of 0 specs, got 1");
}

#[test]
fn a_request_without_an_answer_says_why() {
    let message = |host: &MockHost<'_>, spec: &Value| created(host, spec).unwrap_err().message.clone();
    assert_eq!(message(&host(Err(NoAnswerReason::TimedOut)), &json!({})), "TimedOut");
    let mut late = host(ok());
    late.remaining_ms = 100;
    assert_eq!(message(&late, &json!({})), "NoTimeLeft");
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(message(&host(ok()), &json!({ "body": large })), "RequestTooLarge");
    let body = vec![b'x'; 4 * 1024 * 1024 + 1];
    let too_much = host(Ok(HttpAnswer { status: 200, headers: Vec::new(), body }));
    assert_eq!(message(&too_much, &json!({})), "AnswerTooLarge");
    assert_eq!(message(&host(ok()), &json!({ "path": " " })), "BadUrl");
}
