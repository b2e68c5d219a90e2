//! The cloud, its clock, and a small host around the driver.

use std::cell::{Cell, RefCell};

use azure_cloud::{Cloud, Kind, Options, Reply, Request as Wire, Rule};
use machinist_sdk::driver::{
    Class, Creation, Deletion, Failure, HttpAnswer, HttpRequest, NoAnswerReason, Page, Request, Vm,
};
use machinist_sdk::mock::{MockHost, Place, a_class, a_request};
use serde_json::Value;

use crate::AzureDriver;

pub(super) const USER_DATA: &str = "#cloud-config\nwrite_files: [\"it's \\\"quoted\\\"\"]\n";
const MARK: &str = "oauth2-client-credentials; scope=https://management.azure.com/.default";
/// A create or a deletion that takes more calls than this has no end.
const MOST_CALLS: usize = 80;

/// The trouble of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    LoseRequest,
    LoseAnswer,
    /// It is done, and the answer is a page of a proxy.
    PageAfter,
    /// It is done, and the answer is a page of a proxy that calls it a success.
    SuccessPageAfter,
    /// It is done, and the answer is JSON of another shape.
    ShapeAfter,
    /// It is done, and half of the answer comes.
    HalfAfter,
    Throttle,
    /// It is done, and the host dies: whatever the call says, nobody hears it.
    Kill,
}

impl Fault {
    pub(super) const ALL: [Self; 8] = [
        Self::LoseRequest,
        Self::LoseAnswer,
        Self::PageAfter,
        Self::SuccessPageAfter,
        Self::ShapeAfter,
        Self::HalfAfter,
        Self::Throttle,
        Self::Kill,
    ];
}

/// Azure and a host.
pub(super) struct Stage {
    cloud: RefCell<Cloud>,
    now_ms: Cell<u64>,
    token: RefCell<Option<String>>,
    /// The requests so far: method and path.
    sent: RefCell<Vec<(String, String)>>,
    bodies: RefCell<Vec<Value>>,
    trouble: Cell<Option<(usize, Fault)>>,
    is_dead: Cell<bool>,
    settings: RefCell<String>,
    secrets: RefCell<Vec<(String, String)>>,
}

impl Stage {
    pub(super) fn new(options: Options) -> Self {
        let secrets = options.secrets().into_iter().collect();
        Self {
            cloud: RefCell::new(Cloud::new(options)),
            now_ms: Cell::new(1_767_323_045_000),
            token: RefCell::default(),
            sent: RefCell::default(),
            bodies: RefCell::default(),
            trouble: Cell::default(),
            is_dead: Cell::default(),
            settings: RefCell::new("{}".to_owned()),
            secrets: RefCell::new(secrets),
        }
    }

    pub(super) fn plain() -> Self {
        Self::new(Options::default())
    }

