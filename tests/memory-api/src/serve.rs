//! From HTTP requests to the store and back.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tower::BoxError;

use crate::history::{Delivery, Scope};
use crate::kinds::{self, Kind};
use crate::refusal::Refusal;
use crate::store::{Key, Part};
use crate::wire::Trouble;
use crate::{Answer, ApiServer};

type Reply = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A request, understood.
struct Ask {
    kind: &'static Kind,
    namespace: String,
    name: String,
    part: Part,
    query: BTreeMap<String, String>,
    /// The client wants nothing but metadata.
    is_partial: bool,
}

impl ApiServer {
    /// A client for this actor, whose requests go over the wire.
    pub fn client(&self, actor: &str) -> Client {
        let (server, actor) = (self.clone(), actor.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, actor) = (server.clone(), actor.clone());
            async move { server.answer(&actor, request).await }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, actor: &str, request: Request<Body>) -> Result<Reply, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let ask = Ask::understand(&head)?;
        let verb = ask.verb(&head.method);
        let what = match ask.part {
            Part::Main => ask.kind.plural.to_owned(),
            Part::Status => format!("{}/status", ask.kind.plural),
        };
        let name = match (verb, ask.name.is_empty()) {
            // What is created is named in the body.
            ("POST", _) => {
                let object: Value = serde_json::from_slice(&body)?;
                object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
            }
            _ => ask.name.clone(),
        };
        let act = async {
            let reply = if verb == "WATCH" {
                self.watch(actor, &ask)
            } else {
                let answer = self.act(verb, &ask, &body).map(|object| ask.shown(object));
                reply(&answer)
            };
            (reply.status().as_u16(), Ok(reply))
        };
        self.wire.carry(actor, (verb, what, name), act, broken).await
    }

    fn act(&self, verb: &str, ask: &Ask, body: &[u8]) -> Answer {
        let parsed = || -> Answer {
            if body.is_empty() {
                return Ok(Value::Null);
            }
            serde_json::from_slice(body).map_err(|error| Refusal::invalid(error.to_string()))
        };
        let now = (self.clock)();
        let mut store = self.lock();
        let key: Key = (ask.kind.plural, ask.namespace.clone(), ask.name.clone());
        match verb {
            "LIST" => {
                let objects = store.all(ask.kind, &ask.namespace);
                Ok(ask.page(&objects, store.version()))
            }
            "GET" => store.get(&key),
            "POST" => {
                let object = parsed()?;
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                if name.is_empty() {
                    return Err(Refusal::invalid("metadata.name: Required value"));
                }
                store.create(ask.kind, (key.0, key.1, name), &object, now)
            }
            "PATCH" => store.patch(ask.kind, key, &parsed()?, ask.part),
            "PUT" => store.replace(ask.kind, key, parsed()?, ask.part),
            "DELETE" => {
                let options = parsed()?;
                store.delete(ask.kind, key, &options["preconditions"], now)
            }
            other => Err(Refusal::invalid(format!("{other} is not served"))),
        }
    }

    fn watch(&self, actor: &str, ask: &Ask) -> Reply {
        let from = ask.query("resourceVersion").parse().unwrap_or_default();
        let seconds: u64 = ask.query("timeoutSeconds").parse().unwrap_or(300);
        let end = Instant::now() + Duration::from_secs(seconds);
        match self.lock().history.watch(actor, ask.scope(), from) {
            Ok(inbox) => stream(inbox, end),
            Err(refusal) => {
                let event = json!({ "type": "ERROR", "object": refusal.body() });
                respond(200, format!("{event}\n"))
            }
        }
    }
}

