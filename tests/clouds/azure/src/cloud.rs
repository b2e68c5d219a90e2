//! The way of a request: fault, token, throttling, route.

use std::collections::BTreeMap;

use crate::arm;
use crate::faults::{Effect, Faults, throttled};
use crate::models;
use crate::options::Options;
use crate::state::{Action, Key, Kind, Operation, Resource, State, UID_TAG, id};
use crate::tokens::{self, Tokens};
use crate::wire::{Request, Response, error};

/// The answer to a request, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Answer(Response),
    /// The connection ends without an answer.
    Lost,
}

/// Azure, as a value: requests and the time go in, answers come out.
pub struct Cloud {
    pub options: Options,
    pub faults: Faults,
    pub(crate) resources: BTreeMap<Key, Resource>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) tokens: Tokens,
    /// The resources before each change, for Resource Graph.
    pub(crate) past: Vec<(u64, BTreeMap<Key, Resource>)>,
    /// Numbers of requests, by method and kind of path.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Accepted creations of VMs, by name: more than one at a time would be a second VM.
    pub(crate) vms_created: u64,
    /// VMs that were created and did not fail, by the uid of their Machine.
    pub(crate) created: BTreeMap<String, u64>,
    /// The most VMs that lived at one time, by uid.
    pub(crate) most_at_once: BTreeMap<String, usize>,
    window: (u64, u32),
    counter: u64,
}

