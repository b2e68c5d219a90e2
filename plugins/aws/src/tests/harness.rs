//! The model, faults on the way to it, and the functions that tests use.

use std::cell::RefCell;

use machinist_sdk::driver::{
    self as wit, Class, Creation, Failure, Machine, NoAnswer, NoAnswerReason, NodeResources, Page, Request,
};
use machinist_sdk::mock::MockLog;
use serde_json::{Value, json};

use super::model::{Form, Model, Vm};
use crate::class::{resources, spec};
use crate::ec2::errors::Target;
use crate::ec2::pending::PendingCreate;
use crate::ec2::{Answer, Ec2, Transport};
use crate::instance::adoption;
use crate::instance::initialize::is_offered;
use crate::instance::machine::Machines;

/// The placeholder of the user data.
pub(super) const USER_DATA: &str = "x0placeholder0x";
pub(super) const REGION: &str = "eu-west-1";

type Outcome<T> = Result<T, Failure>;

/// A fault of one request.
pub(super) enum Fault {
    /// It does not reach the cloud.
    Instead(Result<Answer, NoAnswer>),
    /// It reaches the cloud, and this comes back.
    After(Result<Answer, NoAnswer>),
    /// It reaches the cloud, and this many bytes of the answer come back.
    Cut(usize),
}

pub(super) struct Harness {
    pub(super) model: RefCell<Model>,
    sent: RefCell<Vec<Form>>,
    bodies: RefCell<Vec<String>>,
    fault: RefCell<Option<(&'static str, Fault)>>,
    /// The actions of the shipped grants: no test may use another one.
    granted: RefCell<Vec<String>>,
    settings: RefCell<String>,
    log: MockLog,
}

/// Returns the actions of EC2 in the shipped grants.
pub(super) fn granted() -> Vec<String> {
    let lines = include_str!("../../grants.yaml").lines().skip_while(|line| line.trim() != "Action:").skip(1);
    lines.map_while(|line| line.trim().strip_prefix("- ")).map(str::to_owned).collect()
}

impl Transport for Harness {
    fn target(&self) -> Target {
        Target { host: format!("ec2.{REGION}.amazonaws.com"), region: REGION.into(), is_override: false }
    }

    fn send(&self, form: &str) -> Result<Answer, NoAnswer> {
        let read: Form = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        self.sent.borrow_mut().push(read.clone());
        self.bodies.borrow_mut().push(form.to_owned());
        if !self.granted.borrow().contains(&read["Action"]) {
            return no_answer(NoAnswerReason::Denied);
        }
        let fault = self.fault.borrow_mut().take_if(|(action, _)| *action == read["Action"]);
        if let Some((_, Fault::Instead(answer))) = fault {
            return answer;
        }
        let (status, body) = self.model.borrow_mut().handle(&read);
        match fault {
            Some((_, Fault::After(answer))) => answer,
            Some((_, Fault::Cut(bytes))) => {
                Ok(Answer { status, body: body.into_bytes()[..bytes].to_vec(), ..Answer::default() })
            }
            Some((_, Fault::Instead(_))) | None => {
                Ok(Answer { status, body: body.into_bytes(), ..Answer::default() })
            }
        }
    }
}

impl Harness {
    pub(super) fn new() -> Self {
        Self {
            model: RefCell::new(Model::new()),
            sent: RefCell::default(),
            bodies: RefCell::default(),
            fault: RefCell::default(),
            granted: RefCell::new(granted()),
            settings: RefCell::new("{}".to_owned()),
            log: MockLog::default(),
        }
    }

    /// Sets a fault for the next request of this action.
    pub(super) fn fault(&self, action: &'static str, fault: Fault) {
        *self.fault.borrow_mut() = Some((action, fault));
    }

    /// Adds an action to the grants.
    pub(super) fn grant(&self, action: &str) {
        self.granted.borrow_mut().push(action.to_owned());
    }

    /// Removes an action from the grants.
    pub(super) fn take_away(&self, action: &str) {
        self.granted.borrow_mut().retain(|granted| granted != action);
    }

    /// Makes EC2 refuse the next request of this action.
    pub(super) fn refuse(&self, action: &'static str, status: u16, code: &str) {
        self.fault(action, Fault::Instead(Ok(answer(super::model::refused(status, code, "because")))));
    }

    /// Returns the actions that were sent since the last call.
    pub(super) fn sent(&self) -> Vec<String> {
        self.bodies.take();
        self.sent.take().iter().map(|form| form["Action"].clone()).collect()
    }

    /// Returns the forms that were sent since the last call, unchanged.
    pub(super) fn bodies(&self) -> Vec<String> {
        self.sent.take();
        self.bodies.take()
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.log.lines().into_iter().map(|line| line.message).collect()
    }

