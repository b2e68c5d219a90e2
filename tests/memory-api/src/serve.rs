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
use tower::{BoxError, Service};

use crate::ApiServer;
use crate::deletion::DeleteOptions;
use crate::history::{Delivery, bookmark};
use crate::kinds::{self, Kind};
use crate::object::Key;
use crate::object::{Object, Shared};
use crate::pods;
use crate::refusal::Refusal;
use crate::scope::Scope;
use crate::store::{Outcome, Part};
use crate::wire::{CallFailure, Manner};

/// How far back a stale listing may be.
const STALE_CHANGES: usize = 50;

const BOOKMARK: Duration = Duration::from_mins(1);

type Reply = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// The subresource that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Object,
    Status,
    Scale,
    Eviction,
}

struct Ask {
    kind: &'static Kind,
    namespace: String,
    name: String,
    target: Target,
    query: BTreeMap<String, String>,
    scope: Scope,
    /// The client wants nothing but metadata.
    is_partial: bool,
    /// How the body of a patch is meant.
    media: String,
}

impl ApiServer {
    /// A client for this actor, whose requests go over the wire.
    pub fn client(&self, actor: &str) -> Client {
        Client::new(self.service(actor), "default")
    }

    /// As `client`, for who wants to put something between.
    pub fn service(
        &self,
        actor: &str,
    ) -> impl Service<
        Request<Body>,
        Response = Response<UnsyncBoxBody<Bytes, BoxError>>,
        Error = BoxError,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static {
        let (server, actor) = (self.clone(), actor.to_owned());
        tower::service_fn(move |request: Request<Body>| {
            let (server, actor) = (server.clone(), actor.clone());
            async move { server.answer(&actor, request).await }
        })
    }

