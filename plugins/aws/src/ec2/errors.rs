//! Failed calls of EC2 as failures of a call.

use machinist_sdk::driver::{Code, DriverError, Effect, Failure, NoAnswer, quoted_up_to as quoted};

use crate::ec2::error_codes::{self, Completion};
use crate::ec2::lost_answers;

/// The maximum length of a quote of the cloud.
const QUOTED_CHARACTERS: usize = 240;
/// After these words EC2 adds a text of some kilobytes that only the account's owner can decode.
const ENCODED: &str = "Encoded authorization failure message";
/// AWS refuses signatures that are wrong by 5 minutes. The message names a clock that is nearly so: it will drift
/// further.
const WORTH_NAMING_SKEW_S: u64 = 240;

/// Returns an error with a code and a message.
pub(crate) fn error(code: Code, message: impl Into<String>) -> DriverError {
    Failure::new(code, message).into_record()
}

/// The kind of failure of a call of EC2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An answer in EC2's own form.
    Refused { status: u16, code: String, message: String, retry_after_ms: Option<u64>, skew_s: Option<u64> },
    /// The host could not sign, because the credential service refused. Nothing was sent to EC2.
    NotSigned {
        status: u16,
        code: Option<String>,
        message: String,
        retry_after_ms: Option<u64>,
        skew_s: Option<u64>,
    },
    /// Too many requests, reported by the status alone. Nothing was done.
    Throttled { retry_after_ms: Option<u64> },
    /// The request has no answer.
    NoAnswer(NoAnswer),
    /// An answer that does not come from EC2 itself: a proxy's page, or half an answer.
    Foreign { status: u16, what: &'static str, retry_after_ms: Option<u64> },
    /// A complete answer that violates EC2's API.
    InvalidAnswer { what: &'static str },
}

/// The target of requests, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) region: String,
    /// True if the operator's settings name the endpoint.
    pub(crate) is_override: bool,
}

/// A failed call of EC2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CloudError {
    /// The action, which follows "failed to" in messages.
    pub(crate) doing: &'static str,
    /// EC2's name of the action.
    pub(crate) action: &'static str,
    pub(crate) effect: Effect,
    pub(crate) target: Target,
    pub(crate) cause: Cause,
}

impl CloudError {
    /// Returns EC2's own code, if any.
    pub(crate) fn cloud_code(&self) -> Option<&str> {
        match &self.cause {
            Cause::Refused { code, .. } => Some(code),
            Cause::NotSigned { .. }
            | Cause::Throttled { .. }
            | Cause::NoAnswer(_)
            | Cause::Foreign { .. }
            | Cause::InvalidAnswer { .. } => None,
        }
    }

    /// True if EC2 itself reports that there is no such instance.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self.cloud_code(), Some(error_codes::NO_INSTANCE | error_codes::NO_INSTANCE_ID))
    }

    fn may_have_happened(&self) -> bool {
        self.effect == Effect::Changes
            && match &self.cause {
                Cause::Refused { status, code, .. } => outcome(code, *status) == Completion::Unknown,
                Cause::NotSigned { .. } | Cause::Throttled { .. } => false,
                Cause::NoAnswer(error) => error.reason.may_have_been_sent(),
                Cause::Foreign { .. } | Cause::InvalidAnswer { .. } => true,
            }
    }

    fn refused(&self, status: u16, code: &str, message: &str, skew_s: Option<u64>) -> DriverError {
        let (contract, is_terminal, advice) = match error_codes::meaning(code) {
            Some(row) => (row.code, row.is_terminal, row.advice.to_owned()),
            None => (error_codes::by_status(status).0, false, String::new()),
        };
        let said = quoted(message.split(ENCODED).next().unwrap_or_default().trim(), QUOTED_CHARACTERS);
        let text = format!("failed to {}: {said} ({})", self.doing, quoted(code, 80));
        let driver_error = |text: String| error(contract, text);
        if contract == Code::Unauthenticated
            && let Some(skew_s) = skew_s.filter(|skew_s| *skew_s >= WORTH_NAMING_SKEW_S)
        {
            return driver_error(format!("{text}: {}", clock(skew_s)));
        }
        let advice =
            if contract == Code::PermissionDenied && advice.is_empty() { self.right() } else { advice };
        let text = if advice.is_empty() { text } else { format!("{text}: {advice}") };
        DriverError { terminal: is_terminal, ..driver_error(text) }
    }

    /// Returns the right that the identity lacks.
    fn right(&self) -> String {
        let needed = match self.action {
            "RunInstances" => "ec2:RunInstances, ec2:CreateTags and iam:PassRole".to_owned(),
            action => format!("ec2:{action}"),
        };
        format!("allow {needed} in the IAM policy of the keys or the role")
    }
}

