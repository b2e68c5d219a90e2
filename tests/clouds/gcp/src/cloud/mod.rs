//! The state of the cloud, and its answers.
//!
//! | module | what it does |
//! | --- | --- |
//! | `config` | project, zones, machine types, images, times |
//! | `insert` | checks a new instance as Google does, and creates it |
//! | `instances` | the other methods of instances, and their disks |
//! | `operations` | operations that take time and fail, and request ids |
//! | `listing` | filters and pages |
//! | `admin` | views of the cloud for tests, and changes by hand |
//! | `live` | instances as kubelets see them, and how many were created |

mod admin;
mod config;
mod insert;
mod instances;
mod listing;
mod live;
mod operations;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::discovery::{Api, Call, Direction, NoCall};
use crate::faults::{Effect, Faults};
use crate::identity::{Identity, NoToken};
use crate::wire::{Answer, ApiError, Request};

pub use admin::VmView;
pub use config::{Config, MachineType};
pub use live::LiveInstance;
pub(crate) use operations::Operation;

type Outcome = Result<Value, ApiError>;

/// The key of everything in a zone: zone and name.
pub(crate) type Key = (String, String);

const BASE: &str = "/compute/v1/";
/// How URLs of resources begin.
pub(crate) const ROOT: &str = "https://www.googleapis.com/compute/v1/";

#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The resource as Google shows it.
    pub(crate) resource: Value,
    /// The creation: reads show the instance when it runs.
    pub(crate) insert: Key,
    /// The deletion, if one has begun.
    pub(crate) delete: Option<Key>,
    pub(crate) disks: Vec<(Key, bool)>,
    /// How often it was reset.
    pub(crate) resets: u32,
}

/// Google Compute Engine with one project.
#[derive(Debug)]
pub struct Cloud {
    api: &'static Api,
    pub config: Config,
    pub identity: Identity,
    pub faults: Faults,
    pub full_zones: BTreeSet<String>,
    /// The methods of the requests, in order, with the status of each answer.
    pub journal: Vec<(String, u16)>,
    /// How many instances were created for each label `machinist-machine-uid`.
    pub created: BTreeMap<String, usize>,
    /// The most instances that lived at one time, for each such label.
    pub(crate) most_at_once: BTreeMap<String, usize>,
    pub(crate) instances: BTreeMap<Key, Instance>,
    pub(crate) disks: BTreeMap<Key, Value>,
    pub(crate) operations: BTreeMap<Key, Operation>,
    /// Request ids: what was asked, and the operation.
    pub(crate) request_ids: BTreeMap<String, (Value, Key)>,
    pub(crate) serial: u64,
    /// Operations that the next insert gets wrong.
    pub(crate) failing: Option<(String, String)>,
    now_ms: u64,
}

impl Cloud {
    /// Creates a cloud without instances.
    pub fn new(config: Config) -> Self {
        Self {
            api: Api::get(),
            config,
            identity: Identity::default(),
            faults: Faults::default(),
            full_zones: BTreeSet::new(),
            journal: Vec::new(),
            created: BTreeMap::new(),
            most_at_once: BTreeMap::new(),
            instances: BTreeMap::new(),
            disks: BTreeMap::new(),
            operations: BTreeMap::new(),
            request_ids: BTreeMap::new(),
            serial: 0,
            failing: None,
            now_ms: 0,
        }
    }

    /// Answers a request at this time.
    ///
    /// # Panics
    /// If an answer of this cloud violates Google's document: a test must not rely on it.
    pub fn handle(&mut self, request: &Request, now_ms: u64) -> Answer {
        self.advance(now_ms);
        if let Some(answer) = self.identity.handle(request, self.now_s()) {
            return answer;
        }
        let path = request.path().strip_prefix(BASE).unwrap_or_default().to_owned();
        let api = self.api;
        let query = request.query();
        let call = match api.route(&request.method, &path, &query) {
            Ok(call) => call,
            Err(NoCall::NoPath) => {
                self.journal.push((format!("{} {path}", request.method), 404));
                return page_not_found();
            }
            Err(NoCall::Parameter(problem)) => {
                self.journal.push((format!("{} {path}", request.method), 400));
                return ApiError::new(400, "invalidParameter", problem.text).into();
            }
        };
        let effect = self.faults.take(call.id);
        let answer = match effect.as_ref().and_then(Effect::before) {
            Some(answer) => answer,
            None => {
                if let Some(Effect::FailOperation { code, message }) = &effect {
                    self.failing = Some((code.clone(), message.clone()));
                }
                let answer = self.answered(&call, request).unwrap_or_else(Answer::from);
                self.failing = None;
                effect.map_or(answer.clone(), |effect| effect.after(answer))
            }
        };
        self.journal.push((call.id.to_owned(), answer.status));
        answer
    }

