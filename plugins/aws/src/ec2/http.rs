//! Requests to EC2 through the host, which signs them.

use machinist_sdk::driver::{
    Code, Encoding, Failure, Host, HttpAnswer, HttpRequest, Limits, NoAnswer, Secret, SecretRefusal,
    SecretRefused, auth,
};

use crate::ec2::credentials;
use crate::ec2::errors::Target;
use crate::ec2::settings::Endpoint;
use crate::ec2::{Answer, Transport};

/// EC2 answers a launch within seconds; after this time no answer comes.
const ANSWER_MS: u64 = 60_000;

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";
/// The header of an answer if the host could not sign.
const AUTH: &str = "machinist-auth";
const FAILED: &str = "failed";
const SKEW: &str = "machinist-clock-skew";

/// Sends the running call's requests to EC2.
pub(crate) struct Signed<'a> {
    host: &'a dyn Host,
    endpoint: Endpoint,
    region: String,
}

impl<'a> Signed<'a> {
    /// Reads the settings, and checks that the Secret has the keys with which the host signs.
    pub(crate) fn open(host: &'a dyn Host, region: String) -> Result<Self, Failure> {
        let endpoint = Endpoint::of(&host.settings(), &region)?;
        credentials::check(|key| host.secrets().open(key).map(|secret| secret.length()))?;
        Ok(Self { host, endpoint, region })
    }
}

impl Transport for Signed<'_> {
    fn target(&self) -> Target {
        Target {
            host: self.endpoint.host().to_owned(),
            region: self.region.clone(),
            is_override: self.endpoint.is_override,
        }
    }

    fn send(&self, form: &str) -> Result<Answer, NoAnswer> {
        let (mark, what) = auth::aws_sigv4("ec2", &self.region);
        let request = HttpRequest::post(&self.endpoint.url)
            .header("content-type", FORM)
            .header("accept", "application/xml, text/xml")
            .header(mark, what)
            .body(form);
        let limits = Limits { answer_ms: ANSWER_MS, ..Limits::default() };
        self.host.send_within(&request, limits).map(answer)
    }
}

fn answer(answer: HttpAnswer) -> Answer {
    let skew = answer.header(SKEW).and_then(|text| text.trim().parse::<i64>().ok());
    Answer {
        status: answer.status,
        is_html: answer.is_html(),
        retry_after_ms: answer.retry_after_ms(),
        is_unsigned: answer.header(AUTH).is_some_and(|text| text.trim() == FAILED),
        skew_s: skew.map(i64::unsigned_abs),
        body: answer.body,
    }
}

/// Returns a placeholder for the user data in base64, encoded for a form.
pub(crate) fn user_data(host: &dyn Host) -> Result<String, Failure> {
    let secret = host.secrets().user_data();
    credentials::check_user_data(secret.as_ref().map(Secret::length))?;
    let placeholder = secret.map(|secret| secret.placeholder(&[Encoding::Base64, Encoding::Form]));
    placeholder.transpose().map(Option::unwrap_or_default).map_err(ungranted)
}

fn ungranted(refused: SecretRefused) -> Failure {
    match refused.refusal {
        SecretRefusal::NotGranted => Failure::new(
            Code::FailedPrecondition,
            "the user data is not granted: add { key: userData, places: [{ form: UserData }] } to secrets in the \
             plugin's grants",
        ),
        SecretRefusal::Encodings | SecretRefusal::TooMany => refused.into(),
    }
}