    pub(super) fn live(&self) -> Vec<Vm> {
        self.model.borrow().vms.iter().filter(|vm| vm.is_live()).cloned().collect()
    }

    pub(super) fn change(&self, index: usize, change: impl FnOnce(&mut Vm)) {
        change(&mut self.model.borrow_mut().vms[index]);
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut Model)) {
        change(&mut self.model.borrow_mut());
    }

    pub(super) fn begin(&self, request: &Request) -> Outcome<Creation> {
        self.with(&request.cluster, |machines| machines.create(request, USER_DATA))
    }

    /// Creates an instance, and fails the test for "in progress".
    pub(super) fn create(&self, request: &Request) -> Outcome<wit::Vm> {
        self.begin(request).map(|creation| match creation {
            Creation::Created(vm) => vm,
            Creation::InProgress(progress) => panic!("{}", progress.message),
        })
    }

    pub(super) fn initialize(&self, request: &Request) -> Outcome<wit::Vm> {
        self.with(&request.cluster, |machines| {
            is_offered(request, machines.adopted)?;
            machines.initialize(request)
        })
    }

    pub(super) fn reboot(&self, request: &Request) -> Outcome<()> {
        self.with(&request.cluster, |machines| machines.reboot(request))
    }

    pub(super) fn delete_one(&self, request: &Request, provider_id: &str) -> Outcome<()> {
        self.with(&request.cluster, |machines| machines.delete_one(request, provider_id))
    }

    pub(super) fn status(&self, request: &Request) -> Outcome<wit::Vm> {
        self.with(&request.cluster, |machines| machines.get_status(request))
    }

    pub(super) fn delete(&self, request: &Request) -> Outcome<()> {
        self.with(&request.cluster, |machines| machines.delete(request))
    }

    pub(super) fn list(&self, cluster: &str, token: Option<&str>) -> Outcome<Page> {
        self.with(cluster, |machines| machines.list(cluster, token))
    }

    /// Returns the resources of a Node of this class.
    pub(super) fn node_capacity(&self, spec: &Value) -> Outcome<NodeResources> {
        resources::of(&spec::read(&class(spec))?.0, Ec2::new(self))
    }

    /// Sets the plugin's settings.
    pub(super) fn configure(&self, settings: &Value) {
        *self.settings.borrow_mut() = settings.to_string();
    }

    fn with<T>(&self, cluster: &str, act: impl FnOnce(Machines<'_>) -> Outcome<T>) -> Outcome<T> {
        let adopted = adoption::of(&self.settings.borrow(), cluster)?;
        act(Machines { ec2: Ec2::new(self), adopted: adopted.as_ref(), log: self.log.log() })
    }
}

/// Returns no answer, for this reason.
pub(super) fn no_answer(reason: NoAnswerReason) -> Result<Answer, NoAnswer> {
    Err(NoAnswer { reason, host: format!("ec2.{REGION}.amazonaws.com") })
}

pub(super) fn answer((status, body): (u16, String)) -> Answer {
    Answer { status, body: body.into_bytes(), ..Answer::default() }
}

pub(super) fn class(spec: &Value) -> Class {
    Class {
        name: "small".into(),
        provider: "AWS".into(),
        spec: spec.to_string(),
        node_template: None,
        zones: Vec::new(),
    }
}

pub(super) fn spec() -> Value {
    json!({
        "ami": "ami-1",
        "region": REGION,
        "machineType": "m5.large",
        "iam": { "name": "nodes" },
        "blockDevices": [{ "ebs": { "volumeType": "gp3", "volumeSize": 50 } }],
        "networkInterfaces": [{ "subnetID": "subnet-1", "securityGroupIDs": ["sg-1"] }],
        "tags": { "kubernetes.io/cluster/shoot": "1", "kubernetes.io/role/node": "1" },
    })
}

/// Returns the class with other top-level fields.
pub(super) fn spec_with(fields: Value) -> Value {
    let mut spec = spec();
    let Value::Object(fields) = fields else { panic!("an object") };
    for (name, value) in fields {
        spec[name] = value;
    }
    spec
}

/// Returns a request for the Machine with this number.
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
        idempotency_key: format!("uid-{number}"),
        cluster: "c1".into(),
        deadline_ms: 300_000,
    }
}

/// Returns the same request after the host has stored the id.
pub(super) fn with_id(request: &Request, vm: &wit::Vm) -> Request {
    let mut request = request.clone();
    request.machine.provider_id = Some(vm.provider_id.clone());
    request
}

/// Returns the same request after the host has stored the driver's state.
pub(super) fn with_state(request: &Request, state: Option<&String>) -> Request {
    let mut request = request.clone();
    request.machine.last_known_state = Some(state.expect("a state").clone());
    request
}

pub(super) fn state_of(text: Option<&String>) -> PendingCreate {
    PendingCreate::parse(text.map(String::as_str))
}
