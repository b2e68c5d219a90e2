//! What a failed call of the cloud means for the host.

use serde_json::Value;

use crate::bindings::machinist::provider::types::{Code, DriverError};
use crate::trouble::Trouble;

/// The most that a message repeats of what the cloud wrote.
const QUOTED_CHARACTERS: usize = 200;

/// An error with nothing but code and message.
pub(crate) fn error(code: Code, message: impl Into<String>) -> DriverError {
    DriverError {
        code,
        message: message.into(),
        cloud_code: None,
        retry_after_ms: None,
        terminal: false,
        may_have_happened: false,
        last_known_state: None,
        provider_id: None,
        node_name: None,
    }
}

/// The cloud's own codes.
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
    /// One that the API's page does not have.
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

    /// A code of a later API is judged by its status.
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
            Self::Other(_) => match status {
                400 | 413 | 422 => Code::InvalidArgument,
                401 => Code::Unauthenticated,
                403 => Code::PermissionDenied,
                404 => Code::NotFound,
                408 | 504 => Code::DeadlineExceeded,
                409 => Code::Aborted,
                410 | 412 => Code::FailedPrecondition,
                429 | 500..=599 => Code::Unavailable,
                _ => Code::Unknown,
            },
        }
    }

    /// True when only another class, Secret or Machine helps.
    fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::InvalidParameter | Self::ImageNotFound | Self::Unauthorized | Self::IdempotencyGone
        )
    }

    /// What a person can do, where the cloud's own message does not say it.
    fn advice(&self) -> &'static str {
        match self {
            Self::ImageNotFound => ": correct image in the MachineClass's providerSpec",
            Self::Unauthorized => ": correct token in the MachineClass's Secret",
            Self::Forbidden => ": the token needs the right to change things",
            Self::QuotaExceeded => ": raise the account's quota or delete VMs",
            Self::IdempotencyGone => {
                ": the VM of this Machine was deleted or died, and a Machine gets one VM only; delete the Machine, and \
                 its MachineSet makes another"
            }
            Self::InvalidParameter
            | Self::NotFound
            | Self::Conflict
            | Self::CapacityExhausted
            | Self::IdempotencyMismatch
            | Self::Throttled
            | Self::Internal
            | Self::Unavailable
            | Self::Other(_) => "",
        }
    }
}

/// Whether a call changes the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Changes,
}

/// How a call of the cloud failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An answer in the API's own form.
    Refused { status: u16, code: CloudCode, message: String, retry_after_ms: Option<u64> },
    /// No answer.
    NoAnswer(Trouble),
    /// An answer that the cloud itself does not give: a proxy's page, or half of one.
    Foreign { status: u16, what: &'static str, retry_after_ms: Option<u64> },
    /// A whole answer that is not what the API's page says.
    Odd { what: String },
}

/// A failed call of the cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CloudError {
    /// What was tried, as in "failed to …".
    pub(crate) doing: &'static str,
    pub(crate) effect: Effect,
    /// Whom it was asked of.
    pub(crate) host: String,
    pub(crate) cause: Cause,
}

impl CloudError {
    /// The cloud's own code, where it gave one.
    pub(crate) fn cloud_code(&self) -> Option<&CloudCode> {
        match &self.cause {
            Cause::Refused { code, .. } => Some(code),
            Cause::NoAnswer(_) | Cause::Foreign { .. } | Cause::Odd { .. } => None,
        }
    }

    fn may_have_happened(&self) -> bool {
        self.effect == Effect::Changes
            && match &self.cause {
                Cause::Refused { status, .. } => *status >= 500,
                Cause::NoAnswer(trouble) => trouble.may_have_been_sent(),
                Cause::Foreign { .. } | Cause::Odd { .. } => true,
            }
    }
}

impl From<CloudError> for DriverError {
    fn from(failed: CloudError) -> Self {
        let may_have_happened = failed.may_have_happened();
        let CloudError { doing, host, cause, .. } = failed;
        let base = match cause {
            Cause::Refused { status, code, message, retry_after_ms } => Self {
                cloud_code: Some(code.name().to_owned()),
                retry_after_ms,
                terminal: code.is_terminal(),
                ..error(
                    code.code(status),
                    format!("failed to {doing}: {} ({}){}", message, code.name(), code.advice()),
                )
            },
            Cause::NoAnswer(trouble) => {
                error(trouble.code(), format!("failed to {doing}: {}", trouble.explanation(&host)))
            }
            Cause::Foreign { status, what, retry_after_ms } => Self {
                retry_after_ms,
                ..error(
                    Code::Unavailable,
                    format!(
                        "failed to {doing}: {host} answered {what} with status {status}: look at what is in between"
                    ),
                )
            },
            Cause::Odd { what } => {
                error(Code::Internal, format!("failed to {doing}: the answer of {host} {what}"))
            }
        };
        Self { may_have_happened, ..base }
    }
}

impl From<CloudError> for Box<DriverError> {
    fn from(failed: CloudError) -> Self {
        Self::new(failed.into())
    }
}

/// What an answer with an error status says. `None`: it is not in the API's form.
pub(crate) fn refusal(status: u16, body: &[u8], retry_after_ms: Option<u64>) -> Option<Cause> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let code = CloudCode::parse(value.get("code")?.as_str()?);
    let message = value.get("message").and_then(Value::as_str).unwrap_or("no message");
    Some(Cause::Refused { status, code, message: quoted(message), retry_after_ms })
}

/// At most so much of a foreign text, in one line.
pub(crate) fn quoted(text: &str) -> String {
    let line = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    if text.chars().count() <= QUOTED_CHARACTERS {
        return line.collect();
    }
    line.take(QUOTED_CHARACTERS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str, effect: Effect) -> DriverError {
        let body = format!(r#"{{"code": "{code}", "message": "because", "requestId": "req-1"}}"#);
        let cause = refusal(status, body.as_bytes(), Some(2_000)).unwrap();
        CloudError { doing: "create the VM", effect, host: "cloud".into(), cause }.into()
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

    #[test]
    fn what_the_cloud_wrote_is_quoted_in_part_and_in_one_line() {
        let long = quoted(&"ä\n".repeat(500));
        assert_eq!(long.chars().count(), QUOTED_CHARACTERS);
        assert!(!long.contains('\n') && long.ends_with('…'));
        assert_eq!(quoted("short"), "short");
    }
}
