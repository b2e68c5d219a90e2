//! The proxies in front of LXD. They hold the client certificate, so that a driver can be tested before its host can
//! authenticate, and over plain HTTP. One injects faults; the other has none and waits for operations, for the tests'
//! own looks and changes.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use faulty_http::{Answer, Broken, Received, ServerThread, StartError, Upstream, serve};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use crate::action::action;
use crate::faults::{Effect, Faults, Injection};
use crate::ledger::{Change, Ledger};

const THREADS: usize = 2;
/// Larger requests break the connection.
const REQUEST_LIMIT_BYTES: usize = 4 * 1024 * 1024;
/// An operation of LXD that takes longer has failed.
const RECORD_WITHIN_SECONDS: u64 = 300;
/// LXD's code of an operation that has succeeded.
const SUCCESS: u64 = 200;
/// Sound JSON of another kind.
const OTHER_SHAPE: &str = r#"{"greeting": "to whom it may concern"}"#;
const HTML: &str =
    "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>";

/// One request and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind, such as `create` or `wait`.
    pub action: &'static str,
    /// Path and query as the client sent them.
    pub target: String,
    /// The status of the answer, or `lost`.
    pub outcome: String,
}

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    upstream: Upstream,
    pub(crate) faults: Faults,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) journal: Vec<Entry>,
    pub(crate) ledger: Ledger,
    /// So long after its creation no read shows an instance.
    pub(crate) lag: Duration,
    created: BTreeMap<String, Instant>,
}

/// A running pair of proxies.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) shared: Arc<Shared>,
    driver: ServerThread,
    admin: ServerThread,
}

impl Proxy {
    /// Starts them; they answer when this returns.
    pub(crate) fn start(url: String, client: reqwest::Client) -> Result<Self, StartError> {
        let upstream = Upstream::new(url, client);
        let shared = Arc::new(Shared { upstream, faults: Faults::default(), books: Mutex::default() });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let serving = Arc::clone(&shared);
        let driver = ServerThread::start("lxd-proxy", THREADS, address, move |listener| {
            serve(listener, REQUEST_LIMIT_BYTES, move |head, body| spawned(Arc::clone(&serving), head, body))
        })?;
        let serving = Arc::clone(&shared);
        let admin = ServerThread::start("lxd-admin", 1, address, move |listener| {
            serve(listener, REQUEST_LIMIT_BYTES, move |head, body| {
                let shared = Arc::clone(&serving);
                async move { administer(&shared, &head, body).await }
            })
        })?;
        Ok(Self { shared, driver, admin })
    }

    pub(crate) fn url(&self) -> String {
        self.driver.url()
    }

    pub(crate) fn admin_url(&self) -> String {
        self.admin.url()
    }
}

