//! Answers that say no.

use serde_json::{Value, json};

/// A `Status` that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    /// CamelCase; empty where the server gives none.
    pub reason: &'static str,
    pub message: String,
    /// Seconds until it may be asked again, where the server says.
    pub retry_after: Option<u64>,
    /// A cause beside the reason.
    pub cause: Option<Cause>,
}

/// The details of a `Status` beside its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub reason: &'static str,
    pub message: String,
    /// The field that it is about.
    pub field: Option<String>,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), retry_after: None, cause: None }
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(404, "NotFound", format!("{what} not found"))
    }

    pub(crate) fn already_exists(what: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{what} already exists"))
    }

    pub(crate) fn conflict(what: &str) -> Self {
        let message =
            format!("{what}: the object has been modified; please apply your changes to the latest");
        Self::new(409, "Conflict", message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message)
    }

    /// A field that nobody may change.
    pub(crate) fn immutable(field: &str) -> Self {
        let mut refusal = Self::invalid(format!("{field}: Invalid value: field is immutable"));
        refusal.cause = Some(Cause {
            reason: "FieldValueInvalid",
            message: "Invalid value: field is immutable".to_owned(),
            field: Some(field.to_owned()),
        });
        refusal
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn unsupported(media: &str) -> Self {
        let message = format!("the body of the request was in an unknown format: {media}");
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// A server's own error without a name.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub(crate) fn expired() -> Self {
        Self::new(410, "Expired", "too old resource version")
    }

    /// An eviction that a disruption budget does not allow.
    pub(crate) fn over_budget(detail: String, retry_after: u64) -> Self {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        let mut refusal = Self::new(429, "TooManyRequests", message);
        refusal.retry_after = Some(retry_after).filter(|seconds| *seconds > 0);
        refusal.cause = Some(Cause { reason: "DisruptionBudget", message: detail, field: None });
        refusal
    }

    /// The answer of a server that fails.
    pub(crate) fn server_failure(code: u16) -> Self {
        let reason = match code {
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            403 => "Forbidden",
            _ => "InternalError",
        };
        let retry_after = (code == 429).then_some(1);
        Self { retry_after, ..Self::new(code, reason, "the server is in trouble") }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(seconds) = self.retry_after {
            body["details"]["retryAfterSeconds"] = json!(seconds);
        }
        if let Some(cause) = &self.cause {
            let mut detail = json!({ "reason": cause.reason, "message": cause.message });
            if let Some(field) = &cause.field {
                detail["field"] = json!(field);
            }
            body["details"]["causes"] = json!([detail]);
        }
        if self.reason.is_empty()
            && let Some(body) = body.as_object_mut()
        {
            body.remove("reason");
        }
        body
    }
}
