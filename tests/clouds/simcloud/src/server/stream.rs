//! `GET /admin/vms/stream`: the cloud's deltas as they happen, one JSON object a line.

use std::sync::Arc;

use bytes::Bytes;
use faulty_http::{Answer, AnswerBody, Broken};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::Shared;
use super::connection::plain;
use crate::request::{Method, Request};

/// Batches that wait for a slow reader; beyond this it lags, and may have to start again.
const BATCHES_AHEAD: usize = 4;

pub(super) fn is_asked_for(request: &Request) -> bool {
    request.method == Method::Get && request.path == "/admin/vms/stream"
}

pub(super) fn open(shared: Arc<Shared>, request: &Request) -> Answer {
    if request.token.as_deref() != Some(&shared.admin_token) {
        return plain(StatusCode::UNAUTHORIZED);
    }
    let since = match request.query("since").map(str::parse) {
        None => None,
        Some(Ok(since)) => Some(since),
        Some(Err(_)) => return plain(StatusCode::BAD_REQUEST),
    };
    let (lines, body) = mpsc::channel(BATCHES_AHEAD);
    tokio::spawn(follow(shared, since, lines));
    Response::builder()
        .header(CONTENT_TYPE, "application/x-ndjson")
        .body(AnswerBody::Stream(body))
        .map_err(|_| Broken)
}

/// Sends what happens until the reader goes.
async fn follow(shared: Arc<Shared>, mut since: Option<u64>, lines: mpsc::Sender<Bytes>) {
    let mut head = shared.head.subscribe();
    loop {
        let changes = shared.with(|cloud, _| cloud.changes(since));
        since = Some(changes.next);
        if changes.events.is_empty() {
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return },
                () = lines.closed() => return,
            }
            continue;
        }
        let mut batch = Vec::new();
        for event in &changes.events {
            if serde_json::to_writer(&mut batch, event).is_err() {
                return;
            }
            batch.push(b'\n');
        }
        if lines.send(batch.into()).await.is_err() {
            return;
        }
    }
}
