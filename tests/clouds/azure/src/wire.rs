//! Requests and answers, and errors in Azure's form.

use serde_json::{Value, json};

/// A request, as a server has read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Without query, as it was sent.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads method and target; `target` is path and query.
    pub fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn header_value(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The segments of the path, decoded.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path.trim_matches('/').split('/').map(decoded).collect()
    }

    pub(crate) fn json(&self) -> Result<Value, Response> {
        serde_json::from_slice(&self.body).map_err(|_| {
            error(
                400,
                "InvalidRequestContent",
                "The request content was invalid and could not be deserialized.",
            )
        })
    }
}

fn decoded(segment: &str) -> String {
    // A plus is a plus in a path.
    let plain = segment.replace('+', "%2B");
    form_urlencoded::parse(plain.as_bytes()).next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

impl Response {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
        Self { status, headers, body: value.to_string().into_bytes() }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The body, if it is JSON.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// An error of Azure Resource Manager.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Response {
    Response::json(status, &json!({ "error": { "code": code, "message": message } }))
        .with("x-ms-error-code", code)
}

/// An error that names the property.
pub(crate) fn error_at(status: u16, code: &str, target: &str, message: &str) -> Response {
    let body = json!({ "error": { "code": code, "message": message, "target": target } });
    Response::json(status, &body).with("x-ms-error-code", code)
}
