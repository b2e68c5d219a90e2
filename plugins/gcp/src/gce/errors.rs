//! Refusals of Google and failed operations as failures of a call.

use machinist_sdk::driver::{Attempt, Code, Failure, HttpAnswer, Refusal, quoted_up_to as quoted};
use serde_json::Value;

use crate::gce::error_codes::{self, Meaning};

/// The maximum length of a quote of the cloud.
const QUOTED_CHARACTERS: usize = 240;
/// The header of an answer if the host got no token.
const AUTH: &str = "machinist-auth";
const SKEW: &str = "machinist-clock-skew";
/// Google takes assertions whose time is wrong by less than five minutes.
const WORTH_NAMING_SKEW_S: u64 = 240;
/// The words of Google's token service about an assertion of another time. It has no code of its own for them.
const TIMES: &str = "iat and exp";
/// Refusals of a value of the metadata quote it, and user data is one.
const METADATA: &str = "metadata";
/// The words by which machine-controller-manager's provider knows that another zone has the machine type. Google has no
/// code of its own for it.
const NOT_IN_ZONE: &str = "does not exist in zone";
/// The words of a refusal by an organisation policy: `constraints/compute.NAME`, `customConstraints/custom.NAME`. Its
/// reason, `conditionNotMet`, means something that passes elsewhere.
const OF_POLICY: [&str; 2] = ["onstraints/", "org policy"];

/// A failed request, with the facts on which decisions depend.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) failure: Failure,
    /// Google's own code, if the answer is in Google's form.
    pub(crate) reason: Option<String>,
    /// Google's text. Only compared, never shown.
    pub(crate) message: String,
    /// True if the zone alone lacks something.
    pub(crate) is_of_zone: bool,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { failure, reason: None, message: String::new(), is_of_zone: false }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        refused.failure
    }
}

/// Returns whether the host sent the request. If not, the answer is that of the token service.
pub(crate) fn is_sent(answer: &HttpAnswer) -> bool {
    answer.header(AUTH).is_none()
}

