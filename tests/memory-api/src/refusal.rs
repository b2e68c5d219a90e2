//! Answers that say no.

use serde_json::{Value, json};

/// A `Status` that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP code.
    pub code: u16,
    /// CamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Refusal {
    pub(crate) fn not_found(what: &str) -> Self {
        Self { code: 404, reason: "NotFound", message: format!("{what} not found") }
    }

    pub(crate) fn already_exists(what: &str) -> Self {
        Self { code: 409, reason: "AlreadyExists", message: format!("{what} already exists") }
    }

    pub(crate) fn conflict(what: &str) -> Self {
        let message =
            format!("{what}: the object has been modified; please apply your changes to the latest");
        Self { code: 409, reason: "Conflict", message }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: 422, reason: "Invalid", message: message.into() }
    }

    pub(crate) fn expired() -> Self {
        let message = "too old resource version".to_owned();
        Self { code: 410, reason: "Expired", message }
    }

    /// What a server in trouble says.
    pub(crate) fn trouble(code: u16) -> Self {
        let reason = match code {
            409 => "Conflict",
            429 => "TooManyRequests",
            403 => "Forbidden",
            _ => "InternalError",
        };
        Self { code, reason, message: "the server is in trouble".into() }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        })
    }
}
