//! A cloud, a clock, and the functions that tests use.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gcp::wire::{ApiError, Delivery};
use gcp::{Cloud, Config, Effect, Rule};
use machinist_sdk::driver::{
    self as wit, Class, Creation, Deletion, Failure, HttpAnswer, HttpRequest, NoAnswerReason, Page, Request,
};
use machinist_sdk::mock::{MockDriver, MockHost, Place, a_class, a_machine};
use serde_json::{Value, json};

use crate::component::GcpDriver;

pub(super) const ENDPOINT: &str = "https://compute.googleapis.com";
pub(super) const PROJECT: &str = "machinist-lab";
pub(super) const ZONE: &str = "europe-west1-b";
pub(super) const USER_DATA: &str = "#cloud-config\nwrite_files:\n- content: \"a secret of the machine\"\n";
/// The mark that the driver puts on each request.
const MARK: &str = "jwt-bearer; scope=https://www.googleapis.com/auth/compute";
/// No test needs more calls for one step: the driver must not go round in circles.
const ROUNDS: usize = 40;

pub(super) struct Harness {
    pub(super) model: Rc<Model>,
    pub(super) host: MockHost<'static>,
}

pub(super) struct Model {
    pub(super) cloud: RefCell<Cloud>,
    now_ms: Cell<u64>,
    token: RefCell<String>,
    /// The most live instances with one uid, after each request.
    most: Cell<usize>,
}

impl Model {
    fn answer(&self, sent: &HttpRequest) -> Result<HttpAnswer, NoAnswerReason> {
        assert_eq!(sent.header_value("machinist-auth"), Some(MARK), "each request is marked");
        assert_eq!(sent.header_value("authorization"), None, "the driver sets no token");
        let target = sent.url.strip_prefix(ENDPOINT).expect("requests go to Google");
        let mut request = gcp::Request::new(sent.method.as_str(), target).with_token(&self.token.borrow());
        request.body = sent.body.clone().unwrap_or_default();
        let mut cloud = self.cloud.borrow_mut();
        let answer = cloud.handle(&request, self.now_ms.get());
        self.most.set(self.most.get().max(cloud.most_of_one_machine()));
        let headers =
            answer.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        if answer.status == 401 {
            // The host drops the token and fetches another one.
            *self.token.borrow_mut() = cloud.identity.issue("driver", SCOPE, START_S);
        }
        match answer.delivery {
            Delivery::Whole => Ok(HttpAnswer { status: answer.status, headers, body: answer.body }),
            Delivery::Cut => Err(NoAnswerReason::CutOff),
            Delivery::Never => Err(NoAnswerReason::TimedOut),
        }
    }
}

const START_S: i64 = 1_800_000_000;
pub(super) const START_MS: u64 = 1_800_000_000_000;
const SCOPE: &str = "https://www.googleapis.com/auth/compute";

impl Harness {
    pub(super) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(super) fn with(config: Config) -> Self {
        let mut cloud = Cloud::new(config);
        let token = cloud.identity.issue("driver", SCOPE, START_S);
        let model = Rc::new(Model {
            cloud: RefCell::new(cloud),
            now_ms: Cell::new(START_MS),
            token: RefCell::new(token),
            most: Cell::new(0),
        });
        let host = MockHost::new({
            let model = Rc::clone(&model);
            move |request| model.answer(request)
        })
        .settings(json!({ "project": PROJECT }).to_string())
        .secret("serviceAccountJSON", "{\"type\": \"service_account\"}", &[])
        .user_data(USER_DATA, &[Place::json("/metadata/items/0/value")]);
        Self { model, host }
    }

    pub(super) fn settings(mut self, settings: &Value) -> Self {
        self.host = self.host.settings(settings.to_string());
        self
    }

    pub(super) fn user_data(mut self, text: &str) -> Self {
        self.host = self.host.user_data(text, &[Place::json("/metadata/items/0/value")]);
        self
    }

    pub(super) fn driver(&self) -> MockDriver<'_, 'static, GcpDriver> {
        self.host.driver()
    }

    pub(super) fn cloud<T>(&self, act: impl FnOnce(&mut Cloud) -> T) -> T {
        let mut cloud = self.model.cloud.borrow_mut();
        cloud.advance(self.model.now_ms.get());
        act(&mut cloud)
    }

    pub(super) fn fault(&self, on: &str, effect: Effect) {
        self.cloud(|cloud| cloud.faults.add(Rule::next(on, effect)));
    }

    /// Makes Google refuse the next request of a method.
    pub(super) fn refuse(&self, on: &str, status: u16, reason: &str) {
        self.fault(on, Effect::Refuse(ApiError::new(status, reason, "because")));
    }