/// Converts an answer that is no success.
pub(crate) fn refused(attempt: &Attempt<'_>, answer: &HttpAnswer) -> Refused {
    if !is_sent(answer) {
        return no_token(attempt, answer).into();
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = body.get("error").filter(|error| error.is_object());
    let Some(error) = error.filter(|_| !answer.is_html()) else {
        return match answer.status {
            // The host itself, or a proxy: nothing was done.
            429 => attempt.refused(answer, "too many requests, it is tried again more slowly").into(),
            _ => attempt.foreign(answer, "something that is not of Compute Engine").into(),
        };
    };
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let reason = reason(error);
    let row = reason.as_deref().and_then(error_codes::meaning);
    convert(attempt, answer, reason.as_deref(), message, row)
}

fn convert(
    attempt: &Attempt<'_>,
    answer: &HttpAnswer,
    reason: Option<&str>,
    message: &str,
    row: Option<&Meaning>,
) -> Refused {
    // A reason decides about the text, and the status about what a gateway may have done.
    let is_of_zone = message.contains(NOT_IN_ZONE);
    let (code, is_terminal, advice) = match row {
        _ if is_of_zone => (
            Some(Code::ResourceExhausted),
            false,
            Some("name a zone that has the machineType, or another machineType"),
        ),
        _ if answer.status < 500 && OF_POLICY.iter().any(|words| message.contains(words)) => {
            (Some(Code::FailedPrecondition), false, Some(error_codes::POLICY))
        }
        Some(row) if answer.status < 500 => (Some(row.code), row.is_terminal, Some(row.advice)),
        _ if answer.status == 401 => (Some(Code::Unauthenticated), false, None),
        _ => (None, false, None),
    };
    let shown = shown(message);
    let mut failure = attempt
        .refused_with(answer, Refusal { message: &shown, cloud_code: reason, code, is_terminal, advice });
    if code == Some(Code::Unauthenticated) {
        with_clock(&mut failure, answer);
    }
    Refused { failure, reason: reason.map(str::to_owned), message: message.to_owned(), is_of_zone }
}

/// Shortens Google's text, and leaves it out where it may repeat user data.
fn shown(message: &str) -> String {
    if message.contains(METADATA) {
        return "Google refuses a value of the metadata".to_owned();
    }
    quoted(message.trim(), QUOTED_CHARACTERS)
}

/// Returns the reason of the first entry, else that of the details, else the name of the status.
fn reason(error: &Value) -> Option<String> {
    let first = |list: &str| error.get(list)?.as_array()?.first()?.get("reason")?.as_str();
    let status = || error.get("status").and_then(Value::as_str);
    first("errors").or_else(|| first("details")).or_else(status).map(str::to_owned)
}

/// The host got no token, so nothing was sent to Compute Engine.
fn no_token(attempt: &Attempt<'_>, answer: &HttpAnswer) -> Failure {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let nested = body.get("error").filter(|error| error.is_object());
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let reason = text(&body, "error").or_else(|| nested.and_then(|error| text(error, "status")));
    let said = text(&body, "error_description").or_else(|| nested.and_then(|error| text(error, "message")));
    let said = said.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned());
    let row = reason.as_deref().and_then(error_codes::meaning);
    let passes = answer.status == 429 || answer.status >= 500;
    let code = match answer.status {
        429 | 500.. => Code::Unavailable,
        403 => Code::PermissionDenied,
        _ => Code::Unauthenticated,
    };
    let advice = match row {
        Some(row) if !passes => row.advice,
        _ if code == Code::PermissionDenied => {
            "let the pool's identity create tokens of the service account (roles/iam.workloadIdentityUser)"
        }
        _ if passes => "it is tried again",
        _ => "correct the credentials in the MachineClass's Secret",
    };
    let said = quoted(said.trim(), QUOTED_CHARACTERS);
    let mut failure =
        Failure::new(code, format!("failed to {}: the host got no token: {said}: {advice}", attempt.doing))
            .retry_after_ms(answer.retry_after_ms());
    failure.cloud_code = reason.map(|reason| quoted(&reason, 80));
    failure.terminal = !passes && row.is_some_and(|row| row.is_terminal);
    with_clock(&mut failure, answer);
    failure
}

/// Names the clock, if it is the cause.
fn with_clock(failure: &mut Failure, answer: &HttpAnswer) {
    let off = match skew(answer) {
        Some(seconds) => format!("this host's clock is off by {seconds} seconds"),
        None if failure.message.contains(TIMES) => "this host's clock may be off".to_owned(),
        None => return,
    };
    failure.terminal = false;
    failure.message.push_str(&format!(
        ": {off}, and Google takes assertions of the last 5 minutes only: fix the time synchronisation (NTP) of the node"
    ));
}

fn skew(answer: &HttpAnswer) -> Option<u64> {
    let seconds = answer.header(SKEW)?.trim().parse::<i64>().ok()?.unsigned_abs();
    (seconds >= WORTH_NAMING_SKEW_S).then_some(seconds)
}

/// Converts the failure of an operation. It is certain that the operation has ended.
pub(crate) fn operation(doing: &str, code: &str, message: &str) -> Refused {
    let row = error_codes::meaning(code);
    let said = shown(message);
    let said = if said.is_empty() { "Google gives no reason".to_owned() } else { said };
    let is_of_zone = message.contains(NOT_IN_ZONE) || row.is_some_and(|row| row.is_of_zone);
    let named = if code.is_empty() { String::new() } else { format!(" ({})", quoted(code, 80)) };
    let advice = row.map(|row| format!(": {}", row.advice)).unwrap_or_default();
    let contract = match row {
        _ if message.contains(NOT_IN_ZONE) => Code::ResourceExhausted,
        Some(row) => row.code,
        None => Code::Internal,
    };
    let mut failure = Failure::new(contract, format!("failed to {doing}: {said}{named}{advice}"));
    failure.terminal = contract == Code::InvalidArgument;
    failure.cloud_code = (!code.is_empty()).then(|| quoted(code, 80));
    Refused { failure, reason: Some(code.to_owned()), message: message.to_owned(), is_of_zone }
}
