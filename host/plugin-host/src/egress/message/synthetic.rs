//! Answers that the host gives itself, because a driver can do something with an answer and nothing with an error
//! code.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use wasmtime_wasi_http::WasiBody;

use super::response::scrubbed;
use crate::auth::MARK;
use crate::target::Host;
use crate::vault::Scrubber;

/// `true` on an answer of the host that says: this request was not sent, since its account is throttled.
const THROTTLED: HeaderName = HeaderName::from_static("machinist-throttled");
/// By how many seconds the host's clock is ahead of the server's.
pub(crate) const CLOCK_SKEW: HeaderName = HeaderName::from_static("machinist-clock-skew");
/// The prefix of the host's own headers. They are removed from answers of servers.
const OWN_PREFIX: &str = "machinist-";

/// An answer without a server behind it, or with another one than was asked.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Synthetic {
    /// The request was not sent, since there are no credentials for it. `body` says what to do.
    pub(crate) fn without_credentials(status: StatusCode, body: String) -> Self {
        let mut headers = plain_text();
        headers.insert(MARK, HeaderValue::from_static("failed"));
        Self { status, headers, body: Bytes::from(body) }
    }

    /// The request was not sent, since the credential service answered so.
    pub(crate) fn of_credential_service(status: StatusCode, theirs: &HeaderMap, body: Bytes) -> Self {
        let passed = [CONTENT_TYPE, RETRY_AFTER];
        let mut headers: HeaderMap =
            passed.into_iter().filter_map(|name| Some((name.clone(), theirs.get(name)?.clone()))).collect();
        headers.insert(MARK, HeaderValue::from_static("failed"));
        Self { status, headers, body }
    }

    /// The request was not sent, since its account gets no turn in time.
    pub(crate) fn throttled(host: &Host, retry_after: Duration) -> Self {
        // Rounded up: a retry one second too early would wait again.
        let seconds = retry_after.as_millis().div_ceil(1000).max(1);
        let body = format!(
            "the host holds this request back: {host} asked for fewer requests, and the next turn is in {seconds} s"
        );
        let mut headers = plain_text();
        headers.insert(THROTTLED, HeaderValue::from_static("true"));
        headers.insert(RETRY_AFTER, HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX)));
        Self { status: StatusCode::TOO_MANY_REQUESTS, headers, body: Bytes::from(body) }
    }

    /// As the component may see it.
    pub(crate) fn hand_back(self, mut scrubber: Scrubber) -> Response<WasiBody> {
        let mut headers = scrubbed(self.headers, &scrubber);
        let body = [scrubber.push(self.body), scrubber.finish()].concat();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}

/// Without what only the host may say.
pub(crate) fn without_own_headers(mut headers: HeaderMap) -> HeaderMap {
    let forged: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(OWN_PREFIX)).cloned().collect();
    for name in forged {
        headers.remove(name);
    }
    headers
}

fn plain_text() -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))])
}
