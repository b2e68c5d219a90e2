//! The calls of Compute Engine's API, one function each.
//!
//! | module | what it does |
//! | --- | --- |
//! | `settings` | Google's address or that of the settings, and the project |
//! | `credentials` | checks that the Secret has what the host authenticates with; user data |
//! | `answer` | Google's objects, with the fields that the driver needs |
//! | `errors` | refusals and failed operations as failures of a call |
//! | `error_codes` | Google's error codes as codes of the contract, with advice |
//! | `pending` | the state of a machine between calls: `last-known-state` |

pub(crate) mod answer;
pub(crate) mod credentials;
pub(crate) mod error_codes;
pub(crate) mod errors;
pub(crate) mod pending;
pub(crate) mod settings;

use machinist_sdk::driver::{
    Attempt, Effect, Failure, Fields, Host, HttpAnswer, HttpRequest, Limits, Method, auth, escaped,
};
use serde_json::{Value, json};

use self::answer::{Disk, INSTANCE_FIELDS, Instance, ListPage, MachineType, Operation};
use self::error_codes::NOT_FOUND;
use self::errors::Refused;
use self::settings::Endpoint;

/// Google answers a request for an operation within seconds; after this time no answer comes.
const ANSWER_MS: u64 = 60_000;
/// The least scope with which instances can be managed.
const SCOPE: &str = "https://www.googleapis.com/auth/compute";
/// Instances of one page, the most that Google returns.
const PAGE_ENTRIES: usize = 500;
/// Pages of one search. No machine has this many instances: a cloud that returns more pages is broken.
const PAGES: usize = 20;

/// Compute Engine with one project.
pub(crate) struct Gce<'a> {
    host: &'a dyn Host,
    endpoint: Endpoint,
    pub(crate) project: String,
}

/// The result of a read that may find nothing.
type Found<T> = Result<Option<T>, Refused>;

impl<'a> Gce<'a> {
    /// Reads settings and Secret. `project` is that of the machine's instance or its class; without it the Secret's or
    /// the operator's counts.
    pub(crate) fn open(host: &'a dyn Host, project: Option<String>) -> Result<Self, Failure> {
        let settings = Fields::settings(&host.settings())?;
        let endpoint = Endpoint::of(&settings)?;
        credentials::check(host)?;
        let project = match project {
            Some(project) => project,
            None => match credentials::project(host)? {
                Some(project) => project,
                None => match settings::project(&settings)? {
                    Some(project) => project,
                    None => credentials::project_of_account(host)?.ok_or_else(credentials::no_project)?,
                },
            },
        };
        Ok(Self { host, endpoint, project })
    }

    /// Returns an instance by its name or number. `None` only if Google itself says that there is none.
    pub(crate) fn instance(&self, zone: &str, instance: &str) -> Found<Instance> {
        let path = format!("zones/{zone}/instances/{instance}");
        let call = Call { fields: Some(INSTANCE_FIELDS), ..Call::read("read the instance", path) };
        self.found(&call, &format!("instances/{instance}"), Instance::parse)
    }

    /// Returns an operation. `None`: Google has forgotten it, which takes two weeks.
    pub(crate) fn operation(&self, zone: &str, operation: &str) -> Found<Operation> {
        let path = format!("zones/{zone}/operations/{operation}");
        self.found(
            &Call::read("look at the operation", path),
            &format!("operations/{operation}"),
            Operation::parse,
        )
    }

    /// Returns a machine type.
    pub(crate) fn machine_type(&self, zone: &str, name: &str) -> Found<MachineType> {
        let path = format!("zones/{zone}/machineTypes/{}", escaped(name));
        self.found(
            &Call::read("read the machine type", path),
            &format!("machineTypes/{name}"),
            MachineType::parse,
        )
    }

    /// Returns an insert of this instance that has not ended: reads may not show its instance yet.
    pub(crate) fn running_insert(&self, zone: &str, name: &str) -> Found<Operation> {
        // With `eq` the value is a regular expression.
        let filter =
            format!("(operationType eq insert) (targetLink eq \".*/zones/{zone}/instances/{name}\")");
        let path = format!("zones/{zone}/operations");
        let listing = Call {
            fields: Some("nextPageToken,items(name,status,targetId,targetLink,error)"),
            ..Call::listing("search for operations of the instance", path, &filter)
        };
        let operations = self.all(&listing, |value| answer::list(value, Operation::parse))?;
        Ok(operations.into_iter().find(|operation| !operation.is_done && operation.target == name))
    }