    async fn answer(&self, actor: &str, request: Request<Body>) -> Result<Reply, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let ask = match Ask::understand(&head) {
            Ok(ask) => ask,
            Err(refusal) => return Ok(reply(200, &Err(refusal))),
        };
        let verb = ask.verb(&head.method);
        let what = match ask.target {
            // The same Events by the group of old.
            Target::Object if ask.kind.plural == "events" && ask.kind.group.is_empty() => {
                "v1/events".to_owned()
            }
            Target::Object => ask.kind.plural.to_owned(),
            Target::Status => format!("{}/status", ask.kind.plural),
            Target::Scale => format!("{}/scale", ask.kind.plural),
            Target::Eviction => format!("{}/eviction", ask.kind.plural),
        };
        let name = match (verb, ask.name.is_empty()) {
            // The name of a created object is in the body.
            ("POST", true) => {
                let object: Value = serde_json::from_slice(&body)?;
                object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
            }
            _ => ask.only_name().to_owned(),
        };
        let act = async |manner| {
            let reply = match verb {
                "WATCH" => self.watch(actor, &ask),
                "LIST" => respond(200, self.list(&ask, manner)),
                _ => {
                    let answer = self.act(actor, verb, &ask, &body).map(|object| ask.shown(object));
                    reply(if verb == "POST" { 201 } else { 200 }, &answer)
                }
            };
            let mut reply = reply;
            let date =
                jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&(self.clock)());
            if let Some(date) = date.ok().and_then(|date| date.parse().ok()) {
                reply.headers_mut().insert(http::header::DATE, date);
            }
            (reply.status().as_u16(), Ok(reply))
        };
        self.wire.carry_in_a_manner(actor, (verb, what, name), act, broken).await
    }

    fn act(&self, actor: &str, verb: &str, ask: &Ask, body: &[u8]) -> Outcome {
        let parsed = || -> Result<Value, Refusal> {
            if body.is_empty() {
                return Ok(Value::Null);
            }
            serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))
        };
        let now = (self.clock)();
        let part = if ask.target == Target::Status { Part::Status } else { Part::Main };
        let mut store = self.lock(actor);
        let key: Key = (ask.kind.plural, ask.namespace.clone(), ask.name.clone());
        match verb {
            "GET" if ask.target == Target::Scale => store.scale_of(&key),
            "GET" => store.get(&key),
            "PUT" if ask.target == Target::Scale => store.replace_scale(ask.kind, key, &parsed()?),
            "PATCH" if ask.target == Target::Scale && ask.media == "application/merge-patch+json" => {
                store.patch_scale(ask.kind, key, &parsed()?)
            }
            "POST" if ask.target == Target::Eviction => {
                let eviction = parsed()?;
                pods::evict(&mut store, &key, &DeleteOptions::read(&eviction["deleteOptions"]), now)
            }
            "POST" => {
                let object = parsed()?;
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                store.create(ask.kind, (key.0, key.1, name), &object, now)
            }
            "PATCH" => match ask.media.as_str() {
                "application/merge-patch+json" => store.patch(ask.kind, key, &parsed()?, part),
                "application/strategic-merge-patch+json" if !ask.kind.is_custom => {
                    store.patch_strategically(ask.kind, key, &parsed()?, part)
                }
                other => Err(Refusal::unsupported(other)),
            },
            "PUT" => store.replace(ask.kind, key, parsed()?, part),
            "DELETE" => store.delete(ask.kind, &key, &DeleteOptions::read(&parsed()?), now),
            other => Err(Refusal::bad_request(format!("{other} is not served"))),
        }
    }

    fn list(&self, ask: &Ask, manner: Manner) -> String {
        let store = self.lock(crate::USER);
        // A listing without a version is read from where writes go to: it shows all that was answered before.
        let is_of_any_time = ask.query("resourceVersion") == "0";
        let stale = (manner == Manner::Stale && is_of_any_time)
            .then(|| store.history.version_back(STALE_CHANGES))
            .flatten();
        match stale {
            Some(version) => {
                let objects = match ask.scope.node_of_pods() {
                    Some(node) => store.pods_of_at(node, &ask.namespace, version),
                    None => store.all_at(ask.kind, &ask.namespace, version),
                };
                ask.page(objects.iter(), version)
            }
            None => match ask.scope.node_of_pods() {
                Some(node) => ask.page(store.pods_of(node), store.version()),
                None => ask.page(store.all(ask.kind, &ask.namespace), store.version()),
            },
        }
    }

    fn watch(&self, actor: &str, ask: &Ask) -> Reply {
        let seconds: u64 = ask.query("timeoutSeconds").parse().unwrap_or(300);
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut store = self.lock(actor);
        let from = ask.query("resourceVersion").parse().unwrap_or(store.version());
        match store.history.watch(actor, ask.scope.clone(), from) {
            Ok(inbox) => {
                let bookmarks = (ask.query("allowWatchBookmarks") == "true").then(|| self.clone());
                stream(WatchStream {
                    inbox,
                    end,
                    bookmarks,
                    kind: ask.kind,
                    on_its_way: None,
                    is_over: false,
                })
            }
            Err(refusal) => {
                let event = json!({ "type": "ERROR", "object": refusal.body() });
                respond(200, format!("{event}\n"))
            }
        }
    }
}

