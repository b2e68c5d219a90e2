//! Requests in, the model's answers out, as the model says they arrive.

use std::sync::Arc;

use bytes::Bytes;
use faulty_http::{AnswerBody, Broken};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use http::{Response, StatusCode};

use super::Shared;
use super::stream;
use crate::request::{Method, Request};
use crate::wire::answer::{Answer, Delivery};

/// Larger requests break the connection.
pub(super) const REQUEST_LIMIT_BYTES: usize = 1024 * 1024;

pub(super) async fn answer(shared: Arc<Shared>, head: Parts, body: Bytes) -> faulty_http::Answer {
    let Some(method) = Method::parse(head.method.as_str()) else {
        return plain(StatusCode::METHOD_NOT_ALLOWED);
    };
    let mut request = Request::new(method, head.uri.path_and_query().map_or("/", |target| target.as_str()));
    request.token = bearer(&head.headers);
    request.idempotency_key = header(&head.headers, "idempotency-key");
    if stream::is_asked_for(&request) {
        return stream::open(shared, &request);
    }
    request.body = body.to_vec();
    let answer = shared.handle(&request);
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    deliver(answer)
}

fn deliver(answer: Answer) -> faulty_http::Answer {
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
            AnswerBody::cut(sent)
        }
        Delivery::Never => return Err(Broken),
    };
    response.body(body).map_err(|_| Broken)
}

pub(super) fn plain(status: StatusCode) -> faulty_http::Answer {
    Response::builder().status(status).body(AnswerBody::whole(Bytes::new())).map_err(|_| Broken)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
