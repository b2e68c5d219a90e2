//! Failed requests as failures of a call.

use serde_json::Value;

use super::{Code, Failure, HttpAnswer, NoAnswer, quoted};

/// Whether a request changes the cloud. A request that only reads cannot have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It changes the cloud.
    Changes,
}

/// One request to the cloud, with the facts that its errors need.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The action, which follows "failed to" in messages.
    pub doing: &'a str,
    /// The host that receives the request.
    pub host: &'a str,
    /// Whether the request changes the cloud.
    pub effect: Effect,
}

/// An error of a cloud, with facts beyond the HTTP status.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusal<'a> {
    /// The cloud's message; the failure quotes its beginning.
    pub message: &'a str,
    /// The cloud's own code.
    pub cloud_code: Option<&'a str>,
    /// The contract's code; if absent, the status decides.
    pub code: Option<Code>,
    /// True if no retry helps until class, Secret or Machine change.
    pub is_terminal: bool,
    /// Advice for a person, if the cloud gives none.
    pub advice: Option<&'a str>,
}

/// Returns the code for an error of which only the status is known.
pub fn code_of_status(status: u16) -> Code {
    match status {
        400 | 413 | 422 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        408 | 504 => Code::DeadlineExceeded,
        409 => Code::Aborted,
        410 | 412 => Code::FailedPrecondition,
        429 | 500..=599 => Code::Unavailable,
        _ => Code::Unknown,
    }
}

impl Attempt<'_> {
    /// Returns the failure for a refusal of which only the status is known.
    pub fn refused(&self, answer: &HttpAnswer, message: &str) -> Failure {
        self.refused_with(answer, Refusal { message, ..Refusal::default() })
    }

    /// Returns the failure for a refusal in the cloud's own form.
    pub fn refused_with(&self, answer: &HttpAnswer, refusal: Refusal<'_>) -> Failure {
        let name = refusal.cloud_code.map(quoted);
        let named = name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
        let advice = refusal.advice.map(|advice| format!(": {advice}")).unwrap_or_default();
        let code = refusal.code.unwrap_or_else(|| code_of_status(answer.status));
        let mut failure = self
            .failed(code, &format!("{}{named}{advice}", quoted(refusal.message)))
            .retry_after_ms(answer.retry_after_ms());
        failure.cloud_code = name;
        failure.terminal = refusal.is_terminal;
        failure.may_have_happened = self.changes() && answer.status >= 500;
        failure
    }

    /// Returns the failure for a request without an answer.
    pub fn no_answer(&self, error: &NoAnswer) -> Failure {
        let mut failure = self.failed(error.reason.code(), &error.explanation());
        failure.may_have_happened = self.changes() && error.reason.may_have_been_sent();
        failure
    }

    /// Returns the failure for an answer that does not come from the cloud itself: a proxy's page, or half an answer.
    pub fn foreign(&self, answer: &HttpAnswer, what: &str) -> Failure {
        let text = format!(
            "{} answered {what} with status {}: look at what is in between",
            self.host, answer.status
        );
        let mut failure = self.failed(Code::Unavailable, &text).retry_after_ms(answer.retry_after_ms());
        failure.may_have_happened = self.changes();
        failure
    }

    /// Returns the failure for a complete answer that violates the API.
    pub fn unexpected(&self, what: &str) -> Failure {
        let mut failure = self.failed(Code::Internal, &format!("the answer of {} {what}", self.host));
        failure.may_have_happened = self.changes();
        failure
    }

    /// Parses the body of a success.
    ///
    /// # Errors
    /// [`Attempt::foreign`] for half an answer, [`Attempt::unexpected`] for a body that is not JSON.
    pub fn json(&self, answer: &HttpAnswer) -> Result<Value, Failure> {
        serde_json::from_slice(&answer.body).map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => self.foreign(answer, "with half of an answer"),
            _ => self.unexpected("is not JSON"),
        })
    }

    fn changes(&self) -> bool {
        self.effect == Effect::Changes
    }

    fn failed(&self, code: Code, text: &str) -> Failure {
        Failure::new(code, format!("failed to {}: {text}", self.doing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::NoAnswerReason;

    fn attempt(effect: Effect) -> Attempt<'static> {
        Attempt { doing: "create the VM", host: "cloud.example", effect }
    }

    fn answer(status: u16, body: &str) -> HttpAnswer {
        let headers = vec![("Retry-After".to_owned(), "7".to_owned())];
        HttpAnswer { status, headers, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_refusal_is_judged_by_its_status_unless_the_driver_knows_better() {
        let failure = attempt(Effect::Changes).refused(&answer(503, ""), "status 503");
        assert_eq!((failure.code, failure.may_have_happened), (Code::Unavailable, true));
        assert_eq!(
            (failure.message.as_str(), failure.retry_after_ms),
            ("failed to create the VM: status 503", Some(7_000))
        );
        let refusal = Refusal {
            message: "no\nroom",
            cloud_code: Some("full"),
            code: Some(Code::ResourceExhausted),
            is_terminal: true,
            advice: Some("take another zone"),
        };
        let failure = attempt(Effect::Changes).refused_with(&answer(409, ""), refusal);
        assert_eq!(failure.message, "failed to create the VM: no room (full): take another zone");
        assert_eq!((failure.code, failure.terminal), (Code::ResourceExhausted, true));
        assert_eq!((failure.cloud_code.as_deref(), failure.may_have_happened), (Some("full"), false));
    }

    #[test]
    fn what_only_reads_cannot_have_happened() {
        let no_answer = NoAnswer { reason: NoAnswerReason::TimedOut, host: "cloud.example".into() };
        for (effect, happened) in [(Effect::Reads, false), (Effect::Changes, true)] {
            let attempt = attempt(effect);
            for failure in [
                attempt.refused(&answer(500, ""), "x"),
                attempt.no_answer(&no_answer),
                attempt.foreign(&answer(200, ""), "an HTML page"),
                attempt.unexpected("is not JSON"),
            ] {
                assert_eq!(failure.may_have_happened, happened, "{failure}");
            }
        }
    }

    #[test]
    fn half_of_an_answer_is_distinguished_from_nonsense() {
        let attempt = attempt(Effect::Changes);
        assert_eq!(attempt.json(&answer(200, "{\"a\": 1}")).unwrap()["a"], 1);
        assert_eq!(attempt.json(&answer(200, "{\"a\": ")).unwrap_err().code, Code::Unavailable);
        assert_eq!(attempt.json(&answer(200, "<a>")).unwrap_err().code, Code::Internal);
    }
}