    pub(super) fn pass(&self, ms: u64) {
        self.model.now_ms.set(self.model.now_ms.get() + ms);
    }

    /// Returns the methods since the last call of this function.
    pub(super) fn sent(&self) -> Vec<String> {
        self.cloud(|cloud| std::mem::take(&mut cloud.journal)).into_iter().map(|(method, _)| method).collect()
    }

    /// The most instances of one machine that there have been at one time.
    pub(super) fn most(&self) -> usize {
        self.model.most.get()
    }

    pub(super) fn vms(&self) -> Vec<gcp::cloud::VmView> {
        self.cloud(|cloud| cloud.vms())
    }

    /// Creates as the host does: it stores each state, and waits as the driver asks.
    pub(super) fn create(&self, request: &mut Request) -> Result<wit::Vm, Failure> {
        for _ in 0..ROUNDS {
            match self.driver().create(request) {
                Ok(Creation::Created(vm)) => {
                    request.machine.provider_id = Some(vm.provider_id.clone());
                    remember(request, vm.last_known_state.as_ref());
                    return Ok(vm);
                }
                Ok(Creation::InProgress(progress)) => {
                    remember(request, Some(&progress.resume_token));
                    self.pass(progress.ask_again_ms.max(50));
                }
                Err(failure) => {
                    remember(request, failure.last_known_state.as_ref());
                    return Err(failure);
                }
            }
        }
        panic!("the driver goes round in circles: {:?}", request.machine.last_known_state);
    }

    pub(super) fn delete(&self, request: &mut Request) -> Result<(), Failure> {
        for _ in 0..ROUNDS {
            match self.driver().delete(request) {
                Ok(Deletion::Deleted(state)) => {
                    remember(request, state.as_ref());
                    return Ok(());
                }
                Ok(Deletion::InProgress(progress)) => {
                    remember(request, Some(&progress.resume_token));
                    self.pass(progress.ask_again_ms.max(50));
                }
                Err(failure) => {
                    remember(request, failure.last_known_state.as_ref());
                    return Err(failure);
                }
            }
        }
        panic!("the driver goes round in circles: {:?}", request.machine.last_known_state);
    }

    pub(super) fn status(&self, request: &Request) -> Result<wit::Vm, Failure> {
        self.driver().get_status(request)
    }

    /// Returns all pages of a listing.
    pub(super) fn list(&self, class: &Class, cluster: &str) -> Result<Vec<wit::Listed>, Failure> {
        let (mut all, mut token) = (Vec::new(), None);
        loop {
            let Page { machines, next } = self.driver().list(class, cluster, token.as_deref())?;
            all.extend(machines);
            match next {
                None => return Ok(all),
                next => token = next,
            }
        }
    }
}

pub(super) fn remember(request: &mut Request, state: Option<&String>) {
    if let Some(state) = state {
        request.machine.last_known_state = Some(state.clone());
    }
}

/// The same request by a host that stored nothing.
pub(super) fn forgotten(request: &Request) -> Request {
    let mut request = request.clone();
    request.machine.provider_id = None;
    request.machine.last_known_state = None;
    request
}

pub(super) fn spec() -> Value {
    json!({
        "region": "europe-west1",
        "zone": ZONE,
        "machineType": "n1-standard-2",
        "disks": [{ "boot": true, "type": "pd-balanced", "sizeGb": 20, "image": IMAGE }],
        "networkInterfaces": [{ "subnetwork": "nodes", "disableExternalIP": true }],
        "scheduling": { "onHostMaintenance": "MIGRATE", "automaticRestart": true },
        "tags": ["kubernetes-io-cluster-lab", "kubernetes-io-role-node"],
    })
}

pub(super) const IMAGE: &str = "projects/debian-cloud/global/images/family/debian-12";

/// Returns the class with other top-level fields.
pub(super) fn spec_with(fields: Value) -> Value {
    let mut spec = spec();
    let Value::Object(fields) = fields else { panic!("an object") };
    for (name, value) in fields {
        spec[name] = value;
    }
    spec
}

pub(super) fn class(spec: &Value) -> Class {
    Class { provider: "GCP".to_owned(), ..a_class(spec) }
}

/// A request for the Machine with this number.
pub(super) fn request(number: usize) -> Request {
    request_of(number, &spec())
}

pub(super) fn request_of(number: usize, spec: &Value) -> Request {
    Request {
        machine: a_machine(number),
        class: class(spec),
        idempotency_key: format!("uid-{number}"),
        cluster: "c1".to_owned(),
        deadline_ms: 300_000,
    }
}
