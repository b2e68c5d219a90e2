//! The cloud's error codes as codes of the contract.

use machinist_sdk::driver::{Attempt, Code, Failure, HttpAnswer, Refusal, code_of_status, quoted};
use serde_json::Value;

/// The cloud's own error codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CloudCode {
    InvalidParameter,
    ImageNotFound,
    Unauthorized,
    Forbidden,
    QuotaExceeded,
    NotFound,
    Conflict,
    CapacityExhausted,
    IdempotencyMismatch,
    IdempotencyGone,
    Throttled,
    Internal,
    Unavailable,
    /// A code that the API page does not list.
    Other(String),
}

impl CloudCode {
    fn parse(name: &str) -> Self {
        match name {
            "invalid_parameter" => Self::InvalidParameter,
            "image_not_found" => Self::ImageNotFound,
            "unauthorized" => Self::Unauthorized,
            "forbidden" => Self::Forbidden,
            "quota_exceeded" => Self::QuotaExceeded,
            "not_found" => Self::NotFound,
            "conflict" => Self::Conflict,
            "capacity_exhausted" => Self::CapacityExhausted,
            "idempotency_mismatch" => Self::IdempotencyMismatch,
            "idempotency_gone" => Self::IdempotencyGone,
            "throttled" => Self::Throttled,
            "internal" => Self::Internal,
            "unavailable" => Self::Unavailable,
            other => Self::Other(quoted(other)),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::InvalidParameter => "invalid_parameter",
            Self::ImageNotFound => "image_not_found",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::QuotaExceeded => "quota_exceeded",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::CapacityExhausted => "capacity_exhausted",
            Self::IdempotencyMismatch => "idempotency_mismatch",
            Self::IdempotencyGone => "idempotency_gone",
            Self::Throttled => "throttled",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
            Self::Other(name) => name,
        }
    }

    /// Returns the contract's code. An unknown code is classified by its status.
    fn code(&self, status: u16) -> Code {
        match self {
            Self::InvalidParameter | Self::ImageNotFound => Code::InvalidArgument,
            Self::Unauthorized => Code::Unauthenticated,
            Self::Forbidden => Code::PermissionDenied,
            Self::QuotaExceeded | Self::CapacityExhausted => Code::ResourceExhausted,
            Self::NotFound => Code::NotFound,
            Self::Conflict | Self::IdempotencyMismatch => Code::Aborted,
            Self::IdempotencyGone => Code::FailedPrecondition,
            Self::Throttled | Self::Internal | Self::Unavailable => Code::Unavailable,
            Self::Other(_) => code_of_status(status),
        }
    }

    /// True if only another class, Secret or Machine helps.
    fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::InvalidParameter | Self::ImageNotFound | Self::Unauthorized | Self::IdempotencyGone
        )
    }

    /// Advice for a person, if the cloud's own message gives none.
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::ImageNotFound => Some("correct image in the MachineClass's providerSpec"),
            Self::Unauthorized => Some("correct token in the MachineClass's Secret"),
            Self::Forbidden => Some("the token needs the right to change things"),
            Self::QuotaExceeded => Some("raise the account's quota or delete VMs"),
            Self::IdempotencyGone => Some(
                "the VM of this Machine was deleted or died, and a Machine gets one VM only; delete the Machine, and \
                 its MachineSet makes another",
            ),
            Self::InvalidParameter
            | Self::NotFound
            | Self::Conflict
            | Self::CapacityExhausted
            | Self::IdempotencyMismatch
            | Self::Throttled
            | Self::Internal
            | Self::Unavailable
            | Self::Other(_) => None,
        }
    }
}

/// A failed call of the cloud.
#[derive(Debug)]
pub(crate) struct CloudError {
    /// The cloud's own code, if any.
    pub(crate) code: Option<CloudCode>,
    failure: Failure,
}

impl From<Failure> for CloudError {
    fn from(failure: Failure) -> Self {
        Self { code: None, failure }
    }
}

impl From<CloudError> for Failure {
    fn from(failed: CloudError) -> Self {
        failed.failure
    }
}

/// Parses an answer with an error status. `None` if it is not in the API's form.
pub(crate) fn refusal(attempt: &Attempt<'_>, answer: &HttpAnswer) -> Option<CloudError> {
    let value: Value = serde_json::from_slice(&answer.body).ok()?;
    let code = CloudCode::parse(value.get("code")?.as_str()?);
    let refusal = Refusal {
        message: value.get("message").and_then(Value::as_str).unwrap_or("no message"),
        cloud_code: Some(code.name()),
        code: Some(code.code(answer.status)),
        is_terminal: code.is_terminal(),
        advice: code.advice(),
    };
    let failure = attempt.refused_with(answer, refusal);
    Some(CloudError { code: Some(code), failure })
}

#[cfg(test)]
mod tests {
    use machinist_sdk::driver::Effect;

    use super::*;

    fn refused(status: u16, code: &str, effect: Effect) -> Failure {
        let body = format!(r#"{{"code": "{code}", "message": "because", "requestId": "req-1"}}"#);
        let headers = vec![("retry-after".to_owned(), "2".to_owned())];
        let attempt = Attempt { doing: "create the VM", host: "cloud", effect };
        refusal(&attempt, &HttpAnswer { status, headers, body: body.into_bytes() }).unwrap().into()
    }

    #[test]
    fn every_code_of_the_api_has_its_code_of_the_contract() {
        let table = [
            (400, "invalid_parameter", Code::InvalidArgument, true, false),
            (400, "image_not_found", Code::InvalidArgument, true, false),
            (401, "unauthorized", Code::Unauthenticated, true, false),
            (403, "forbidden", Code::PermissionDenied, false, false),
            (403, "quota_exceeded", Code::ResourceExhausted, false, false),
            (404, "not_found", Code::NotFound, false, false),
            (409, "conflict", Code::Aborted, false, false),
            (409, "capacity_exhausted", Code::ResourceExhausted, false, false),
            (409, "idempotency_mismatch", Code::Aborted, false, false),
            (410, "idempotency_gone", Code::FailedPrecondition, true, false),
            (429, "throttled", Code::Unavailable, false, false),
            (500, "internal", Code::Unavailable, false, true),
            (503, "unavailable", Code::Unavailable, false, true),
            (507, "disk_full", Code::Unavailable, false, true),
            (418, "teapot", Code::Unknown, false, false),
        ];
        for (status, name, code, terminal, happened) in table {
            let error = refused(status, name, Effect::Changes);
            assert_eq!(
                (error.code, error.terminal, error.may_have_happened),
                (code, terminal, happened),
                "{name}"
            );
            assert_eq!((error.cloud_code.as_deref(), error.retry_after_ms), (Some(name), Some(2_000)));
            assert!(error.message.starts_with("failed to create the VM: because"), "{}", error.message);
            assert!(!refused(status, name, Effect::Reads).may_have_happened, "{name}");
        }
    }

    #[test]
    fn a_vm_that_is_gone_for_good_says_what_to_do() {
        assert!(refused(410, "idempotency_gone", Effect::Changes).message.contains("delete the Machine"));
    }
}
