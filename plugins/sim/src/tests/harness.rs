//! A cloud, a fixed clock, and the functions that tests use.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use machinist_sdk::driver::{
    Class, Creation, Deletion, Failure, HttpAnswer, HttpRequest, Method, NoAnswerReason, Page, Request, Vm,
};
use machinist_sdk::mock::{self, MockDriver, MockHost, Place};
use serde_json::{Value, json};
use simcloud::{Config, Delivery, Faults, VmView};

use crate::component::{SimDriver, TOKEN_KEY};

const ENDPOINT: &str = "http://cloud.test";

pub(super) struct Harness {
    model: Rc<Model>,
    host: MockHost<'static>,
}

struct Model {
    cloud: RefCell<simcloud::Cloud>,
    now: Cell<Timestamp>,
}

impl Model {
    fn answer(&self, sent: &HttpRequest) -> Result<HttpAnswer, NoAnswerReason> {
        let method = match sent.method {
            Method::Get => simcloud::Method::Get,
            Method::Post => simcloud::Method::Post,
            Method::Delete => simcloud::Method::Delete,
            other => panic!("the driver sends {}", other.as_str()),
        };
        let token = sent.header_value("authorization").and_then(|text| text.strip_prefix("Bearer ")).unwrap();
        let mut request = simcloud::Request::new(method, target(sent)).with_token(token);
        request.idempotency_key = sent.header_value("idempotency-key").map(str::to_owned);
        request.body = sent.body.clone().unwrap_or_default();
        let answer = self.cloud.borrow_mut().handle(&request, self.now.get());
        let mut headers = vec![("content-type".to_owned(), answer.content_type.to_owned())];
        headers.extend(answer.header("retry-after").map(|text| ("retry-after".to_owned(), text.to_owned())));
        match answer.delivery {
            Delivery::Whole => Ok(HttpAnswer { status: answer.status, headers, body: answer.body }),
            Delivery::Truncated { .. } => Err(NoAnswerReason::CutOff),
            Delivery::Never => Err(NoAnswerReason::TimedOut),
        }
    }
}

fn target(request: &HttpRequest) -> &str {
    request.url.strip_prefix(ENDPOINT).unwrap()
}

/// A host with the settings of an operator, and a function as its cloud.
pub(super) fn host(
    cloud: impl FnMut(&HttpRequest) -> Result<HttpAnswer, NoAnswerReason> + 'static,
) -> MockHost<'static> {
    MockHost::new(cloud)
        .settings(json!({ "endpoint": ENDPOINT }).to_string())
        .secret(TOKEN_KEY, "sim-token", &[Place::header("authorization")])
        .user_data("#cloud-config\n", &[Place::json("/userData")])
}

impl Harness {
    pub(super) fn new() -> Self {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let cloud = RefCell::new(simcloud::Cloud::new(Config::default(), now));
        let model = Rc::new(Model { cloud, now: Cell::new(now) });
        let host = host({
            let model = Rc::clone(&model);
            move |request| model.answer(request)
        });
        Self { model, host }
    }

    /// Sets another token in the Secret.
    pub(super) fn with_token(mut self, token: &str) -> Self {
        self.host = self.host.secret(TOKEN_KEY, token, &[Place::header("authorization")]);
        self
    }

    /// Uses a cloud that keeps no idempotency keys.
    pub(super) fn without_keys(mut self) -> Self {
        let settings = json!({ "endpoint": ENDPOINT, "idempotencyKeys": false });
        self.host = self.host.settings(settings.to_string());
        self
    }

    /// Sets faults in the form of the admin API.
    pub(super) fn faults(&self, faults: Value) {
        let faults: Faults = serde_json::from_value(faults).unwrap();
        self.model.cloud.borrow_mut().set_faults(faults).unwrap();
    }

    /// Sets one fault for each call of a method on a path.
    pub(super) fn fault(&self, method: &str, path: &str, effect: &Value) {
        self.faults(json!({ "rules": [{ "match": { "method": method, "path": path }, "effect": effect }] }));
    }

