//! The calls of the cloud's API, one function each.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::answer::{CLUSTER_TAG, Page, UID_TAG, Vm, Volume};
use crate::errors::{Cause, CloudCode, CloudError, Effect, refusal};
use crate::trouble::Trouble;

/// Entries of one page: with every tag at its longest, a page stays below the 4 MiB that the host lets through.
const PAGE_ENTRIES: usize = 200;
/// Pages of one look. Nobody's machine has this many VMs: a cloud that pages on has lost its way.
const PAGES: usize = 100;

/// The methods that the driver uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Delete,
}

/// A request of the API.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query, from `/v1` on.
    pub(crate) target: String,
    pub(crate) idempotency_key: Option<String>,
    /// JSON.
    pub(crate) body: Option<String>,
}

/// An answer as it came.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) is_html: bool,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) body: Vec<u8>,
}

/// What carries requests to the cloud.
pub(crate) trait Transport {
    /// The host's name, for messages.
    fn host(&self) -> &str;

    /// Sends, with authentication, and waits for the whole answer.
    fn send(&self, call: &Call) -> Result<Answer, Trouble>;
}

/// The cloud's API. Reads may lag behind changes; changes and idempotency keys do not.
#[derive(Clone, Copy)]
pub(crate) struct Cloud<'a> {
    transport: &'a dyn Transport,
}

/// One thing that is tried, for the errors of it.
struct Attempt<'a> {
    cloud: &'a Cloud<'a>,
    doing: &'static str,
    effect: Effect,
}

impl<'a> Cloud<'a> {
    pub(crate) fn new(transport: &'a dyn Transport) -> Self {
        Self { transport }
    }

    /// Makes a VM, or answers the one that was made under the key.
    pub(crate) fn create(&self, body: &Value, idempotency_key: &str) -> Result<Vm, CloudError> {
        let attempt = self.change("create the VM");
        let call = Call {
            method: Method::Post,
            target: "/v1/vms".to_owned(),
            idempotency_key: Some(idempotency_key.to_owned()),
            body: Some(body.to_string()),
        };
        attempt.object(&attempt.send(&call)?, Vm::parse)
    }

    /// `None`: there is no such VM, or reads do not show it yet.
    pub(crate) fn get(&self, id: &str) -> Result<Option<Vm>, CloudError> {
        let attempt = self.read("read the VM");
        let call = call(Method::Get, format!("/v1/vms/{}", escaped(id)));
        attempt
            .unless_absent(attempt.send(&call))?
            .map(|answer| attempt.object(&answer, Vm::parse))
            .transpose()
    }

    /// Finishes the VM. May be repeated. `None`: there is no such VM.
    pub(crate) fn initialize(&self, id: &str) -> Result<Option<Vm>, CloudError> {
        let attempt = self.change("initialize the VM");
        let call = Call {
            body: Some(json!({ "sourceDestCheck": false }).to_string()),
            ..call(Method::Post, format!("/v1/vms/{}/initialize", escaped(id)))
        };
        attempt
            .unless_absent(attempt.send(&call))?
            .map(|answer| attempt.object(&answer, Vm::parse))
            .transpose()
    }

    /// Starts the VM anew. `None`: there is no such VM.
    pub(crate) fn reboot(&self, id: &str) -> Result<Option<()>, CloudError> {
        let attempt = self.change("start the VM anew");
        let call = call(Method::Post, format!("/v1/vms/{}/reboot", escaped(id)));
        attempt.unless_absent(attempt.send(&call)).map(|answer| answer.map(|_| ()))
    }

    /// Deletes the VM. One that is not there is as good.
    pub(crate) fn delete(&self, id: &str) -> Result<(), CloudError> {
        let attempt = self.change("delete the VM");
        let call = call(Method::Delete, format!("/v1/vms/{}", escaped(id)));
        attempt.unless_absent(attempt.send(&call)).map(|_| ())
    }

    /// One page of the cluster's VMs that exist. A cursor that comes back is an error: it would never end.
    pub(crate) fn page(&self, cluster: &str, cursor: Option<&str>) -> Result<Page<Vm>, CloudError> {
        let attempt = self.read("list VMs");
        let filter = format!("tag={CLUSTER_TAG}:{}", escaped(cluster));
        let page = attempt.page(&vm_list(&filter, cursor), "vms", Vm::parse)?;
        if page.next.is_some() && page.next.as_deref() == cursor {
            return Err(attempt.odd("repeats a cursor of its listing"));
        }
        Ok(page)
    }