    /// Returns one page of the project's instances.
    pub(crate) fn instances(&self, filter: &str, token: Option<&str>) -> Result<ListPage<Instance>, Refused> {
        let fields =
            format!("nextPageToken,unreachables,items/*/warning/code,items/*/instances({INSTANCE_FIELDS})");
        let path = "aggregated/instances".to_owned();
        let listing = Call { fields: Some(&fields), ..Call::listing("list instances", path, filter) };
        self.page(&listing, token, &|value: &Value| answer::aggregated(value, "instances", Instance::parse))
    }

    /// Returns all instances of the project that pass the filter.
    pub(crate) fn search(&self, filter: &str) -> Result<Vec<Instance>, Refused> {
        self.each_page("search for instances", |token| self.instances(filter, token))
    }

    /// Returns all disks of the project that pass the filter.
    pub(crate) fn disks(&self, filter: &str) -> Result<Vec<Disk>, Refused> {
        let listing = Call {
            fields: Some(
                "nextPageToken,unreachables,items/*/warning/code,items/*/disks(id,name,zone,labels,users)",
            ),
            ..Call::listing("search for disks", "aggregated/disks".to_owned(), filter)
        };
        self.all(&listing, |value| answer::aggregated(value, "disks", Disk::parse))
    }

    /// Creates an instance. The same request id always means the same operation.
    pub(crate) fn insert(&self, zone: &str, request_id: &str, body: &Value) -> Result<Operation, Refused> {
        let query = vec![("requestId", request_id.to_owned())];
        let path = format!("zones/{zone}/instances");
        self.begun(&Call {
            query,
            body: Some(body),
            ..Call::change("create the instance", Method::Post, path)
        })
    }

    /// Removes an instance by its number, which no other instance of the same name has. `None`: it is gone.
    pub(crate) fn delete(&self, zone: &str, id: u64) -> Found<Operation> {
        let path = format!("zones/{zone}/instances/{id}");
        self.begun_if_there(
            &Call::change("remove the instance", Method::Delete, path),
            &format!("instances/{id}"),
        )
    }

    /// Removes a disk by its number. `None`: it is gone.
    pub(crate) fn delete_disk(&self, zone: &str, id: u64) -> Found<Operation> {
        let path = format!("zones/{zone}/disks/{id}");
        self.begun_if_there(&Call::change("remove the disk", Method::Delete, path), &format!("disks/{id}"))
    }

    /// Restarts an instance. `None`: it is gone.
    pub(crate) fn reset(&self, zone: &str, id: u64) -> Found<Operation> {
        let path = format!("zones/{zone}/instances/{id}/reset");
        self.begun_if_there(
            &Call::change("reboot the instance", Method::Post, path),
            &format!("instances/{id}"),
        )
    }

    /// Replaces the labels of an instance, unless somebody changed them since they were read.
    pub(crate) fn set_labels(&self, instance: &Instance, labels: &Value) -> Result<Operation, Refused> {
        let body = json!({ "labels": labels, "labelFingerprint": instance.label_fingerprint });
        let path = format!("zones/{}/instances/{}/setLabels", instance.zone, instance.id);
        self.begun(&Call { body: Some(&body), ..Call::change("mark the instance", Method::Post, path) })
    }

    fn all<T>(
        &self,
        listing: &Call<'_>,
        parse: impl Fn(&Value) -> Result<ListPage<T>, &'static str>,
    ) -> Result<Vec<T>, Refused> {
        self.each_page(listing.doing, |token| self.page(listing, token, &parse))
    }

    /// Reads to the last page. Pages that a filter leaves empty have successors as well.
    fn each_page<T>(
        &self,
        doing: &'static str,
        page: impl Fn(Option<&str>) -> Result<ListPage<T>, Refused>,
    ) -> Result<Vec<T>, Refused> {
        let mut all = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..PAGES {
            let page = page(token.as_deref())?;
            all.extend(page.entries);
            match page.next {
                None => return Ok(all),
                next => token = next,
            }
        }
        Err(unexpected(&self.attempt(doing, Effect::Reads), "names ever further pages"))
    }

    fn page<T>(
        &self,
        listing: &Call<'_>,
        token: Option<&str>,
        parse: &impl Fn(&Value) -> Result<ListPage<T>, &'static str>,
    ) -> Result<ListPage<T>, Refused> {
        let mut query = listing.query.clone();
        query.push(("maxResults", PAGE_ENTRIES.to_string()));
        if let Some(token) = token {
            query.push(("pageToken", token.to_owned()));
        }
        let call = Call { query, fields: listing.fields, ..Call::read(listing.doing, listing.path.clone()) };
        let answer = self.send(&call)?;
        let attempt = self.attempt(listing.doing, Effect::Reads);
        let page = parse(&answer).map_err(|what| unexpected(&attempt, what))?;
        if page.next.is_some() && page.next.as_deref() == token {
            return Err(unexpected(&attempt, "names the same page as the next one"));
        }
        Ok(page)
    }