impl From<CloudError> for DriverError {
    fn from(failed: CloudError) -> Self {
        let may_have_happened = failed.may_have_happened();
        let CloudError { doing, target, .. } = &failed;
        let host = &target.host;
        let base = match &failed.cause {
            Cause::Refused { status, code, message, retry_after_ms, skew_s } => Self {
                cloud_code: Some(quoted(code, 80)),
                retry_after_ms: *retry_after_ms,
                ..failed.refused(*status, code, message, *skew_s)
            },
            Cause::NotSigned { status, code, message, retry_after_ms, skew_s } => Self {
                cloud_code: code.as_deref().map(|code| quoted(code, 80)),
                retry_after_ms: *retry_after_ms,
                ..not_signed(doing, *status, code.as_deref(), message, *skew_s)
            },
            Cause::Throttled { retry_after_ms } => Self {
                retry_after_ms: *retry_after_ms,
                ..error(
                    Code::Unavailable,
                    format!(
                        "failed to {doing}: too many requests to {host} for this account, it is tried again more slowly"
                    ),
                )
            },
            Cause::NoAnswer(no_answer) => {
                let why = lost_answers::explanation(no_answer, failed.action, target);
                error(no_answer.reason.code(), format!("failed to {doing}: {why}"))
            }
            Cause::Foreign { status, what, retry_after_ms } => Self {
                retry_after_ms: *retry_after_ms,
                ..error(
                    Code::Unavailable,
                    format!(
                        "failed to {doing}: {host} answered {what} with status {status}: if this lasts, look at what \
                         is between here and EC2"
                    ),
                )
            },
            Cause::InvalidAnswer { what } => error(
                Code::Internal,
                format!("failed to {doing}: the answer of {host} {what}: check that an EC2 API is there"),
            ),
        };
        Self { may_have_happened, ..base }
    }
}

impl From<Box<CloudError>> for Failure {
    fn from(failed: Box<CloudError>) -> Self {
        DriverError::from(*failed).into()
    }
}

fn outcome(code: &str, status: u16) -> Completion {
    error_codes::meaning(code).map_or(error_codes::by_status(status).1, |row| row.outcome)
}

fn clock(skew_s: u64) -> String {
    format!(
        "this host's clock is off by {skew_s} seconds, and AWS takes signatures of the last 5 minutes only: fix the \
         time synchronisation (NTP) of the node"
    )
}

fn not_signed(
    doing: &str,
    status: u16,
    code: Option<&str>,
    message: &str,
    skew_s: Option<u64>,
) -> DriverError {
    let said = quoted(message.trim(), QUOTED_CHARACTERS);
    let row = code.and_then(error_codes::meaning);
    let passes = row.map_or(status >= 500, |row| row.code == Code::Unavailable);
    let code_of_contract = if passes { Code::Unavailable } else { Code::Unauthenticated };
    let named = code.map(|code| format!(" ({})", quoted(code, 80))).unwrap_or_default();
    let text = format!("failed to {doing}: the host got no credentials: {said}{named}");
    let advice = match row {
        _ if skew_s.is_some_and(|skew_s| skew_s >= WORTH_NAMING_SKEW_S) => clock(skew_s.unwrap_or_default()),
        Some(row) if row.code == Code::PermissionDenied => {
            "correct roleARN in the MachineClass's Secret, and let the role's trust policy allow \
             sts:AssumeRoleWithWebIdentity to this token"
                .to_owned()
        }
        // The token of the file has expired here, not a token of the Secret.
        Some(row) if row.name.starts_with("ExpiredToken") => {
            "the token in the file of workloadIdentityTokenFile must be renewed by whoever writes it"
                .to_owned()
        }
        Some(row) => row.advice.to_owned(),
        None => String::new(),
    };
    error(code_of_contract, if advice.is_empty() { text } else { format!("{text}: {advice}") })
}
