//! Failed requests to Azure as failures of a call.

use machinist_sdk::driver::{Code, Effect, Failure, HttpAnswer, quoted_up_to as quoted};
use serde_json::Value;

use super::call::Ask;
use super::error_codes::{self, ABSENT, Completion, EXISTS, Meaning, NO_GROUP, OF_TIME, THROTTLED};
use super::settings::Endpoint;

/// The maximum length of a quote of the cloud.
const QUOTED_CHARACTERS: usize = 240;
/// A token service explains itself at length; the beginning says it.
const SHOWN_CODE: usize = 80;
/// The header with the seconds by which this host's clock differs from the cloud's.
const SKEW: &str = "machinist-clock-skew";
/// Microsoft allows clocks to differ by five minutes.
const WORTH_NAMING_SKEW_S: u64 = 240;

/// A request that failed, with Azure's own code.
#[derive(Debug)]
pub(crate) struct ArmError {
    code: Option<String>,
    pub(crate) status: u16,
    pub(crate) failure: Failure,
}

impl ArmError {
    pub(crate) fn of(failure: Failure, status: u16) -> Box<Self> {
        Box::new(Self { code: None, status, failure })
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.code.as_deref().is_some_and(|code| codes.iter().any(|known| known.eq_ignore_ascii_case(code)))
    }

    /// True if Azure itself says that there is no such resource.
    pub(crate) fn is_absence(&self) -> bool {
        self.status == 404 && self.has_code(&ABSENT)
    }

    /// True if Azure itself says that there is no such resource group.
    pub(crate) fn is_missing_group(&self) -> bool {
        self.status == 404 && self.has_code(&[NO_GROUP])
    }

    /// True if the resource exists, which the request was not to find.
    pub(crate) fn is_existing(&self) -> bool {
        self.status == 412 || self.has_code(&EXISTS)
    }

    /// True if a disk has a name that the VM would give to its own.
    pub(crate) fn is_taken_name(&self) -> bool {
        self.has_code(&[error_codes::NAME_TAKEN])
    }
}

impl From<Box<ArmError>> for Failure {
    fn from(failed: Box<ArmError>) -> Self {
        failed.failure
    }
}

/// Returns the failure for an answer without success.
pub(crate) fn refused(ask: &Ask, answer: &HttpAnswer, endpoint: &Endpoint) -> Box<ArmError> {
    let status = answer.status;
    if let Some((code, message)) = error_of(answer) {
        let mut failure = failure(ask.doing, &code, &message, status, Some(ask));
        failure.may_have_happened = ask.effect == Effect::Changes && outcome(&code, &message, status);
        failure.retry_after_ms = answer.retry_after_ms();
        name_clock(&mut failure, &code, answer);
        return Box::new(ArmError { code: Some(code), status, failure });
    }
    let (host, doing) = (endpoint.host(), ask.doing);
    let failure = if status == 429 {
        Failure::new(
            Code::Unavailable,
            format!(
                "failed to {doing}: too many requests to {host} for this subscription, it is tried again more slowly"
            ),
        )
    } else {
        let what = if answer.is_html() { "an HTML page" } else { "something that is not Azure's" };
        let mut failure = Failure::new(
            Code::Unavailable,
            format!(
                "failed to {doing}: {host} answered {what} with status {status}: if this lasts, look at what is \
                 between here and Azure"
            ),
        );
        failure.may_have_happened = ask.effect == Effect::Changes;
        failure
    };
    ArmError::of(failure.retry_after_ms(answer.retry_after_ms()), status)
}

/// Returns the failure of an operation that Azure accepted and that failed later.
pub(crate) fn failed_later(doing: &str, code: &str, message: &str) -> Failure {
    failure(doing, code, message, 200, None)
}

