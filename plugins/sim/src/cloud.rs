//! The calls of the cloud's API, one function each.

use machinist_sdk::driver::{Attempt, Effect, Host, HttpRequest, Method, escaped};
use serde_json::{Value, json};

use crate::answer::{CLUSTER_TAG, Page, Size, UID_TAG, Vm, Volume};
use crate::errors::{CloudCode, CloudError, refusal};
use crate::settings::Endpoint;

/// Entries of one page: with every tag at its maximum length, a page stays below the host's limit of 4 MiB.
const PAGE_ENTRIES: usize = 200;
/// Pages of one search. No machine has this many VMs: a cloud that returns more pages is broken.
const PAGES: usize = 100;

/// The cloud's API, as one account sees it. Reads may be stale; changes and idempotency keys are not.
pub(crate) struct Cloud<'a> {
    host: &'a dyn Host,
    endpoint: Endpoint,
    authorization: String,
}

/// One request, with the facts that its errors need.
struct Trial<'a> {
    cloud: &'a Cloud<'a>,
    attempt: Attempt<'a>,
}

impl<'a> Cloud<'a> {
    /// The token is a placeholder of the Secret's value.
    pub(crate) fn new(host: &'a dyn Host, endpoint: Endpoint, token: &str) -> Self {
        Self { host, endpoint, authorization: format!("Bearer {token}") }
    }

