//! Requests and answers, and their limits. A `Host` sends them.

use serde_json::Value;

/// An API that answers when the work is done gives no answer at all after this time.
const ANSWER_MS: u64 = 30_000;
const CONNECT_MS: u64 = 10_000;
/// Left for the work after an answer, and for the answer to the host.
const RESERVE_MS: u64 = 250;
/// The maximum size of an answer.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// The maximum size of one read.
pub(crate) const PIECE_BYTES: u64 = 64 * 1024;

/// The methods of HTTP that clouds use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// A request. In headers and body, placeholders represent secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The URL: `https://HOST/PATH?QUERY`.
    pub url: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// `None` for a request without a body.
    pub body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// Creates a request without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Vec::new(), body: None }
    }

    /// Creates a `GET` request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::Get, url)
    }

    /// Creates a `POST` request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::Post, url)
    }

    /// Creates a `PUT` request.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new(Method::Put, url)
    }

    /// Creates a `DELETE` request.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new(Method::Delete, url)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets a JSON body, and the content type.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.header("content-type", "application/json").body(value.to_string())
    }

    /// Returns the value of a header, by its name in any case.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }
}

/// An answer, whatever its status. The host follows no redirect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The complete body.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// Returns the value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    /// True for statuses from 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// True for an HTML page, which proxies send instead of an API's answer.
    pub fn is_html(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
    }

    /// Returns the time of `retry-after`, if it is a number of seconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let seconds: u64 = self.header("retry-after")?.trim().parse().ok()?;
        Some(seconds.saturating_mul(1_000))
    }
}

fn value_of<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Maximum time of a request, and maximum size of its answer. The call's deadline applies as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum time until there is a connection.
    pub connect_ms: u64,
    /// Maximum time until the answer begins, and between two parts of it.
    pub answer_ms: u64,
    /// Maximum size of an answer's body.
    pub answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect_ms: CONNECT_MS, answer_ms: ANSWER_MS, answer_bytes: ANSWER_BYTES }
    }
}

impl Limits {
    /// Returns these limits, shortened to end before the call does, so that the call can report the failure. `None` if
    /// no time is left.
    pub fn within(self, remaining_ms: u64) -> Option<Self> {
        let left_ms = remaining_ms.saturating_sub(RESERVE_MS);
        (left_ms > 0).then(|| Self {
            connect_ms: self.connect_ms.min(left_ms),
            answer_ms: self.answer_ms.min(left_ms),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_before_its_call_does() {
        let limits = Limits::default();
        assert_eq!(limits.within(300_000), Some(limits));
        let short = limits.within(2_250).unwrap();
        assert_eq!((short.connect_ms, short.answer_ms), (2_000, 2_000));
        assert_eq!(limits.within(250), None);
    }

    #[test]
    fn headers_are_found_in_any_case() {
        let headers = vec![("Content-Type".to_owned(), "text/html; charset=utf-8".to_owned())];
        let answer = HttpAnswer { status: 204, headers, body: Vec::new() };
        assert!(answer.is_html() && answer.is_success());
        assert_eq!(answer.retry_after_ms(), None);
    }

    #[test]
    fn a_pause_is_a_number_of_seconds() {
        for (text, expected) in [("7", Some(7_000)), (" 0 ", Some(0)), ("-1", None), ("Fri, 01 Jan", None)] {
            let headers = vec![("retry-after".to_owned(), text.to_owned())];
            let answer = HttpAnswer { status: 429, headers, body: Vec::new() };
            assert_eq!(answer.retry_after_ms(), expected, "{text}");
        }
    }
}
