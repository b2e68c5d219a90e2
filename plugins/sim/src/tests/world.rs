//! A cloud, a clock that stands, and words for what tests do with them.

use std::cell::{Cell, RefCell};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use simcloud::{Config, Delivery, Faults, VmView};

use crate::bindings::machinist::provider::types::{Class, DriverError, Machine, Page, Request, Vm};
use crate::cloud::{Answer, Call, Cloud, Method, Transport};
use crate::machine::Machines;
use crate::trouble::Trouble;

/// Stands for the placeholder; the model insists on base64.
const USER_DATA: &str = "I2Nsb3VkLWNvbmZpZwo=";

pub(super) struct World {
    cloud: RefCell<simcloud::Cloud>,
    now: Cell<Timestamp>,
    pub(super) token: Cell<&'static str>,
    /// What was sent, one line each.
    sent: RefCell<Vec<String>>,
    notes: RefCell<Vec<String>>,
}

impl Transport for World {
    fn host(&self) -> &str {
        "cloud.test"
    }

    fn send(&self, call: &Call) -> Result<Answer, Trouble> {
        let method = match call.method {
            Method::Get => simcloud::Method::Get,
            Method::Post => simcloud::Method::Post,
            Method::Delete => simcloud::Method::Delete,
        };
        let path = call.target.split('?').next().unwrap();
        self.sent.borrow_mut().push(format!("{} {path}", method.as_str()));
        let mut request = simcloud::Request::new(method, &call.target).with_token(self.token.get());
        request.idempotency_key = call.idempotency_key.clone();
        request.body = call.body.clone().unwrap_or_default().into_bytes();
        let answer = self.cloud.borrow_mut().handle(&request, self.now.get());
        match answer.delivery {
            Delivery::Whole => Ok(Answer {
                status: answer.status,
                is_html: answer.content_type == "text/html",
                retry_after_ms: answer.header("retry-after").map(|text| text.parse::<u64>().unwrap() * 1_000),
                body: answer.body,
            }),
            Delivery::Truncated { .. } => Err(Trouble::CutOff),
            Delivery::Never => Err(Trouble::TimedOut),
        }
    }
}

impl World {
    pub(super) fn new() -> Self {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        Self {
            cloud: RefCell::new(simcloud::Cloud::new(Config::default(), now)),
            now: Cell::new(now),
            token: Cell::new("sim-token"),
            sent: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// Faults as the admin API takes them.
    pub(super) fn faults(&self, faults: Value) {
        let faults: Faults = serde_json::from_value(faults).unwrap();
        self.cloud.borrow_mut().set_faults(faults).unwrap();
    }

    /// One rule for each call of a method on a path.
    pub(super) fn fault(&self, method: &str, path: &str, effect: &Value) {
        self.faults(json!({ "rules": [{ "match": { "method": method, "path": path }, "effect": effect }] }));
    }

    pub(super) fn pass(&self, time: SignedDuration) {
        self.now.set(self.now.get() + time);
        self.cloud.borrow_mut().advance(self.now.get());
    }

    /// Long enough for whatever boots or shuts down.
    pub(super) fn settle(&self) {
        self.pass(SignedDuration::from_secs(5));
    }

    /// What was sent since the last question.
    pub(super) fn sent(&self) -> Vec<String> {
        self.sent.take()
    }

    /// How many requests were sent since the last question.
    pub(super) fn requests(&self) -> usize {
        self.sent().len()
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// The VMs that work.
    pub(super) fn live(&self) -> Vec<VmView> {
        self.cloud.borrow().vms().filter(|vm| vm.state.is_live()).cloned().collect()
    }

    pub(super) fn kill(&self, id: &str) {
        self.cloud.borrow_mut().kill_vm(id, self.now.get()).unwrap();
    }

    /// A call as somebody else makes it.
    pub(super) fn ask(&self, method: simcloud::Method, target: &str, body: &Value) -> Value {
        let request = simcloud::Request::new(method, target).with_token("sim-token").with_json(body).unwrap();
        let answer = self.cloud.borrow_mut().handle(&request, self.now.get());
        assert!(answer.status < 300, "{}", String::from_utf8_lossy(&answer.body));
        answer.json().unwrap()
    }

    pub(super) fn volumes(&self) -> usize {
        self.ask(simcloud::Method::Get, "/v1/volumes", &json!({}))["volumes"].as_array().unwrap().len()
    }

    pub(super) fn create(&self, request: &Request) -> Result<Vm, Box<DriverError>> {
        self.with(|machines| machines.create(request, Some(USER_DATA)))
    }

    pub(super) fn initialize(&self, request: &Request) -> Result<Vm, Box<DriverError>> {
        self.with(|machines| machines.initialize(request))
    }

    pub(super) fn reboot(&self, request: &Request) -> Result<(), Box<DriverError>> {
        self.with(|machines| machines.reboot(request))
    }

    pub(super) fn status(&self, request: &Request) -> Result<Vm, Box<DriverError>> {
        self.with(|machines| machines.get_status(request))
    }

    pub(super) fn delete(&self, request: &Request) -> Result<(), Box<DriverError>> {
        self.with(|machines| machines.delete(request))
    }

    pub(super) fn list(&self, token: Option<&str>) -> Result<Page, Box<DriverError>> {
        self.with(|machines| machines.list("c1", token))
    }

    fn with<T>(&self, act: impl FnOnce(Machines<'_>) -> T) -> T {
        let note = |message: &str, _: &[(&str, &str)]| self.notes.borrow_mut().push(message.to_owned());
        act(Machines { cloud: Cloud::new(self), note: &note })
    }
}

pub(super) fn class(spec: &Value) -> Class {
    Class {
        name: "small".into(),
        provider: "sim".into(),
        spec: spec.to_string(),
        node_template: None,
        zones: Vec::new(),
    }
}

pub(super) fn spec() -> Value {
    json!({ "zone": "sim-1a", "type": "sim.small", "image": "linux-1" })
}

/// A request for the Machine with this number.
pub(super) fn request(number: usize) -> Request {
    request_of(number, &spec())
}

pub(super) fn request_of(number: usize, spec: &Value) -> Request {
    Request {
        machine: Machine {
            namespace: "shoot".into(),
            name: format!("machine-{number}"),
            uid: format!("uid-{number}"),
            labels: Vec::new(),
            annotations: Vec::new(),
            provider_id: None,
            node_template: None,
            last_known_state: None,
        },
        class: class(spec),
        idempotency_key: format!("key-{number}"),
        cluster: "c1".into(),
        deadline_ms: 300_000,
    }
}

/// The same request after the host has stored the id.
pub(super) fn with_id(request: &Request, vm: &Vm) -> Request {
    let mut request = request.clone();
    request.machine.provider_id = Some(vm.provider_id.clone());
    request
}
