//! Before a page is made: whether its caller may have it, and whether there is room.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

use super::Admin;
use super::access::{AccessDecision, Asked, DebugAccess, NotAllowed, judge};
use super::listen::Peer;
use super::refusals::Why;

/// Requests for metrics at the same time: scrapers, which are few. They share what is made.
const METRICS_AT_ONCE: usize = 4;

/// Requests below /debug at the same time. One of them may be a profile, which takes minutes.
const DEBUG_AT_ONCE: usize = 8;

/// After this one asks again.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct Rooms {
    metrics: Arc<Semaphore>,
    debug: Arc<Semaphore>,
}

impl Default for Rooms {
    fn default() -> Self {
        Self {
            metrics: Arc::new(Semaphore::new(METRICS_AT_ONCE)),
            debug: Arc::new(Semaphore::new(DEBUG_AT_ONCE)),
        }
    }
}

/// Lets few requests for metrics in at a time.
pub(super) async fn metrics(state: State<Admin>, request: Request, next: Next) -> Response {
    let Ok(_place) = state.rooms.metrics.try_acquire() else {
        state.sources.refusals.count(Why::MetricsBusy);
        return busy("too many ask for metrics at the moment");
    };
    next.run(request).await
}

/// Lets those in who may read what is below /debug, few at a time.
pub(super) async fn debug(state: State<Admin>, request: Request, next: Next) -> Response {
    if let Err(refused) = may_read(&state, review(&state, &request)).await {
        state.sources.refusals.count(&refused);
        return not_allowed(&refused);
    }
    let Ok(_place) = state.rooms.debug.try_acquire() else {
        state.sources.refusals.count(Why::DebugBusy);
        return busy("too many read /debug at the moment");
    };
    next.run(request).await
}

/// The answer to a request for which there is no room.
pub(super) fn busy(text: &'static str) -> Response {
    let mut response = (StatusCode::SERVICE_UNAVAILABLE, format!("{text}\n")).into_response();
    response.headers_mut().insert(RETRY_AFTER, AGAIN.as_secs().into());
    response
}

async fn may_read(admin: &Admin, review: Result<Option<Review>, NotAllowed>) -> Result<(), NotAllowed> {
    let Some(Review { token, path }) = review? else { return Ok(()) };
    match &admin.sources.reviewer {
        Some(reviewer) => reviewer.may_get(&token, &path).await,
        None => Err(NotAllowed::NotLoopback),
    }
}

/// The question to the API server before a request is answered.
struct Review {
    token: String,
    path: String,
}

/// Returns the question; `None` if the request is allowed without one.
fn review(admin: &Admin, request: &Request) -> Result<Option<Review>, NotAllowed> {
    let header = |name| request.headers().get(name).map(|value: &HeaderValue| value.to_str());
    // A host that cannot be read is none of this machine's names.
    let host = header(HOST).map(Result::unwrap_or_default);
    let authorization = header(AUTHORIZATION).and_then(Result::ok);
    let Some(Peer(peer)) = request.extensions().get().copied() else { return Err(NotAllowed::NotLoopback) };
    let has_reviewer = admin.sources.reviewer.is_some();
    let access = if has_reviewer { DebugAccess::Authorized } else { DebugAccess::Loopback };
    match judge(Asked { peer, host, authorization }, access) {
        AccessDecision::Allowed => Ok(None),
        AccessDecision::Refused(refused) => Err(refused),
        AccessDecision::Review(token) => {
            Ok(Some(Review { token: token.to_owned(), path: request.uri().path().to_owned() }))
        }
    }
}

fn not_allowed(refused: &NotAllowed) -> Response {
    let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = (status, format!("{refused}\n")).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(after) = refused.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, after.as_secs().into());
    }
    response
}