impl Cloud {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            faults: Faults::default(),
            resources: BTreeMap::new(),
            operations: Vec::new(),
            tokens: Tokens::default(),
            past: Vec::new(),
            counts: BTreeMap::new(),
            vms_created: 0,
            created: BTreeMap::new(),
            most_at_once: BTreeMap::new(),
            window: (0, 0),
            counter: 0,
        }
    }

    /// All resources that exist, also those that are being deleted.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }

    /// The VMs that exist, with those that are being deleted.
    pub fn vms(&self) -> Vec<&Resource> {
        self.resources().filter(|resource| resource.kind == Kind::Vm).collect()
    }

    /// How many VMs were created so far.
    pub fn vms_created(&self) -> u64 {
        self.vms_created
    }

    /// Numbers of requests, by method and kind.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    pub fn forget_counts(&mut self) {
        self.counts.clear();
    }

    /// Changes a resource behind Azure's back.
    pub fn change(&mut self, kind: Kind, group: &str, name: &str, change: impl FnOnce(&mut Resource)) {
        if let Some(resource) = self.resources.get_mut(&Key::new(kind, group, name)) {
            change(resource);
        }
    }

    /// Ends a token before its time, as a revocation does.
    pub fn expire_tokens(&mut self) {
        self.tokens.expire();
    }

    /// Lets the time pass: operations end.
    pub fn tick(&mut self, now_ms: u64) {
        self.finish(now_ms);
    }

    /// Answers a request at this time.
    pub fn handle(&mut self, request: &Request, now_ms: u64) -> Reply {
        self.finish(now_ms);
        let fault = self.faults.of(request);
        match fault {
            Some(Effect::LoseRequest) => return Reply::Lost,
            Some(Effect::Throttle { retry_after_s }) => return Reply::Answer(throttled(retry_after_s)),
            Some(Effect::Refuse { status, code, message }) => {
                return Reply::Answer(error(status, &code, &message));
            }
            _ => {}
        }
        let answer = self.answer(request, fault.as_ref(), now_ms);
        let answer =
            answer.with("x-ms-request-id", self.next("request")).with("x-ms-correlation-request-id", "tests");
        match fault {
            Some(Effect::LoseAnswer) => Reply::Lost,
            Some(Effect::DoneAnd500) => {
                Reply::Answer(error(500, "InternalServerError", "An error occurred."))
            }
            _ => Reply::Answer(answer),
        }
    }

    fn answer(&mut self, request: &Request, fault: Option<&Effect>, now_ms: u64) -> Response {
        let segments = request.segments();
        if let Some(answer) = tokens::answer(self, request, &segments, now_ms) {
            return answer;
        }
        if segments.first().is_some_and(|first| first == "admin") {
            return crate::admin::answer(self, request, &segments, now_ms);
        }
        if let Err(refused) = self.authenticate(request, now_ms) {
            return refused;
        }
        if let Err(refused) = self.admit(now_ms) {
            return refused;
        }
        if segments.first().is_some_and(|first| first.eq_ignore_ascii_case("subscriptions"))
            && segments.get(1) != Some(&self.options.subscription)
        {
            let named = segments.get(1).cloned().unwrap_or_default();
            let message = format!("The subscription '{named}' could not be found.");
            return error(404, "SubscriptionNotFound", &message);
        }
        let Some(operation) = models::operation(&request.method, &segments) else {
            return arm::other(self, request, &segments, now_ms);
        };
        *self.counts.entry(operation.name.clone()).or_default() += 1;
        if let Err(refused) = self.check(request, &operation) {
            return refused;
        }
        let call = arm::Call { request, operation: &operation, now_ms, fault };
        let answer = arm::answer(self, &call);
        arm::checked(answer, &operation)
    }

    fn authenticate(&self, request: &Request, now_ms: u64) -> Result<(), Response> {
        let Some(header) = request.header_value("authorization") else {
            let message = "Authentication failed. The 'Authorization' header is missing.";
            return Err(error(401, "AuthenticationFailed", message));
        };
        match self.tokens.is_valid(header.trim_start_matches("Bearer "), now_ms) {
            Some(true) => Ok(()),
            Some(false) => Err(error(
                401,
                "ExpiredAuthenticationToken",
                "The access token expiry UTC time is earlier than current UTC time.",
            )),
            None => Err(error(401, "InvalidAuthenticationToken", "The access token is invalid.")),
        }
    }

    fn admit(&mut self, now_ms: u64) -> Result<(), Response> {
        let Some(most) = self.options.requests_per_minute else { return Ok(()) };
        let minute = now_ms / 60_000;
        if self.window.0 != minute {
            self.window = (minute, 0);
        }
        self.window.1 += 1;
        if self.window.1 > most { Err(throttled(60 - (now_ms / 1_000) % 60)) } else { Ok(()) }
    }

    /// Version, parameters, right, body.
    fn check(&self, request: &Request, operation: &models::PublishedOperation) -> Result<(), Response> {
        match request.query_value("api-version") {
            None => {
                let message = "The api-version query parameter (?api-version=) is required for all requests.";
                return Err(error(400, "MissingApiVersionParameter", message));
            }
            Some(version) if version != operation.api_version => {
                let message = format!(
                    "The api-version '{version}' is invalid for {}. The supported version is '{}'.",
                    operation.name, operation.api_version
                );
                return Err(error(400, "InvalidApiVersionParameter", &message));
            }
            Some(_) => {}
        }
        if let Some((name, _)) = request.query.iter().find(|(name, _)| !operation.query.contains(name)) {
            return Err(error(
                400,
                "InvalidQueryParameter",
                &format!("The query parameter '{name}' is unknown."),
            ));
        }
        let conditional = ["If-Match", "If-None-Match"];
        let unusual = conditional.iter().find(|name| {
            request.header_value(name).is_some() && !operation.headers.iter().any(|known| known == *name)
        });
        if let Some(name) = unusual {
            return Err(error(400, "InvalidHeader", &format!("{} takes no header {name}.", operation.name)));
        }
        if let Some(right) = right(operation).filter(|right| self.options.denied.contains(right)) {
            return Err(unauthorized(&right));
        }
        let Some(model) = &operation.body else { return Ok(()) };
        if !request.header_value("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
            return Err(error(
                415,
                "UnsupportedMediaType",
                "The content media type is not supported. Only 'application/json' is.",
            ));
        }
        let found = models::problems(operation.family, model, &request.json()?);
        match found.first() {
            None => Ok(()),
            Some(first) => Err(error(400, "InvalidRequestContent", first)),
        }
    }

    /// A name that was never used before.
    pub(crate) fn next(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}-{:08}", self.counter)
    }

    /// Begins an operation, and returns the headers of its answer.
    pub(crate) fn begin(
        &mut self,
        call: &arm::Call<'_>,
        key: &Key,
        action: Action,
        ms: u64,
    ) -> Vec<(String, String)> {
        let failure = match call.fault {
            Some(Effect::FailLater { code, message }) => Some((code.clone(), message.clone())),
            _ => None,
        };
        let id = self.next("operation");
        let done_ms = call.now_ms + ms;
        self.operations.push(Operation {
            id: id.clone(),
            done_ms,
            is_finished: false,
            key: key.clone(),
            action,
            failure,
        });
        let host = call.request.header_value("host").unwrap_or("management.azure.com");
        let scheme = call.request.header_value("x-forwarded-proto").unwrap_or("https");
        let namespace = key.kind.name().split('/').next().unwrap_or_default();
        let base = format!(
            "{scheme}://{host}/subscriptions/{}/providers/{namespace}/locations/{}",
            self.options.subscription, self.options.location
        );
        let version = &call.operation.api_version;
        let by_status = format!("{base}/operations/{id}?api-version={version}&p=tests");
        let by_location = format!("{base}/operationResults/{id}?api-version={version}&monitor=true");
        let is_delete = matches!(action, Action::Delete { .. });
        let mut headers = Vec::new();
        // Disks tell their deletions by Location alone; VMs and network interfaces by both.
        if !(is_delete && key.kind == Kind::Disk) {
            headers.push(("azure-asyncoperation".to_owned(), by_status));
        }
        if is_delete || action == Action::Restart {
            headers.push(("location".to_owned(), by_location));
        }
        if let Some(seconds) = self.options.retry_after_s {
            headers.push(("retry-after".to_owned(), seconds.to_string()));
        }
        self.finish(call.now_ms);
        headers
    }

    /// Ends the operations that are due.
    pub(crate) fn finish(&mut self, now_ms: u64) {
        let due: Vec<Operation> =
            self.operations.iter().filter(|op| !op.is_finished && op.done_ms <= now_ms).cloned().collect();
        for operation in due {
            self.remember(now_ms);
            arm::finish(self, &operation, now_ms);
            for known in &mut self.operations {
                if known.id == operation.id {
                    known.is_finished = true;
                }
            }
        }
    }

    /// Keeps the state before a change for Resource Graph.
    pub(crate) fn remember(&mut self, now_ms: u64) {
        if self.options.graph_lag_ms > 0 {
            self.past.push((now_ms, self.resources.clone()));
            let oldest = now_ms.saturating_sub(self.options.graph_lag_ms * 2);
            self.past.retain(|(at, _)| *at >= oldest);
        }
    }

    /// The resources that Resource Graph shows.
    pub(crate) fn graph(&self, now_ms: u64) -> &BTreeMap<Key, Resource> {
        let horizon = now_ms.saturating_sub(self.options.graph_lag_ms);
        let before = self.past.iter().find(|(changed_ms, _)| *changed_ms > horizon);
        before.map_or(&self.resources, |(_, resources)| resources)
    }

    pub(crate) fn id_of(&self, key: &Key) -> String {
        match self.resources.get(key) {
            Some(resource) => resource.id(&self.options.subscription),
            None => id(&self.options.subscription, &key.group, key.kind, &key.name),
        }
    }

    /// Counts a VM that was created now, and that will not fail.
    pub(crate) fn count_created(&mut self, key: &Key) {
        let Some(uid) = self.resources.get(key).map(|vm| vm.tag(UID_TAG).unwrap_or_default().to_owned())
        else {
            return;
        };
        let is_it = |resource: &&Resource| {
            resource.kind == Kind::Vm
                && resource.state != State::Deleting
                && resource.tag(UID_TAG) == Some(uid.as_str())
        };
        let now = self.resources.values().filter(is_it).count();
        *self.created.entry(uid.clone()).or_default() += 1;
        let most = self.most_at_once.entry(uid).or_default();
        *most = now.max(*most);
    }

    /// Removes a resource at once.
    pub(crate) fn remove(&mut self, key: &Key) {
        self.resources.remove(key);
    }

    pub(crate) fn set_state(&mut self, key: &Key, state: State) {
        if let Some(resource) = self.resources.get_mut(key) {
            resource.state = state;
        }
    }
}

/// Azure's name of the right that an operation needs.
fn right(operation: &models::PublishedOperation) -> Option<String> {
    let (group, name) = operation.name.split_once('.')?;
    let kind = match group {
        "virtualMachines" | "disks" => format!("Microsoft.Compute/{group}"),
        "networkInterfaces" => format!("Microsoft.Network/{group}"),
        "subnets" => "Microsoft.Network/virtualNetworks/subnets".to_owned(),
        _ => return None,
    };
    let verb = match name {
        "createOrUpdate" | "update" | "updateTags" => "write",
        "delete" => "delete",
        "restart" => "restart/action",
        _ => "read",
    };
    Some(format!("{kind}/{verb}"))
}

fn unauthorized(right: &str) -> Response {
    let message = format!(
        "The client '22222222' with object id '33333333' does not have authorization to perform action '{right}' over scope \
         '/subscriptions/x' or the scope is invalid. If access was recently granted, please refresh your credentials."
    );
    error(403, "AuthorizationFailed", &message)
}