    pub(super) fn pass(&self, time: SignedDuration) {
        self.model.now.set(self.model.now.get() + time);
        self.model.cloud.borrow_mut().advance(self.model.now.get());
    }

    /// Advances the clock until all VMs have booted or shut down.
    pub(super) fn finish_transitions(&self) {
        self.pass(SignedDuration::from_secs(5));
    }

    /// Returns the requests since the last call of this function.
    pub(super) fn sent(&self) -> Vec<String> {
        let path = |request: &HttpRequest| {
            let path = target(request).split('?').next().unwrap();
            format!("{} {path}", request.method.as_str())
        };
        let sent = self.host.sent().iter().map(path).collect();
        self.host.clear();
        sent
    }

    /// Returns the number of requests since the last call.
    pub(super) fn requests(&self) -> usize {
        self.sent().len()
    }

    /// Returns the messages of the log since the last call of `sent`.
    pub(super) fn notes(&self) -> Vec<String> {
        self.host.lines().into_iter().map(|line| line.message).collect()
    }

    /// Returns the VMs that are not being deleted.
    pub(super) fn live(&self) -> Vec<VmView> {
        self.model.cloud.borrow().vms().filter(|vm| vm.state.is_live()).cloned().collect()
    }

    pub(super) fn kill(&self, id: &str) {
        self.model.cloud.borrow_mut().kill_vm(id, self.model.now.get()).unwrap();
    }

    /// Calls the cloud's API as somebody else.
    pub(super) fn ask(&self, method: simcloud::Method, target: &str, body: &Value) -> Value {
        let request = simcloud::Request::new(method, target).with_token("sim-token").with_json(body).unwrap();
        let answer = self.model.cloud.borrow_mut().handle(&request, self.model.now.get());
        assert!(answer.status < 300, "{}", String::from_utf8_lossy(&answer.body));
        answer.json().unwrap()
    }

    pub(super) fn volumes(&self) -> usize {
        self.ask(simcloud::Method::Get, "/v1/volumes", &json!({}))["volumes"].as_array().unwrap().len()
    }

    pub(super) fn driver(&self) -> MockDriver<'_, 'static, SimDriver> {
        self.host.driver()
    }

    /// Creates a VM, and fails the test for "in progress".
    pub(super) fn create(&self, request: &Request) -> Result<Vm, Failure> {
        self.driver().create(request).map(|creation| match creation {
            Creation::Created(vm) => vm,
            Creation::InProgress(progress) => panic!("{}", progress.message),
        })
    }

    pub(super) fn initialize(&self, request: &Request) -> Result<Vm, Failure> {
        self.driver().initialize(request)
    }

    pub(super) fn reboot(&self, request: &Request) -> Result<(), Failure> {
        self.driver().reboot(request)
    }

    pub(super) fn delete_one(&self, request: &Request, provider_id: &str) -> Result<(), Failure> {
        self.driver().delete_by_id(request, provider_id)
    }

    pub(super) fn status(&self, request: &Request) -> Result<Vm, Failure> {
        self.driver().get_status(request)
    }

    /// Deletes a VM, and fails the test for "in progress".
    pub(super) fn delete(&self, request: &Request) -> Result<(), Failure> {
        self.driver().delete(request).map(|deletion| match deletion {
            Deletion::Deleted(_) => (),
            Deletion::InProgress(progress) => panic!("{}", progress.message),
        })
    }

    pub(super) fn list(&self, token: Option<&str>) -> Result<Page, Failure> {
        self.driver().list(&class(&spec()), "c1", token)
    }
}

pub(super) fn class(spec: &Value) -> Class {
    mock::a_class(spec)
}

pub(super) fn spec() -> Value {
    json!({ "zone": "sim-1a", "type": "sim.small", "image": "linux-1" })
}

/// Returns a request for the Machine with this number.
pub(super) fn request(number: usize) -> Request {
    request_of(number, &spec())
}

pub(super) fn request_of(number: usize, spec: &Value) -> Request {
    mock::a_request(number, &class(spec))
}

/// Returns the same request after the host has stored the id.
pub(super) fn with_id(request: &Request, vm: &Vm) -> Request {
    mock::with_id(request, &vm.provider_id)
}