    /// True if creates are sent with an idempotency key.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.endpoint.keeps_keys()
    }

    /// Creates a VM, or returns the one that was created with the key, if the cloud keeps keys.
    pub(crate) fn create(&self, body: &Value, idempotency_key: &str) -> Result<Vm, CloudError> {
        let trial = self.change("create the VM");
        let request = self.request(Method::Post, "/v1/vms");
        let request =
            if self.keeps_keys() { request.header("idempotency-key", idempotency_key) } else { request };
        let request = request.json(body);
        trial.object(&trial.send(&request)?, Vm::parse)
    }

    /// Returns a VM. `None`: there is no such VM, or reads do not show it yet.
    pub(crate) fn get(&self, id: &str) -> Result<Option<Vm>, CloudError> {
        let trial = self.read("read the VM");
        let call = self.request(Method::Get, &format!("/v1/vms/{}", escaped(id)));
        trial.unless_absent(trial.send(&call))?.map(|answer| trial.object(&answer, Vm::parse)).transpose()
    }

    /// Completes the VM. May be repeated. `None`: there is no such VM.
    pub(crate) fn initialize(&self, id: &str) -> Result<Option<Vm>, CloudError> {
        let trial = self.change("initialize the VM");
        let target = format!("/v1/vms/{}/initialize", escaped(id));
        let call = self.request(Method::Post, &target).json(&json!({ "sourceDestCheck": false }));
        trial.unless_absent(trial.send(&call))?.map(|answer| trial.object(&answer, Vm::parse)).transpose()
    }

    /// Restarts the VM. `None`: there is no such VM.
    pub(crate) fn reboot(&self, id: &str) -> Result<Option<()>, CloudError> {
        let trial = self.change("reboot the VM");
        let call = self.request(Method::Post, &format!("/v1/vms/{}/reboot", escaped(id)));
        trial.unless_absent(trial.send(&call)).map(|answer| answer.map(|_| ()))
    }

    /// Deletes the VM. If it does not exist, that is success.
    pub(crate) fn delete(&self, id: &str) -> Result<(), CloudError> {
        let trial = self.change("delete the VM");
        let call = self.request(Method::Delete, &format!("/v1/vms/{}", escaped(id)));
        trial.unless_absent(trial.send(&call)).map(|_| ())
    }

    /// Deletes the volume. If it does not exist, that is success.
    pub(crate) fn delete_volume(&self, id: &str) -> Result<(), CloudError> {
        let trial = self.change("delete the machine's volume");
        let call = self.request(Method::Delete, &format!("/v1/volumes/{}", escaped(id)));
        trial.unless_absent(trial.send(&call)).map(|_| ())
    }

    /// Returns one page of the cluster's VMs that exist. A repeated cursor is an error: the listing would never end.
    pub(crate) fn page(&self, cluster: &str, cursor: Option<&str>) -> Result<Page<Vm>, CloudError> {
        let trial = self.read("list VMs");
        let filter = format!("tag={CLUSTER_TAG}:{}", escaped(cluster));
        let page = trial.page(&vm_list(&filter, cursor), "vms", Vm::parse)?;
        if page.next.is_some() && page.next.as_deref() == cursor {
            return Err(trial.invalid_answer("repeats a cursor of its listing"));
        }
        Ok(page)
    }

    /// Returns the VMs of the cluster that exist and have this uid.
    pub(crate) fn find(&self, cluster: &str, uid: &str) -> Result<Vec<Vm>, CloudError> {
        let trial = self.read("look for the VM");
        let filter = marks(cluster, uid);
        let mut vms = trial.all("vms", Vm::parse, |cursor| vm_list(&filter, cursor))?;
        // The cloud filters; a VM that passes wrongly is still not ours.
        vms.retain(|vm| vm.exists() && vm.is_of(cluster) && vm.tag(UID_TAG) == Some(uid));
        Ok(vms)
    }

    /// Returns the volumes of the cluster with this uid.
    pub(crate) fn volumes(&self, cluster: &str, uid: &str) -> Result<Vec<Volume>, CloudError> {
        let trial = self.read("look for the machine's volumes");
        let filter = marks(cluster, uid);
        let mut volumes = trial.all("volumes", Volume::parse, |cursor| {
            format!("/v1/volumes?{filter}&limit={PAGE_ENTRIES}{}", at(cursor))
        })?;
        volumes.retain(|volume| volume.is_of(cluster, uid));
        Ok(volumes)
    }

    /// Returns the size of a type of VMs. `None`: there is no such type.
    pub(crate) fn size(&self, kind: &str) -> Result<Option<Size>, CloudError> {
        let trial = self.read("read the types of VMs");
        let answer = trial.send(&self.request(Method::Get, "/v1/regions"))?;
        Size::of(kind, &answer).ok_or_else(|| trial.invalid_answer("has no types with cpus and memoryGib"))
    }

    fn read(&self, doing: &'static str) -> Trial<'_> {
        self.trial(doing, Effect::Reads)
    }

    fn change(&self, doing: &'static str) -> Trial<'_> {
        self.trial(doing, Effect::Changes)
    }

    fn trial(&self, doing: &'static str, effect: Effect) -> Trial<'_> {
        Trial { cloud: self, attempt: Attempt { doing, host: self.endpoint.host(), effect } }
    }

    fn request(&self, method: Method, target: &str) -> HttpRequest {
        HttpRequest::new(method, self.endpoint.url(target))
            .header("accept", "application/json")
            .header("authorization", &self.authorization)
    }
}

impl Trial<'_> {
    fn invalid_answer(&self, what: &str) -> CloudError {
        self.attempt.unexpected(what).into()
    }

    /// Returns the body of a success.
    fn send(&self, request: &HttpRequest) -> Result<Value, CloudError> {
        let answer = self.cloud.host.send(request).map_err(|error| self.attempt.no_answer(&error))?;
        let foreign = |what| self.attempt.foreign(&answer, what).into();
        if answer.is_html() {
            return Err(foreign("an HTML page"));
        }
        if !answer.is_success() {
            let refused = refusal(&self.attempt, &answer);
            return Err(refused.unwrap_or_else(|| foreign("something that is not the cloud's")));
        }
        Ok(self.attempt.json(&answer)?)
    }

    fn object<T>(&self, answer: &Value, parse: fn(&Value) -> Option<T>) -> Result<T, CloudError> {
        parse(answer).ok_or_else(|| self.invalid_answer("lacks a field that its kind of object always has"))
    }

    fn page<T>(
        &self,
        target: &str,
        field: &str,
        parse: fn(&Value) -> Option<T>,
    ) -> Result<Page<T>, CloudError> {
        let answer = self.send(&self.cloud.request(Method::Get, target))?;
        Page::parse(&answer, field, parse).ok_or_else(|| self.invalid_answer("is not a listing"))
    }

    fn all<T>(
        &self,
        field: &str,
        parse: fn(&Value) -> Option<T>,
        target: impl Fn(Option<&str>) -> String,
    ) -> Result<Vec<T>, CloudError> {
        let mut entries = Vec::new();
        let mut cursors: Vec<String> = Vec::new();
        loop {
            let page = self.page(&target(cursors.last().map(String::as_str)), field, parse)?;
            entries.extend(page.entries);
            match page.next {
                None => return Ok(entries),
                Some(next) if cursors.contains(&next) => {
                    return Err(self.invalid_answer("repeats a cursor of its listing"));
                }
                Some(_) if cursors.len() >= PAGES => {
                    return Err(self.invalid_answer("is a listing without end"));
                }
                Some(next) => cursors.push(next),
            }
        }
    }

    /// Only the cloud's own `not_found` is an answer.
    fn unless_absent(&self, answer: Result<Value, CloudError>) -> Result<Option<Value>, CloudError> {
        match answer {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code == Some(CloudCode::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn vm_list(filter: &str, cursor: Option<&str>) -> String {
    let states = "state=pending&state=running&state=stopping";
    format!("/v1/vms?{filter}&{states}&limit={PAGE_ENTRIES}{}", at(cursor))
}

fn at(cursor: Option<&str>) -> String {
    cursor.map(|cursor| format!("&cursor={}", escaped(cursor))).unwrap_or_default()
}

fn marks(cluster: &str, uid: &str) -> String {
    format!("tag={CLUSTER_TAG}:{}&tag={UID_TAG}:{}", escaped(cluster), escaped(uid))
}
