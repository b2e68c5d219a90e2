//! HTTP/1.1 connections: requests in, answers out, as their delivery says.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, RETRY_AFTER};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::fmt::rfc2822::DateTimePrinter;

use super::body::{AnswerBody, Broken};
use super::{Shared, handle};
use crate::answer::{Answer, Delivery};

/// Larger requests break the connection.
const REQUEST_LIMIT_BYTES: usize = 1024 * 1024;
/// When no connection can be accepted, neither reason for it lasts.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections until it is dropped.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        socket.set_nodelay(true).ok();
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&shared), request));
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(socket), service)
                .await;
            if let Err(error) = served {
                tracing::debug!(%peer, %error, "connection ended early");
            }
        });
    }
}

async fn answer(
    shared: Arc<Shared>,
    incoming: hyper::Request<Incoming>,
) -> Result<Response<AnswerBody>, Broken> {
    let (head, body) = incoming.into_parts();
    let body = Limited::new(body, REQUEST_LIMIT_BYTES).collect().await.map_err(|_| Broken)?.to_bytes();
    // The caller may give up; what has begun is done to its end all the same, as in the cloud.
    let work = {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { handle::handle(&shared, head, body.to_vec()).await })
    };
    let answer = work.await.map_err(|_| Broken)?;
    deliver(answer, &shared)
}

fn deliver(answer: Answer, shared: &Shared) -> Result<Response<AnswerBody>, Broken> {
    let now = shared.books().now();
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).map_err(|_| Broken)?;
    let mut response = Response::builder()
        .status(answer.status)
        .header(CONTENT_TYPE, answer.content_type)
        .header(DATE, date);
    if let Some(seconds) = answer.retry_after_seconds {
        response = response.header(RETRY_AFTER, seconds);
    }
    let body = match answer.delivery {
        Delivery::Whole => AnswerBody::whole(answer.body),
        Delivery::Half => {
            response = response.header(CONTENT_LENGTH, answer.body.len());
            AnswerBody::cut(answer.body.slice(..answer.body.len() / 2))
        }
        Delivery::Never => return Err(Broken),
    };
    response.body(body).map_err(|_| Broken)
}