impl Ask {
    fn understand(head: &http::request::Parts) -> Result<Self, BoxError> {
        let path: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
        let (group, version, rest) = match path.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(format!("unknown path {}", head.uri).into()),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (plural, name, part) = match rest {
            [plural] => (*plural, "", Part::Main),
            [plural, name] => (*plural, *name, Part::Main),
            [plural, name, "status"] => (*plural, *name, Part::Status),
            _ => return Err(format!("unknown path {}", head.uri).into()),
        };
        let kind = kinds::find(group, version, plural).ok_or_else(|| format!("unknown path {}", head.uri))?;
        let query = url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let accept = head.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
        Ok(Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            part,
            query: query.into_owned().collect(),
            is_partial: accept.is_some_and(|accept| accept.contains("PartialObjectMetadata")),
        })
    }

    fn verb(&self, method: &Method) -> &'static str {
        match (method.as_str(), self.name.is_empty()) {
            ("GET", true) if self.query("watch") == "true" => "WATCH",
            ("GET", true) => "LIST",
            ("GET", false) => "GET",
            ("POST", _) => "POST",
            ("PUT", _) => "PUT",
            ("PATCH", _) => "PATCH",
            ("DELETE", _) => "DELETE",
            _ => "OTHER",
        }
    }

    fn query(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    fn scope(&self) -> Scope {
        let labels = self.query("labelSelector").to_owned();
        Scope { kind: self.kind, namespace: self.namespace.clone(), labels }
    }

    /// One page. The token says where the page before ended, and keeps the version of the first page, so that a watch from
    /// there brings what changed between pages.
    fn page(&self, objects: &[Value], version: u64) -> Value {
        let scope = self.scope();
        let place = |object: &Value| {
            let meta = &object["metadata"];
            let text = |field: &str| meta[field].as_str().unwrap_or_default().to_owned();
            (text("namespace"), text("name"))
        };
        let token: Option<(String, (String, String))> = serde_json::from_str(self.query("continue")).ok();
        let version = token.as_ref().map_or(version.to_string(), |(version, _)| version.clone());
        let is_left = |object: &&Value| token.as_ref().is_none_or(|(_, last)| place(object) > *last);
        let mut left: Vec<&Value> =
            objects.iter().filter(|object| scope.takes(object)).filter(is_left).collect();
        let limit = self.query("limit").parse().unwrap_or(usize::MAX);
        let mut meta = json!({ "resourceVersion": version });
        if left.len() > limit {
            left.truncate(limit);
            let last = left.last().map(|object| place(object));
            meta["continue"] = json!(json!([version, last]).to_string());
        }
        let kind = format!("{}List", self.kind.name);
        json!({ "apiVersion": self.kind.api_version(), "kind": kind, "metadata": meta, "items": left })
    }

    fn shown(&self, object: Value) -> Value {
        if !self.is_partial {
            return object;
        }
        let metadata = &object["metadata"];
        json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata })
    }
}

fn reply(answer: &Answer) -> Reply {
    match answer {
        Ok(object) => respond(200, object.to_string()),
        Err(refusal) => respond(refusal.code, refusal.body().to_string()),
    }
}

fn respond(code: u16, body: String) -> Reply {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
}

/// Events as they come, one a line, until the server ends the watch.
fn stream(inbox: mpsc::UnboundedReceiver<Delivery>, end: Instant) -> Reply {
    let lines = futures::stream::unfold(inbox, move |mut inbox| async move {
        let next = async {
            let (due, event) = inbox.recv().await?;
            tokio::time::sleep_until(due).await;
            Some(event)
        };
        let event = tokio::time::timeout_at(end, next).await.ok().flatten()?;
        let line = Bytes::from(format!("{event}\n"));
        Some((Ok::<_, BoxError>(http_body::Frame::data(line)), inbox))
    });
    Response::builder().status(200).body(StreamBody::new(lines.boxed()).boxed_unsync()).unwrap()
}

fn broken(trouble: Trouble) -> Result<Reply, BoxError> {
    match trouble {
        Trouble::Refused(code) => Ok(reply(&Err(Refusal::trouble(code)))),
        Trouble::NotSent => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
        Trouble::NoAnswer => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        Trouble::Answered(error) => Err(error.into()),
    }
}