    /// Sends a read. `None` if Google says that this resource does not exist: a 404 of anything else is no proof.
    fn found<T>(&self, call: &Call<'_>, resource: &str, parse: impl Fn(&Value) -> Option<T>) -> Found<T> {
        match self.send(call) {
            Ok(value) => match parse(&value) {
                Some(parsed) => Ok(Some(parsed)),
                None => Err(unexpected(&self.attempt(call.doing, Effect::Reads), "has another shape")),
            },
            Err(refused) if is_absent(&refused, resource) => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    fn begun(&self, call: &Call<'_>) -> Result<Operation, Refused> {
        let answer = self.send(call)?;
        let attempt = self.attempt(call.doing, Effect::Changes);
        Operation::parse(&answer).ok_or_else(|| unexpected(&attempt, "is no operation"))
    }

    fn begun_if_there(&self, call: &Call<'_>, resource: &str) -> Found<Operation> {
        match self.begun(call) {
            Ok(operation) => Ok(Some(operation)),
            Err(refused) if is_absent(&refused, resource) => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    fn attempt(&self, doing: &'static str, effect: Effect) -> Attempt<'_> {
        Attempt { doing, host: &self.endpoint.host, effect }
    }

    /// Sends a request. After a 401 the host gets another token, so it is worth one more.
    fn send(&self, call: &Call<'_>) -> Result<Value, Refused> {
        let attempt = self.attempt(call.doing, call.effect());
        let mut answer = self.exchange(call, &attempt)?;
        if answer.status == 401 && errors::is_sent(&answer) {
            answer = self.exchange(call, &attempt)?;
        }
        if answer.is_success() && errors::is_sent(&answer) {
            if answer.is_html() {
                return Err(attempt.foreign(&answer, "an HTML page").into());
            }
            return attempt.json(&answer).map_err(Refused::from);
        }
        Err(errors::refused(&attempt, &answer))
    }

    fn exchange(&self, call: &Call<'_>, attempt: &Attempt<'_>) -> Result<HttpAnswer, Refused> {
        let mut url = format!("{}/compute/v1/projects/{}/{}", self.endpoint.base, self.project, call.path);
        let fields = call.fields.map(|fields| ("fields", fields.to_owned()));
        for (index, (name, value)) in call.query.iter().chain(&fields).enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            url.push_str(&format!("{separator}{name}={}", escaped(value)));
        }
        let (mark, what) = auth::jwt_bearer(&[SCOPE]);
        let mut request =
            HttpRequest::new(call.method, url).header("accept", "application/json").header(mark, what);
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let limits = Limits { answer_ms: ANSWER_MS, ..Limits::default() };
        self.host.send_within(&request, limits).map_err(|error| attempt.no_answer(&error).into())
    }
}

/// One request of the API.
struct Call<'a> {
    /// The action, which follows "failed to" in messages.
    doing: &'static str,
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    /// The fields of the answer; `None` for all.
    fields: Option<&'a str>,
    body: Option<&'a Value>,
}

impl Call<'_> {
    fn read(doing: &'static str, path: String) -> Self {
        Self { doing, method: Method::Get, path, query: Vec::new(), fields: None, body: None }
    }

    fn listing(doing: &'static str, path: String, filter: &str) -> Self {
        let filter = (!filter.is_empty()).then(|| ("filter", filter.to_owned()));
        Self { query: filter.into_iter().collect(), ..Self::read(doing, path) }
    }

    fn change(doing: &'static str, method: Method, path: String) -> Self {
        Self { method, ..Self::read(doing, path) }
    }

    fn effect(&self) -> Effect {
        if self.method == Method::Get { Effect::Reads } else { Effect::Changes }
    }
}

/// Returns the failure for a complete answer that violates the API.
fn unexpected(attempt: &Attempt<'_>, what: &str) -> Refused {
    attempt.unexpected(&format!("{what}: if this lasts, look at what is between here and Google")).into()
}

fn is_absent(refused: &Refused, resource: &str) -> bool {
    // The text names the resource between quotes: another one that is missing, such as the project, is no proof.
    refused.reason.as_deref() == Some(NOT_FOUND) && refused.message.contains(&format!("{resource}'"))
}
