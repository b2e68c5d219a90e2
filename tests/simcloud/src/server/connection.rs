//! HTTP/1.1 connections: requests in, the model's answers out, as the model says they arrive.

use std::net::TcpListener;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use super::Shared;
use super::body::{AnswerBody, Broken};
use super::stream;
use crate::request::{Method, Request};
use crate::wire::answer::{Answer, Delivery};

/// Larger requests break the connection.
const REQUEST_LIMIT_BYTES: usize = 1024 * 1024;

/// Accepts connections until it is dropped.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, or the peer was faster than we: neither lasts.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
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
    let Some(method) = Method::parse(head.method.as_str()) else {
        return plain(StatusCode::METHOD_NOT_ALLOWED);
    };
    let mut request = Request::new(method, head.uri.path_and_query().map_or("/", |target| target.as_str()));
    request.token = bearer(&head.headers);
    request.idempotency_key = header(&head.headers, "idempotency-key");
    if stream::is_asked_for(&request) {
        return stream::open(shared, &request);
    }
    request.body =
        Limited::new(body, REQUEST_LIMIT_BYTES).collect().await.map_err(|_| Broken)?.to_bytes().to_vec();
    let answer = shared.handle(&request);
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    deliver(answer)
}

fn deliver(answer: Answer) -> Result<Response<AnswerBody>, Broken> {
    let mut response = Response::builder().status(answer.status).header(CONTENT_TYPE, answer.content_type);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    let body = match answer.delivery {
        Delivery::Whole => AnswerBody::whole(answer.body),
        Delivery::Truncated { bytes } => {
            response = response.header(CONTENT_LENGTH, answer.body.len());
            let mut sent = answer.body;
            sent.truncate(bytes);
            AnswerBody::cut(sent.into())
        }
        Delivery::Never => return Err(Broken),
    };
    response.body(body).map_err(|_| Broken)
}

pub(super) fn plain(status: StatusCode) -> Result<Response<AnswerBody>, Broken> {
    Response::builder().status(status).body(AnswerBody::whole(Vec::new())).map_err(|_| Broken)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