    pub(super) fn cloud(&self) -> std::cell::RefMut<'_, Cloud> {
        self.cloud.borrow_mut()
    }

    pub(super) fn configure(&self, settings: &Value) {
        *self.settings.borrow_mut() = settings.to_string();
    }

    pub(super) fn set_secret(&self, key: &str, value: &str) {
        let mut secrets = self.secrets.borrow_mut();
        secrets.retain(|(known, _)| known != key);
        secrets.push((key.to_owned(), value.to_owned()));
    }

    pub(super) fn forget_secret(&self, key: &str) {
        self.secrets.borrow_mut().retain(|(known, _)| known != key);
    }

    pub(super) fn fault(&self, rule: Rule) {
        self.cloud().faults.add(rule);
    }

    /// The next request but so many gets this.
    pub(super) fn trouble_at(&self, request: usize, trouble: Fault) {
        self.trouble.set(Some((self.sent.borrow().len() + request, trouble)));
    }

    pub(super) fn pass(&self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
    }

    /// Methods and paths of the requests since the last call.
    pub(super) fn sent(&self) -> Vec<(String, String)> {
        self.sent.take()
    }

    pub(super) fn bodies(&self) -> Vec<Value> {
        self.bodies.take()
    }

    /// The ids of everything that exists.
    pub(super) fn resources(&self) -> Vec<String> {
        self.cloud().tick(self.now_ms.get());
        let cloud = self.cloud();
        let names = cloud.resources().map(|resource| format!("{:?} {}", resource.kind, resource.name));
        names.collect()
    }

    pub(super) fn vms(&self) -> Vec<String> {
        let cloud = self.cloud();
        cloud.resources().filter(|one| one.kind == Kind::Vm).map(|vm| vm.name.clone()).collect()
    }

    pub(super) fn host(&self) -> MockHost<'_> {
        let mut host =
            MockHost::new(|request| self.exchange(request)).settings(self.settings.borrow().clone());
        for (key, value) in self.secrets.borrow().iter() {
            host = host.secret(key, value.as_bytes(), &[]);
        }
        for key in ["subscriptionID", "azureSubscriptionId"] {
            host = host.revealing(key);
        }
        host.user_data(USER_DATA, &[Place::json("/properties/osProfile/customData")])
    }

    fn exchange(&self, request: &HttpRequest) -> Result<HttpAnswer, NoAnswerReason> {
        let Some(target) = request.url.strip_prefix("https://management.azure.com") else {
            return Err(NoAnswerReason::Denied);
        };
        if self.is_dead.get() {
            return Err(NoAnswerReason::Unreachable);
        }
        let index = self.sent.borrow().len();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        self.sent.borrow_mut().push((request.method.as_str().to_owned(), path));
        if let Some(body) = &request.body {
            self.bodies.borrow_mut().push(serde_json::from_slice(body).unwrap());
        }
        let trouble = self.trouble.get().filter(|(at, _)| *at == index).map(|(_, trouble)| trouble);
        if trouble.is_some() {
            self.trouble.set(None);
        }
        match trouble {
            Some(Fault::LoseRequest) => return Err(NoAnswerReason::TimedOut),
            Some(Fault::Throttle) => {
                let headers = vec![("retry-after".to_owned(), "7".to_owned())];
                return Ok(HttpAnswer { status: 429, headers, body: b"slow down".to_vec() });
            }
            _ => {}
        }
        let answer = self.forward(request, target);
        match trouble {
            Some(Fault::LoseAnswer) => Err(NoAnswerReason::CutOff),
            Some(page @ (Fault::PageAfter | Fault::SuccessPageAfter)) => {
                let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
                let status = if page == Fault::PageAfter { 502 } else { 200 };
                Ok(HttpAnswer { status, headers, body: b"<html>proxy</html>".to_vec() })
            }
            Some(Fault::ShapeAfter) => answer.map(|answer| {
                let body = br#"{"answer": [42]}"#.to_vec();
                HttpAnswer { status: 200, body, ..answer }
            }),
            Some(Fault::HalfAfter) => answer.map(|mut answer| {
                answer.body.truncate(answer.body.len() / 2);
                answer
            }),
            Some(Fault::Kill) => {
                self.is_dead.set(true);
                Err(NoAnswerReason::CutOff)
            }
            Some(Fault::LoseRequest | Fault::Throttle) | None => answer,
        }
    }

    /// Sends a request as the host does: with a token for the mark.
    fn forward(&self, request: &HttpRequest, target: &str) -> Result<HttpAnswer, NoAnswerReason> {
        let mut wire = Wire::new(request.method.as_str(), target).header("host", "management.azure.com");
        for (name, value) in &request.headers {
            if name == "machinist-auth" {
                assert_eq!(value, MARK);
                match self.token() {
                    Ok(token) => wire = wire.header("authorization", &format!("Bearer {token}")),
                    Err(answer) => return Ok(answer),
                }
            } else {
                wire = wire.header(name, value);
            }
        }
        let wire = wire.body(request.body.clone().unwrap_or_default());
        let reply = self.cloud().handle(&wire, self.now_ms.get());
        match reply {
            Reply::Answer(answer) => {
                if answer.status == 401 {
                    // The host drops the token, and fetches another one for the next request.
                    *self.token.borrow_mut() = None;
                }
                Ok(HttpAnswer { status: answer.status, headers: answer.headers, body: answer.body })
            }
            Reply::Lost => Err(NoAnswerReason::CutOff),
        }
    }

    fn token(&self) -> Result<String, HttpAnswer> {
        if let Some(token) = self.token.borrow().clone() {
            return Ok(token);
        }
        let secrets = self.secrets.borrow();
        let secret = |key: &str| {
            secrets.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}&scope=https%3A%2F%2Fmanagement.azure.com%2F.default",
            secret("clientID"),
            secret("clientSecret").replace('~', "%7E")
        );
        let target = format!("/{}/oauth2/v2.0/token", secret("tenantID"));
        let Reply::Answer(answer) =
            self.cloud().handle(&Wire::new("POST", &target).body(form), self.now_ms.get())
        else {
            panic!("the token service is lost");
        };
        let value = answer.value();
        match value["access_token"].as_str() {
            Some(token) => {
                *self.token.borrow_mut() = Some(token.to_owned());
                Ok(token.to_owned())
            }
            None => {
                let mut headers = answer.headers;
                headers.push(("machinist-auth".to_owned(), "failed".to_owned()));
                Err(HttpAnswer { status: answer.status, headers, body: answer.body })
            }
        }
    }

    pub(super) fn create(&self, request: &Request) -> Result<Creation, Failure> {
        self.host().driver::<AzureDriver>().create(request)
    }

    pub(super) fn delete(&self, request: &Request) -> Result<Deletion, Failure> {
        self.host().driver::<AzureDriver>().delete(request)
    }

    pub(super) fn status(&self, request: &Request) -> Result<Vm, Failure> {
        self.host().driver::<AzureDriver>().get_status(request)
    }

    pub(super) fn list(&self, class: &Class, token: Option<&str>) -> Result<Page, Failure> {
        self.host().driver::<AzureDriver>().list(class, "c1", token)
    }

    /// Creates until it is decided, as the host does: it repeats what failed in passing.
    pub(super) fn create_to_end(&self, request: &mut Request) -> Result<Vm, Failure> {
        let mut last = None;
        for _ in 0..MOST_CALLS {
            let result = self.create(request);
            if self.revived() {
                continue;
            }
            match result {
                Ok(Creation::Created(vm)) => {
                    request.machine.provider_id = Some(vm.provider_id.clone());
                    request.machine.last_known_state.clone_from(&vm.last_known_state);
                    return Ok(vm);
                }
                Ok(Creation::InProgress(progress)) => {
                    request.machine.last_known_state = Some(progress.resume_token);
                    self.pass(progress.ask_again_ms);
                }
                Err(failure) if self.is_passing(&failure) => {
                    note(request, &failure);
                    self.pass(failure.retry_after_ms.unwrap_or(5_000));
                    last = Some(failure);
                }
                Err(failure) => {
                    note(request, &failure);
                    return Err(failure);
                }
            }
        }
        panic!("the create has no end: {last:?}");
    }

    /// Deletes until it is decided, and the machine is not there any more.
    pub(super) fn delete_to_end(&self, request: &mut Request) -> Result<(), Failure> {
        let mut last = None;
        for _ in 0..MOST_CALLS {
            let result = self.delete(request);
            if self.revived() {
                continue;
            }
            match result {
                Ok(Deletion::Deleted(_)) => return Ok(()),
                Ok(Deletion::InProgress(progress)) => {
                    request.machine.last_known_state = Some(progress.resume_token);
                    self.pass(progress.ask_again_ms);
                }
                Err(failure) if self.is_passing(&failure) => {
                    note(request, &failure);
                    self.pass(failure.retry_after_ms.unwrap_or(5_000));
                    last = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        panic!("the deletion has no end: {last:?}");
    }

    fn is_passing(&self, failure: &Failure) -> bool {
        use machinist_sdk::driver::Code;
        !failure.terminal
            && matches!(
                failure.code,
                Code::Unavailable | Code::DeadlineExceeded | Code::Aborted | Code::Internal | Code::Unknown
            )
    }

    /// The host starts again.
    pub(super) fn revive(&self) {
        self.is_dead.set(false);
        self.trouble.set(None);
    }

    /// True if the host died in the call: it starts again, and knows what it had stored before.
    fn revived(&self) -> bool {
        self.is_dead.replace(false)
    }
}

fn note(request: &mut Request, failure: &Failure) {
    if let Some(state) = &failure.last_known_state {
        request.machine.last_known_state = Some(state.clone());
    }
}

pub(super) fn spec() -> Value {
    Options::default().provider_spec()
}

/// The class with another value at this JSON pointer.
pub(super) fn spec_with(pointer: &str, value: Value) -> Value {
    let mut spec = spec();
    set(&mut spec, pointer, value);
    spec
}

pub(super) fn set(spec: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap_or_else(|| panic!("{parent}"))[name] = value;
}

pub(super) fn class(spec: &Value) -> Class {
    Class { provider: "Azure".into(), ..a_class(spec) }
}

/// The request for the Machine with this number, of cluster `c1`.
pub(super) fn request(number: usize) -> Request {
    request_of(number, &spec())
}

pub(super) fn request_of(number: usize, spec: &Value) -> Request {
    a_request(number, &class(spec))
}

/// The request of a host that has forgotten everything.
pub(super) fn forgotten(request: &Request) -> Request {
    let mut request = request.clone();
    request.machine.provider_id = None;
    request.machine.last_known_state = None;
    request
}