/// Returns the failure for a request that the host did not send, since it got no token.
pub(crate) fn not_authenticated(ask: &Ask, answer: &HttpAnswer) -> Box<ArmError> {
    let status = answer.status;
    let value: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let text = |name: &str| {
        let text = value.as_ref().and_then(|value| value.get(name)).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let said = text("error_description").unwrap_or_else(|| {
        if answer.is_html() {
            format!("a page with status {status}")
        } else {
            String::from_utf8_lossy(&answer.body).into_owned()
        }
    });
    // The description begins with Microsoft's own code, which says more than OAuth's.
    let own = said.split(':').next().filter(|code| code.starts_with("AADSTS")).map(str::to_owned);
    let code = own.or_else(|| text("error"));
    let row = code.as_deref().and_then(|code| error_codes::meaning(code, &said));
    let passes = status == 429 || status >= 500;
    let contract = if passes { Code::Unavailable } else { Code::Unauthenticated };
    let named = code.as_deref().map(|code| format!(" ({})", quoted(code, SHOWN_CODE))).unwrap_or_default();
    let doing = ask.doing;
    let mut message = format!(
        "failed to {doing}: the host got no token: {}{named}",
        quoted(said.trim(), QUOTED_CHARACTERS)
    );
    if let Some(row) = row.filter(|row| !passes && !row.advice.is_empty()) {
        message = format!("{message}: {}", row.advice);
    }
    let mut failure = Failure::new(contract, message).retry_after_ms(answer.retry_after_ms());
    failure.terminal = !passes && row.is_some_and(|row| row.is_terminal);
    failure.cloud_code = code.as_deref().map(|code| quoted(code, SHOWN_CODE));
    name_clock(&mut failure, code.as_deref().unwrap_or_default(), answer);
    ArmError::of(failure, status)
}

/// Names the clock of this host, if a token or an assertion was refused that counts for some time only.
fn name_clock(failure: &mut Failure, code: &str, answer: &HttpAnswer) {
    let is_of_time = OF_TIME.iter().any(|known| known.eq_ignore_ascii_case(code));
    let skew = answer.header(SKEW).and_then(|text| text.trim().parse::<i64>().ok());
    let seconds = skew.map(i64::unsigned_abs).filter(|seconds| *seconds >= WORTH_NAMING_SKEW_S);
    if let Some(seconds) = seconds.filter(|_| is_of_time) {
        failure.message.push_str(&format!(
            ": this host's clock is off by {seconds} seconds: fix the time synchronisation (NTP) of the node"
        ));
    }
}

fn failure(doing: &str, code: &str, message: &str, status: u16, ask: Option<&Ask>) -> Failure {
    let row = meaning(code, message, status);
    let contract = row.map_or_else(|| error_codes::by_status(status).0, |row| row.code);
    let said = quoted(message.trim(), QUOTED_CHARACTERS);
    let text = format!("failed to {doing}: {said} ({})", quoted(code, SHOWN_CODE));
    let advice = match (row.map(|row| row.advice).unwrap_or_default(), ask) {
        ("", Some(ask)) if contract == Code::PermissionDenied => {
            format!("let the service principal do {} here", ask.right())
        }
        (advice, _) => advice.to_owned(),
    };
    let text = if advice.is_empty() { text } else { format!("{text}: {advice}") };
    let mut failure = Failure::new(contract, text).cloud_code(quoted(code, SHOWN_CODE));
    failure.terminal = row.is_some_and(|row| row.is_terminal);
    failure
}

/// Returns the row of a refusal. With status 429 Azure puts a request off, whatever its code: that of its compute
/// service is `OperationNotAllowed`.
fn meaning(code: &str, message: &str, status: u16) -> Option<&'static Meaning> {
    error_codes::meaning(if status == 429 { THROTTLED } else { code }, message)
}

fn outcome(code: &str, message: &str, status: u16) -> bool {
    let row = meaning(code, message, status);
    row.map_or_else(|| error_codes::by_status(status).1, |row| row.outcome) == Completion::Unknown
}

/// Returns code and message of an error in Azure's own form.
fn error_of(answer: &HttpAnswer) -> Option<(String, String)> {
    if answer.is_html() {
        return None;
    }
    let value: Value = serde_json::from_slice(&answer.body).ok()?;
    let error = value.get("error")?;
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let header = answer.header("x-ms-error-code").map(str::to_owned);
    let code = Some(text("code")).filter(|code| !code.is_empty()).or(header)?;
    Some((code, text("message")))
}

#[cfg(test)]
mod tests {
    use machinist_sdk::driver::Method;

    use super::*;
    use crate::class::azure_cloud::AzureCloud;