    fn answered(&mut self, call: &Call<'_>, request: &Request) -> Result<Answer, ApiError> {
        self.identity.check(request.token.as_deref(), self.now_s()).map_err(|refused| match refused {
            NoToken::Invalid => ApiError::new(401, "authError", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."),
            NoToken::Scope => ApiError::new(403, "insufficientPermissions", "Request had insufficient authentication scopes."),
        })?;
        let body: Value = if request.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&request.body)
                .map_err(|_| ApiError::new(400, "parseError", "Parse Error"))?
        };
        if let Some(problem) = self.api.check_request(call, &body).into_iter().next() {
            let reason =
                if problem.text.starts_with("Invalid JSON payload") { "badRequest" } else { "invalid" };
            return Err(ApiError::new(400, reason, problem.text));
        }
        if call.parameters["project"] != self.config.project {
            let project = &call.parameters["project"];
            return Err(ApiError::new(
                403,
                "forbidden",
                format!("Required 'compute.projects.get' permission for 'projects/{project}'"),
            ));
        }
        if let Some(zone) = call.parameters.get("zone").filter(|zone| !self.config.zones.contains(zone)) {
            return Err(ApiError::invalid(format!(
                "Invalid value for field 'zone': '{zone}'. Unknown zone."
            )));
        }
        let value = self.dispatch(call, &body)?;
        let problems = self.api.check_answer(call, &value);
        assert!(problems.is_empty(), "{} answers against Google's document: {problems:?}", call.id);
        let value = match call.parameters.get("fields") {
            Some(mask) => self
                .api
                .masked(call, &value, mask)
                .map_err(|text| ApiError::new(400, "invalidParameter", text))?,
            None => value,
        };
        Ok(Answer::json(200, &value))
    }

    fn dispatch(&mut self, call: &Call<'_>, body: &Value) -> Outcome {
        let parameter = |name: &str| call.parameters.get(name).cloned().unwrap_or_default();
        let zone = parameter("zone");
        match call.id {
            "instances.insert" => self.insert(call, body),
            "instances.get" => self.read_instance(&zone, &parameter("instance")),
            "instances.delete" => self.delete_instance(call),
            "instances.reset" | "instances.stop" | "instances.setLabels" => self.change_instance(call, body),
            "instances.list" | "instances.aggregatedList" | "disks.list" | "disks.aggregatedList" => {
                self.list(call)
            }
            "zoneOperations.list" => self.list(call),
            "disks.get" => {
                let found = self.disks.get(&(zone.clone(), parameter("disk")));
                found.cloned().ok_or_else(|| self.absent(&zone, "disks", &parameter("disk")))
            }
            "disks.delete" => self.delete_disk(call),
            "zoneOperations.get" | "zoneOperations.wait" => {
                let name = parameter("operation");
                let found = self.operations.get(&(zone.clone(), name.clone()));
                found
                    .map(|operation| operation.resource(self))
                    .ok_or_else(|| self.absent(&zone, "operations", &name))
            }
            "machineTypes.get" => self.machine_type(&zone, &parameter("machineType")),
            "zones.get" => Ok(self.zone(&zone)),
            other => Err(ApiError::new(501, "notImplemented", format!("{other} is not served here"))),
        }
    }

    pub(crate) fn absent(&self, zone: &str, kind: &str, name: &str) -> ApiError {
        ApiError::not_found(&format!("projects/{}/zones/{zone}/{kind}/{name}", self.config.project))
    }

    fn machine_type(&self, zone: &str, name: &str) -> Outcome {
        let kind =
            self.config.machine_type(zone, name).ok_or_else(|| self.absent(zone, "machineTypes", name))?;
        let mut value = json!({
            "kind": "compute#machineType",
            "id": "801016",
            "name": kind.name,
            "guestCpus": kind.cpus,
            "memoryMb": kind.memory_mb,
            "architecture": kind.architecture,
            "zone": zone,
            "selfLink": self.url(zone, "machineTypes", name),
        });
        if let Some((accelerator, count)) = &kind.accelerator {
            value["accelerators"] =
                json!([{ "guestAcceleratorType": accelerator, "guestAcceleratorCount": count }]);
        }
        Ok(value)
    }

    fn zone(&self, zone: &str) -> Value {
        let region = zone.rsplit_once('-').map_or(zone, |(region, _)| region);
        json!({
            "kind": "compute#zone",
            "id": "2000",
            "name": zone,
            "status": "UP",
            "region": format!("{ROOT}projects/{}/regions/{region}", self.config.project),
            "selfLink": format!("{ROOT}projects/{}/zones/{zone}", self.config.project),
        })
    }

    pub(crate) fn url(&self, zone: &str, kind: &str, name: &str) -> String {
        format!("{ROOT}projects/{}/zones/{zone}/{kind}/{name}", self.config.project)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.serial += 1;
        7_000_000_000_000_000_000 + self.serial
    }

    fn now_s(&self) -> i64 {
        i64::try_from(self.now_ms / 1000).unwrap_or(i64::MAX)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Ends the operations whose time has come.
    pub fn advance(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.finish_due();
    }

    /// The revision of Google's document and its digest.
    pub fn document(&self) -> (&str, &str) {
        (&self.api.revision, &self.api.sha256)
    }

    /// Checks a value as a request of a method, for tests of the document itself.
    pub fn problems(&self, schema: &str, method: &str, value: &Value) -> Vec<String> {
        let problems = self.api.check(schema, value, Direction::Request(method));
        problems.into_iter().map(|problem| problem.text).collect()
    }
}

/// Returns a time as Google writes it: that of its headquarters.
pub(crate) fn timestamp(ms: u64) -> String {
    const BEHIND_MS: u64 = 8 * 3_600_000;
    let local = i64::try_from(ms.saturating_sub(BEHIND_MS)).unwrap_or_default();
    let at = jiff::Timestamp::from_millisecond(local).unwrap_or_default();
    format!("{}-08:00", at.strftime("%Y-%m-%dT%H:%M:%S%.3f"))
}

/// Paths that are no method get a page, not Google's form.
fn page_not_found() -> Answer {
    Answer {
        status: 404,
        headers: vec![("content-type", "text/html; charset=UTF-8".to_owned())],
        body: b"<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>".to_vec(),
        delivery: crate::wire::Delivery::Whole,
    }
}