impl Shared {
    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller may give up; work that has begun is done to its end all the same, as in the cloud.
async fn spawned(shared: Arc<Shared>, head: Parts, body: Bytes) -> Answer {
    tokio::spawn(async move { handle(&shared, head, body).await }).await.map_err(|_| Broken)?
}

async fn handle(shared: &Arc<Shared>, head: Parts, body: Bytes) -> Answer {
    let action = action(&head.method, head.uri.path(), &body);
    let Injection { delay, effect } = shared.faults.decide(action);
    tokio::time::sleep(delay).await;
    let answer = suffer(shared, action, &head, body, effect).await;
    let outcome =
        answer.as_ref().map_or_else(|_| "lost".to_owned(), |answer| answer.status().as_u16().to_string());
    let target = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    shared.books().journal.push(Entry { action, target, outcome });
    answer
}

async fn suffer(
    shared: &Arc<Shared>,
    action: &str,
    head: &Parts,
    body: Bytes,
    effect: Option<Effect>,
) -> Answer {
    let Some(effect) = effect else { return Ok(work(shared, action, head, body).await?.whole()) };
    match effect {
        Effect::Error { status, text, is_after_work } => {
            if is_after_work {
                work(shared, action, head, body).await?;
            }
            Ok(error(status, &text).whole())
        }
        Effect::Throttle { retry_after } => {
            let mut answer = error(429, "Too many requests");
            answer.headers.extend(retry_after.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
            Ok(answer.whole())
        }
        Effect::Failure(text) => {
            let answer = work(shared, action, head, body).await?;
            Ok(failed(answer, &text).whole())
        }
        Effect::LostAnswer => {
            work(shared, action, head, body).await?;
            Err(Broken)
        }
        Effect::LostRequest => Err(Broken),
        Effect::Delay(delay) => {
            tokio::time::sleep(delay).await;
            Ok(work(shared, action, head, body).await?.whole())
        }
        Effect::Half => Ok(work(shared, action, head, body).await?.halved().whole()),
        Effect::Cut => Ok(work(shared, action, head, body).await?.cut()),
        Effect::OtherShape => {
            work(shared, action, head, body).await?;
            Ok(answered(200, "application/json", OTHER_SHAPE.to_owned()).whole())
        }
        Effect::Html { status, is_after_work } => {
            if is_after_work {
                work(shared, action, head, body).await?;
            }
            Ok(answered(status, "text/html", HTML.to_owned()).whole())
        }
    }
}

/// LXD's own answer, late where reads lag.
async fn work(shared: &Arc<Shared>, action: &str, head: &Parts, body: Bytes) -> Result<Received, Broken> {
    let name = || serde_json::from_slice::<Value>(&body).ok()?.get("name")?.as_str().map(str::to_owned);
    if let Some(name) = (action == "create").then(name).flatten() {
        shared.books().created.entry(name).or_insert_with(Instant::now);
    }
    let change = Change::of(action, head.uri.path(), &body);
    let answer = forward(shared, head, body).await?;
    if let Some(change) = change.filter(|_| answer.status == StatusCode::ACCEPTED) {
        tokio::spawn(record(Arc::clone(shared), change, answer.body.clone()));
    }
    let hidden = hidden(shared);
    if hidden.is_empty() {
        return Ok(answer);
    }
    let of_path = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    match action {
        "get" if hidden.contains(&of_path(head.uri.path())) => Ok(error(404, "Instance not found")),
        "list" => Ok(without(answer, &hidden)),
        _ => Ok(answer),
    }
}

/// Notes a change when its operation has succeeded, whether or not a driver waits for it.
async fn record(shared: Arc<Shared>, change: Change, accepted: Bytes) {
    let accepted: Value = serde_json::from_slice(&accepted).unwrap_or_default();
    let Some(id) = accepted.pointer("/metadata/id").and_then(Value::as_str) else { return };
    let (head, ()) = http::Request::new(()).into_parts();
    let target = format!("/1.0/operations/{id}/wait?timeout={RECORD_WITHIN_SECONDS}");
    let Ok(ended) = shared.upstream.forward(&head, &target, Bytes::new()).await else { return };
    let ended: Value = serde_json::from_slice(&ended.body).unwrap_or_default();
    if ended.pointer("/metadata/status_code").and_then(Value::as_u64) == Some(SUCCESS) {
        shared.books().ledger.note(change);
    }
}

async fn forward(shared: &Shared, head: &Parts, body: Bytes) -> Result<Received, Broken> {
    let target = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    shared.upstream.forward(head, target, body).await.map_err(|error| {
        tracing::warn!(%error, "LXD did not answer");
        Broken
    })
}

fn hidden(shared: &Shared) -> Vec<String> {
    let books = shared.books();
    let young = books.created.iter().filter(|(_, at)| at.elapsed() < books.lag);
    young.map(|(name, _)| name.clone()).collect()
}

/// A listing without these instances, as objects or as paths.
fn without(mut answer: Received, hidden: &[String]) -> Received {
    let Ok(mut listing) = serde_json::from_slice::<Value>(&answer.body) else { return answer };
    if let Some(entries) = listing.get_mut("metadata").and_then(Value::as_array_mut) {
        entries.retain(|entry| {
            let name = entry.get("name").or(Some(entry)).and_then(Value::as_str).unwrap_or_default();
            !hidden.iter().any(|hidden| name.rsplit('/').next() == Some(hidden.as_str()))
        });
    }
    answer.body = listing.to_string().into();
    answer
}

/// Requests past the driver: done when this answers.
async fn administer(shared: &Shared, head: &Parts, body: Bytes) -> Answer {
    let answer = forward(shared, head, body).await?;
    if answer.status == StatusCode::ACCEPTED {
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if let Some(id) = value.pointer("/metadata/id").and_then(Value::as_str) {
            let mut wait = head.clone();
            wait.method = Method::GET;
            let target = format!("/1.0/operations/{id}/wait?timeout=120");
            shared.upstream.forward(&wait, &target, Bytes::new()).await.map_err(|_| Broken)?;
        }
    }
    Ok(answer.whole())
}

/// An operation that has failed.
fn failed(answer: Received, text: &str) -> Received {
    let Ok(mut value) = serde_json::from_slice::<Value>(&answer.body) else { return answer };
    if let Some(operation) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        operation.insert("status".to_owned(), json!("Failure"));
        operation.insert("status_code".to_owned(), json!(400));
        operation.insert("err".to_owned(), json!(text));
    }
    Received { body: value.to_string().into(), ..answer }
}

fn error(status: u16, text: &str) -> Received {
    let body =
        json!({ "type": "error", "status": "", "status_code": 0, "error_code": status, "error": text });
    answered(status, "application/json", body.to_string())
}

fn answered(status: u16, content_type: &'static str, body: String) -> Received {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Received { status: StatusCode::from_u16(status).unwrap_or_default(), headers, body: body.into() }
}