    fn answer(status: u16, body: &str) -> HttpAnswer {
        HttpAnswer { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
    }

    fn judged(status: u16, body: &str) -> Failure {
        let path =
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a".to_owned();
        let ask = Ask::change("create the VM", Method::Put, path, "1");
        let endpoint = Endpoint::of("{}", AzureCloud::Public).unwrap();
        refused(&ask, &answer(status, body), &endpoint).into()
    }

    #[test]
    fn a_refusal_says_what_to_do_and_whether_it_may_have_happened() {
        let refusal = |code: &str| format!(r#"{{"error": {{"code": "{code}", "message": "because"}}}}"#);
        let failure = judged(403, &refusal("AuthorizationFailed"));
        assert_eq!((failure.code, failure.terminal), (Code::PermissionDenied, false));
        assert!(failure.message.ends_with("do Microsoft.Compute/virtualMachines/write here"), "{failure}");
        let failure = judged(400, &refusal("InvalidParameter"));
        assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
        let failure = judged(500, &refusal("InternalServerError"));
        assert_eq!((failure.code, failure.may_have_happened), (Code::Unavailable, true));
        let failure = judged(409, &refusal("SkuNotAvailable"));
        assert_eq!((failure.code, failure.may_have_happened), (Code::ResourceExhausted, false));
        assert_eq!(judged(409, &refusal("Unheard")).code, Code::Aborted);
    }

    #[test]
    fn what_is_not_azure_s_is_neither_an_absence_nor_a_clear_no() {
        for body in ["", "<html>", "{}", r#"{"error": "x"}"#] {
            let failure = judged(404, body);
            assert_eq!((failure.code, failure.may_have_happened), (Code::Unavailable, true), "{body}");
        }
        assert_eq!(judged(429, "slow down").code, Code::Unavailable);
        assert!(!judged(429, "slow down").may_have_happened);
    }

    #[test]
    fn a_missing_token_is_named_by_microsoft_s_own_code() {
        let ask = Ask::change("create the VM", Method::Put, String::new(), "1");
        let body = r#"{"error": "invalid_client", "error_description": "AADSTS7000222: The provided client secret keys for app are expired.\r\nTrace ID: 1"}"#;
        let failure = Failure::from(not_authenticated(&ask, &answer(401, body)));
        assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, true));
        assert_eq!(failure.cloud_code.as_deref(), Some("AADSTS7000222"));
        assert!(failure.message.contains("expired") && !failure.message.contains('\n'), "{failure}");
        assert!(!failure.message.contains("clock"), "{failure}");
        let failure = Failure::from(not_authenticated(&ask, &answer(503, "<html>")));
        assert_eq!((failure.code, failure.terminal), (Code::Unavailable, false));
    }

    #[test]
    fn a_clock_that_is_off_is_named_where_a_token_or_an_assertion_is_refused_for_its_time() {
        let ask = Ask::change("create the VM", Method::Put, String::new(), "1");
        let endpoint = Endpoint::of("{}", AzureCloud::Public).unwrap();
        let assertion = r#"{"error": "invalid_client", "error_description": "AADSTS700024: Client assertion is not within its valid time range."}"#;
        let token = r#"{"error": {"code": "ExpiredAuthenticationToken", "message": "The access token has expired."}}"#;
        for (skew, words) in [("-3600", "off by 3600 seconds"), ("7", "NTP"), ("x", "NTP")] {
            let skewed = |body: &str| {
                let headers = vec![(SKEW.to_owned(), skew.to_owned())];
                HttpAnswer { headers, ..answer(401, body) }
            };
            let of_assertion = Failure::from(not_authenticated(&ask, &skewed(assertion)));
            let of_token = Failure::from(refused(&ask, &skewed(token), &endpoint));
            for failure in [of_assertion, of_token] {
                assert_eq!((failure.code, failure.terminal), (Code::Unauthenticated, false), "{failure}");
                assert!(failure.message.contains(words), "{failure}");
                assert_eq!(failure.message.contains("clock"), skew == "-3600", "{failure}");
            }
        }
        // A wrong secret is wrong at any time.
        let secret = r#"{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."}"#;
        let headers = vec![(SKEW.to_owned(), "3600".to_owned())];
        let skewed = HttpAnswer { headers, ..answer(401, secret) };
        let failure = Failure::from(not_authenticated(&ask, &skewed));
        assert!(failure.terminal && !failure.message.contains("clock"), "{failure}");
    }
}
