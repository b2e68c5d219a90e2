//! The error answers of the cloud.

use serde::{Deserialize, Serialize};

/// The closed set of error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The account has as many VMs as it may have.
    QuotaExceeded,
    /// The zone has no room for this type.
    CapacityExhausted,
    /// The request is not well-formed, or a value is out of range.
    InvalidParameter,
    /// The image does not exist.
    ImageNotFound,
    /// The token is missing or unknown.
    Unauthorized,
    /// The token may not do this.
    Forbidden,
    /// The object or the path does not exist, or belongs to another account.
    NotFound,
    /// The object's state does not allow this.
    Conflict,
    /// The idempotency key was used with other parameters.
    IdempotencyMismatch,
    /// The idempotency key belongs to a VM that was deleted.
    IdempotencyGone,
    /// Too many calls; come back after `Retry-After`.
    Throttled,
    /// The cloud broke; whether the work was done is unknown.
    Internal,
    /// The cloud is down for the moment.
    Unavailable,
}

impl Code {
    /// The HTTP status that goes with the code, unless a fault rule says otherwise.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidParameter | Self::ImageNotFound => 400,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::QuotaExceeded => 403,
            Self::NotFound => 404,
            Self::Conflict | Self::IdempotencyMismatch | Self::CapacityExhausted => 409,
            Self::IdempotencyGone => 410,
            Self::Throttled => 429,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    /// The code in the body of an answer and in the statistics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "quota_exceeded",
            Self::CapacityExhausted => "capacity_exhausted",
            Self::InvalidParameter => "invalid_parameter",
            Self::ImageNotFound => "image_not_found",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::IdempotencyMismatch => "idempotency_mismatch",
            Self::IdempotencyGone => "idempotency_gone",
            Self::Throttled => "throttled",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A refusal: code, status, text, and when to come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The kind of refusal.
    pub code: Code,
    pub status: u16,
    /// A sentence for people.
    pub message: String,
    /// Seconds for the `Retry-After` header.
    pub retry_after: Option<u64>,
}

impl ApiError {
    /// A refusal with the code's own status.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, status: code.status(), message: message.into(), retry_after: None }
    }

    /// The object `what` does not exist for this caller.
    pub fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("{what} does not exist"))
    }

    /// A value of the request is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParameter, message)
    }
}
