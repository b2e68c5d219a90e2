//! Requests and answers, and how long one may take. What carries them is a `Host`.

use serde_json::Value;

/// What takes longer has no answer at all, in an API that answers when the work is done.
const ANSWER_MS: u64 = 30_000;
const CONNECT_MS: u64 = 10_000;
/// Left for what is done after an answer, and for the answer to the host.
const RESERVE_MS: u64 = 250;
/// The most of an answer that is read.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// The most that is read at a time.
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
    /// As it is sent.
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

/// A request. In headers and body, placeholders stand for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// What to do.
    pub method: Method,
    /// Where: `https://HOST/PATH?QUERY`.
    pub url: String,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// `None` for a request without one.
    pub body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// Without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Vec::new(), body: None }
    }

    /// `GET`
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::Get, url)
    }

    /// `POST`
    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::Post, url)
    }

    /// `PUT`
    pub fn put(url: impl Into<String>) -> Self {
        Self::new(Method::Put, url)
    }

    /// `DELETE`
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new(Method::Delete, url)
    }

    /// With this header too.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// With this JSON as its body, and the header that says so.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.header("content-type", "application/json").body(value.to_string())
    }

    /// The value of a header, by its name in any case.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }
}

/// An answer, whatever its status. Redirects are not followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// Names and values, in their order.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// The value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    /// True for statuses from 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// True for pages, as proxies send them in place of an API's answer.
    pub fn is_html(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
    }

    /// What `retry-after` asks for, where it is a number of seconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let seconds: u64 = self.header("retry-after")?.trim().parse().ok()?;
        Some(seconds.saturating_mul(1_000))
    }
}

fn value_of<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// How long one request may take at most, and how large its answer may be. The call's deadline holds as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until there is a connection.
    pub connect_ms: u64,
    /// Until the answer begins, and between two parts of it.
    pub answer_ms: u64,
    /// The most of a body that is read.
    pub answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect_ms: CONNECT_MS, answer_ms: ANSWER_MS, answer_bytes: ANSWER_BYTES }
    }
}

impl Limits {
    /// These limits, ended before the host ends the call, so that the call can say what happened. `None`: there is no time left.
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