    /// The VMs of the cluster that exist and carry this uid.
    pub(crate) fn find(&self, cluster: &str, uid: &str) -> Result<Vec<Vm>, CloudError> {
        let attempt = self.read("look for the VM");
        let filter = marks(cluster, uid);
        let mut vms = attempt.all("vms", Vm::parse, |cursor| vm_list(&filter, cursor))?;
        // The filter is the cloud's; what it lets slip is still not ours.
        vms.retain(|vm| vm.exists() && vm.is_of(cluster) && vm.tag(UID_TAG) == Some(uid));
        Ok(vms)
    }

    /// The volumes of the cluster that carry this uid.
    pub(crate) fn volumes(&self, cluster: &str, uid: &str) -> Result<Vec<Volume>, CloudError> {
        let attempt = self.read("look for the machine's volumes");
        let filter = marks(cluster, uid);
        let mut volumes = attempt.all("volumes", Volume::parse, |cursor| {
            format!("/v1/volumes?{filter}&limit={PAGE_ENTRIES}{}", at(cursor))
        })?;
        volumes.retain(|volume| volume.is_of(cluster, uid));
        Ok(volumes)
    }

    /// Deletes the volume. One that is not there is as good.
    pub(crate) fn delete_volume(&self, id: &str) -> Result<(), CloudError> {
        let attempt = self.change("delete the machine's volume");
        let call = call(Method::Delete, format!("/v1/volumes/{}", escaped(id)));
        attempt.unless_absent(attempt.send(&call)).map(|_| ())
    }

    fn read(&self, doing: &'static str) -> Attempt<'_> {
        Attempt { cloud: self, doing, effect: Effect::Reads }
    }

    fn change(&self, doing: &'static str) -> Attempt<'_> {
        Attempt { cloud: self, doing, effect: Effect::Changes }
    }
}

impl Attempt<'_> {
    fn failed(&self, cause: Cause) -> CloudError {
        let host = self.cloud.transport.host().to_owned();
        CloudError { doing: self.doing, effect: self.effect, host, cause }
    }

    fn odd(&self, what: &str) -> CloudError {
        self.failed(Cause::Odd { what: what.to_owned() })
    }

    /// The body of a success.
    fn send(&self, call: &Call) -> Result<Value, CloudError> {
        let answer =
            self.cloud.transport.send(call).map_err(|trouble| self.failed(Cause::NoAnswer(trouble)))?;
        let Answer { status, is_html, retry_after_ms, body } = answer;
        let foreign = |what| self.failed(Cause::Foreign { status, what, retry_after_ms });
        if is_html {
            return Err(foreign("an HTML page"));
        }
        if !(200..300).contains(&status) {
            return Err(match refusal(status, &body, retry_after_ms) {
                Some(cause) => self.failed(cause),
                None => foreign("something that is not the cloud's"),
            });
        }
        serde_json::from_slice(&body).map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => foreign("with half of an answer"),
            _ => self.odd("is not JSON"),
        })
    }

    fn object<T>(&self, answer: &Value, parse: fn(&Value) -> Option<T>) -> Result<T, CloudError> {
        parse(answer).ok_or_else(|| self.odd("lacks a field that its kind of object always has"))
    }

    fn page<T>(
        &self,
        target: &str,
        field: &str,
        parse: fn(&Value) -> Option<T>,
    ) -> Result<Page<T>, CloudError> {
        let answer = self.send(&call(Method::Get, target.to_owned()))?;
        Page::parse(&answer, field, parse).ok_or_else(|| self.odd("is not a listing"))
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
                    return Err(self.odd("repeats a cursor of its listing"));
                }
                Some(_) if cursors.len() >= PAGES => return Err(self.odd("is a listing without end")),
                Some(next) => cursors.push(next),
            }
        }
    }

    /// The cloud's own `not_found`, and nobody else's, is an answer.
    fn unless_absent(&self, answer: Result<Value, CloudError>) -> Result<Option<Value>, CloudError> {
        match answer {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.cloud_code() == Some(&CloudCode::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn call(method: Method, target: String) -> Call {
    Call { method, target, idempotency_key: None, body: None }
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

/// For a segment of a path or a value of a query.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_a_url_would_read_otherwise_is_escaped() {
        assert_eq!(escaped("vm-1_a.b~c"), "vm-1_a.b~c");
        assert_eq!(escaped("a/b?c&d=e ü"), "a%2Fb%3Fc%26d%3De%20%C3%BC");
    }
}
