//! Requests in, answers out, as their delivery says.

use std::sync::Arc;

use bytes::Bytes;
use faulty_http::{AnswerBody, Broken};
use http::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, RETRY_AFTER};
use http::request::Parts;
use jiff::fmt::rfc2822::DateTimePrinter;

use super::{Shared, handle};
use crate::answer::{Answer, Delivery};

/// Larger requests break the connection.
pub(super) const REQUEST_LIMIT_BYTES: usize = 1024 * 1024;

pub(super) async fn answer(shared: Arc<Shared>, head: Parts, body: Bytes) -> faulty_http::Answer {
    // The caller may give up; work that has begun is done to its end all the same, as in the cloud.
    let work = {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { handle::handle(&shared, head, body.to_vec()).await })
    };
    let answer = work.await.map_err(|_| Broken)?;
    deliver(answer, &shared)
}

fn deliver(answer: Answer, shared: &Shared) -> faulty_http::Answer {
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