impl Ask {
    fn understand(head: &http::request::Parts) -> Result<Self, Refusal> {
        let unknown = || Refusal::not_found("the server could not find the requested resource: it");
        let path: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
        let (group, version, rest) = match path.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(unknown()),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (plural, name, target) = match rest {
            [plural] => (*plural, "", Target::Object),
            [plural, name] => (*plural, *name, Target::Object),
            [plural, name, "status"] => (*plural, *name, Target::Status),
            [plural @ ("machinesets" | "machinedeployments"), name, "scale"] => {
                (*plural, *name, Target::Scale)
            }
            ["pods", name, "eviction"] => ("pods", *name, Target::Eviction),
            _ => return Err(unknown()),
        };
        let kind = kinds::find(group, version, plural).ok_or_else(unknown)?;
        let pairs = url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let query: BTreeMap<String, String> = pairs.into_owned().collect();
        let text = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        let scope = Scope::new(kind, namespace, text("labelSelector"), text("fieldSelector"))?;
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok(Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            target,
            scope,
            is_partial: header(http::header::ACCEPT).contains("PartialObjectMetadata"),
            media: header(http::header::CONTENT_TYPE).to_owned(),
            query,
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

    /// The name of the one object that it is about; empty for a collection.
    fn only_name(&self) -> &str {
        let of_field = || self.query("fieldSelector").strip_prefix("metadata.name=").unwrap_or_default();
        if self.name.is_empty() { of_field() } else { &self.name }
    }

    fn query(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    /// One page. The token says where the page before ended, and keeps the version of the first page, so that a watch
    /// from there brings what changed between pages.
    fn page<'a>(&self, objects: impl Iterator<Item = &'a Shared>, version: u64) -> String {
        let place = |object: &Value| {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
            (text("namespace"), text("name"))
        };
        let token: Option<(u64, (String, String))> = serde_json::from_str(self.query("continue")).ok();
        let version = token.as_ref().map_or(version, |(version, _)| *version);
        let is_left = |object: &&Shared| token.as_ref().is_none_or(|(_, last)| place(object) > *last);
        let limit = self.query("limit").parse().ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let mut left = objects.filter(|object| self.scope.takes(object)).filter(is_left).peekable();
        let (mut items, mut last, mut count) = (String::new(), None, 0);
        while count < limit
            && let Some(object) = left.next()
        {
            if count > 0 {
                items.push(',');
            }
            if self.is_partial {
                items.push_str(self.shown(object.clone()).text());
            } else {
                items.push_str(object.text());
            }
            (last, count) = (Some(object), count + 1);
        }
        let mut meta = json!({ "resourceVersion": version.to_string() });
        if left.peek().is_some() {
            meta["continue"] = json!(json!([version, last.map(|object| place(object))]).to_string());
        }
        let (api_version, kind) = (self.kind.api_version(), self.kind.name);
        format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}List","metadata":{meta},"items":[{items}]}}"#)
    }

    fn shown(&self, object: Shared) -> Shared {
        if !self.is_partial {
            return object;
        }
        let metadata = &object["metadata"];
        Object::shared(
            json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata }),
        )
    }
}

fn reply(code: u16, answer: &Outcome) -> Reply {
    match answer {
        Ok(object) => respond(code, object.text().to_owned()),
        Err(refusal) => {
            let mut reply = respond(refusal.code, refusal.body().to_string());
            if let Some(seconds) = refusal.retry_after {
                reply.headers_mut().insert("retry-after", seconds.into());
            }
            reply
        }
    }
}

fn respond(code: u16, body: String) -> Reply {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
}

/// A watch as its client gets it.
struct WatchStream {
    inbox: mpsc::UnboundedReceiver<Delivery>,
    end: Instant,
    /// Where bookmarks get their version from, when they are wanted.
    bookmarks: Option<ApiServer>,
    kind: &'static Kind,
    on_its_way: Option<Delivery>,
    is_over: bool,
}

impl WatchStream {
    async fn next(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        let pause = if self.bookmarks.is_some() { self.end.min(Instant::now() + BOOKMARK) } else { self.end };
        // An event that has left the inbox and is not due yet outlives a pause.
        let (inbox, on_its_way) = (&mut self.inbox, &mut self.on_its_way);
        let next = async {
            if on_its_way.is_none() {
                *on_its_way = Some(inbox.recv().await?);
            }
            if let Some((due, _)) = on_its_way {
                tokio::time::sleep_until(*due).await;
            }
            on_its_way.take().map(|(_, event)| event)
        };
        match tokio::time::timeout_at(pause, next).await {
            Ok(event) => event,
            Err(_) => {
                self.is_over = pause == self.end;
                let server = self.bookmarks.as_ref()?;
                let store = server.lock(crate::USER);
                // Only a watch that was sent to the end can be marked.
                let is_behind = !self.inbox.is_empty() || self.on_its_way.is_some();
                Some(if is_behind { String::new() } else { bookmark(self.kind, store.version()) })
            }
        }
    }
}

/// Events as they come, one a line, until the server ends the watch.
fn stream(watch: WatchStream) -> Reply {
    let lines = futures::stream::unfold(watch, |mut watch| async move {
        let line = watch.next().await?;
        Some((Ok::<_, BoxError>(http_body::Frame::data(Bytes::from(line))), watch))
    });
    Response::builder().status(200).body(StreamBody::new(lines.boxed()).boxed_unsync()).unwrap()
}

fn broken(failure: CallFailure) -> Result<Reply, BoxError> {
    match failure {
        CallFailure::Refused(code) => Ok(reply(200, &Err(Refusal::server_failure(code)))),
        CallFailure::NotSent => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
        CallFailure::NoAnswer => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        CallFailure::Answered(error) => Err(error.into()),
    }
}
