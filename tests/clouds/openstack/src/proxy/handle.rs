//! The way of one request.

use std::sync::Arc;

use bytes::Bytes;
use faulty_http::{AnswerBody, Broken, Received};
use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use std::time::Instant;

use super::Shared;
use super::faults::{Effect, Injection};
use super::journal::{Entry, action};

/// The region in the catalog whose services never answer.
const OTHER_REGION: &str = "RegionTwo";

pub(super) async fn answer(shared: Arc<Shared>, head: Parts, body: Bytes) -> faulty_http::Answer {
    // If the client gives up, work that has begun is completed, as in a cloud.
    tokio::spawn(async move { handle(&shared, &head, body).await }).await.unwrap_or(Err(Broken))
}

async fn handle(shared: &Shared, head: &Parts, body: Bytes) -> faulty_http::Answer {
    let action = action(head.method.as_str(), head.uri.path());
    let Injection { delay, effect } = shared.faults.decide(&action);
    tokio::time::sleep(delay).await;
    let (answered, written) = apply(shared, head, &action, &body, effect).await;
    shared.journal.write(Entry {
        action,
        query: head.uri.query().unwrap_or_default().to_owned(),
        status: written,
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    answered
}

/// Returns the answer, and its status for the journal.
async fn apply(
    shared: &Shared,
    head: &Parts,
    action: &str,
    body: &Bytes,
    effect: Option<Effect>,
) -> (faulty_http::Answer, u16) {
    let work = || work(shared, head, action, body.clone());
    match effect {
        None => whole(work().await),
        Some(Effect::Instead { status, body, retry_after_seconds }) => {
            whole(canned(status, body, retry_after_seconds))
        }
        Some(Effect::After { status, body }) => {
            work().await;
            whole(canned(status, body, None))
        }
        Some(Effect::LostRequest) => (Err(Broken), 0),
        Some(Effect::LostAnswer) => {
            work().await;
            (Err(Broken), 0)
        }
        Some(Effect::Cut) => (Ok(work().await.cut()), 0),
        Some(Effect::Half) => whole(work().await.halved()),
        // Never chosen as the effect of a request: delays add up.
        Some(Effect::Delay(_)) => whole(work().await),
    }
}

fn whole(received: Received) -> (faulty_http::Answer, u16) {
    let status = received.status.as_u16();
    (Ok(received.whole()), status)
}

async fn work(shared: &Shared, head: &Parts, action: &str, body: Bytes) -> Received {
    let path = head.uri.path();
    let service = path.split('/').nth(1).unwrap_or_default();
    if service == OTHER_REGION {
        let words = r#"{"serviceUnavailable": {"code": 503, "message": "this region is down"}}"#;
        return canned(503, words.to_owned(), None);
    }
    let Some(upstream) = shared.upstreams.get().and_then(|all| all.get(service)) else {
        return canned(404, "there is no such service".to_owned(), None);
    };
    if let Some(hidden) = hidden(shared, action, path) {
        return hidden;
    }
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut head = head.clone();
    // The services name themselves in links by it.
    head.headers.remove("accept-encoding");
    match upstream.forward(&head, target, body.clone()).await {
        Ok(received) => {
            if received.status.is_success() {
                shared.ledger().note(action, path, &body, &received.body);
            }
            readdressed(shared, &head, lagging(shared, action, received))
        }
        Err(error) => {
            tracing::warn!(%error, service, "a service did not answer");
            canned(502, "the service did not answer".to_owned(), None)
        }
    }
}

/// Replaces the address that the catalog names by the one that the client uses.
fn readdressed(shared: &Shared, head: &Parts, mut received: Received) -> Received {
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_tls = shared.tls_port.get().is_some_and(|port| host.ends_with(&format!(":{port}")));
    let scheme = if is_tls { "https" } else { "http" };
    if let (Some(public), Ok(text)) = (shared.public.get(), std::str::from_utf8(&received.body)) {
        let replaced = text.replace(public.as_str(), &format!("{scheme}://{host}"));
        received.body = Bytes::from(replaced);
    }
    received
}

/// Returns the answer to a read of a server that reads do not show yet.
fn hidden(shared: &Shared, action: &str, path: &str) -> Option<Received> {
    let id = path.rsplit('/').next().unwrap_or_default();
    if action != "GET compute/servers/*" || shared.lag().shows(id) {
        return None;
    }
    let words =
        format!(r#"{{"itemNotFound": {{"code": 404, "message": "Instance {id} could not be found."}}}}"#);
    Some(canned(404, words, None))
}

/// Notes new servers, and removes those from listings that reads do not show yet.
fn lagging(shared: &Shared, action: &str, mut received: Received) -> Received {
    let is_create = action == "POST compute/servers";
    if !is_create && action != "GET compute/servers/detail" {
        return received;
    }
    let Ok(mut answer) = serde_json::from_slice::<Value>(&received.body) else { return received };
    if is_create {
        if let Some(id) = answer.pointer("/server/id").and_then(Value::as_str) {
            shared.lag().created.insert(id.to_owned(), Instant::now());
        }
        return received;
    }
    let lag = shared.lag();
    if lag.creation.is_zero() {
        return received;
    }
    if let Some(servers) = answer.get_mut("servers").and_then(Value::as_array_mut) {
        servers.retain(|server| server.get("id").and_then(Value::as_str).is_none_or(|id| lag.shows(id)));
    }
    drop(lag);
    received.body = Bytes::from(answer.to_string());
    received
}

fn canned(status: u16, body: String, retry_after_seconds: Option<u64>) -> Received {
    let kind = if body.starts_with('{') { "application/json" } else { "text/html" };
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
    headers.extend(retry_after_seconds.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Received { status, headers, body: Bytes::from(body) }
}

/// Answers that the admin's server gives.
pub(crate) fn plain(status: u16, body: String) -> http::Response<AnswerBody> {
    canned(status, body, None).whole()
}
