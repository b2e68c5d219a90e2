//! Requests, answers, and Google's form of errors.

use serde_json::{Value, json};

/// A request as the cloud sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub token: Option<String>,
    pub body: Vec<u8>,
}

impl Request {
    /// Creates a request without a body.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    /// Sets the bearer token.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Sets a body of JSON.
    #[must_use]
    pub fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the parameters of the query, decoded.
    pub fn query(&self) -> Vec<(String, String)> {
        let query = self.target.split_once('?').map(|(_, query)| query).unwrap_or_default();
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }
}

/// How an answer arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Whole,
    /// Half of it arrives under the length of the whole, and the connection breaks.
    Cut,
    /// The connection breaks without an answer.
    Never,
}

/// An answer of the cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub delivery: Delivery,
}

impl Answer {
    /// Creates an answer with JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json; charset=UTF-8".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes(), delivery: Delivery::Whole }
    }

    /// Reads the body as JSON.
    ///
    /// # Panics
    /// If it is none.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

impl From<ApiError> for Answer {
    fn from(error: ApiError) -> Self {
        let mut answer = Self::json(error.status, &error.body());
        if let Some(seconds) = error.retry_after {
            answer.headers.push(("retry-after", seconds.to_string()));
        }
        answer
    }
}

/// A refusal in Google's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub status: u16,
    /// The reason of the only entry in `errors`.
    pub reason: String,
    pub message: String,
    pub retry_after: Option<u64>,
}

impl ApiError {
    pub fn new(status: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { status, reason: reason.to_owned(), message: message.into(), retry_after: None }
    }

    /// A value of the request that does not fit.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid", message)
    }

    /// A resource that does not exist.
    pub fn not_found(resource: &str) -> Self {
        Self::new(404, "notFound", format!("The resource '{resource}' was not found"))
    }

    fn body(&self) -> Value {
        let (reason, message) = (&self.reason, &self.message);
        let mut error = json!({
            "code": self.status,
            "message": message,
            "errors": [{ "message": message, "domain": "global", "reason": reason }],
        });
        let name = match self.status {
            401 => Some("UNAUTHENTICATED"),
            403 => Some("PERMISSION_DENIED"),
            429 => Some("RESOURCE_EXHAUSTED"),
            503 => Some("UNAVAILABLE"),
            _ => None,
        };
        if let Some(name) = name {
            error["status"] = json!(name);
        }
        json!({ "error": error })
    }
}
