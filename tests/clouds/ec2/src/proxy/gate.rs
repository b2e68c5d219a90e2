//! Whether a request may pass: decided from the request, the accounts and the time.

use http::HeaderMap;
use http::request::Parts;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::answer::AwsError;
use crate::moto::accounts::{Accounts, Credentials};
use crate::moto::sigv4::{self, Authorization, Signed};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) account: String,
    pub(crate) access_key_id: String,
    pub(crate) region: String,
}

/// The facts that the gate checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) regions: &'a [String],
    pub(crate) now: Timestamp,
    /// How far the caller's clock may be off.
    pub(crate) tolerance: SignedDuration,
}

/// Verifies a request for this service.
pub(crate) fn admit(head: &Parts, body: &[u8], service: &str, rules: Rules<'_>) -> Result<Caller, AwsError> {
    let Some(header) = text(&head.headers, "authorization") else {
        return Err(AwsError::new("MissingAuthenticationToken", "Request is missing Authentication Token"));
    };
    let authorization = Authorization::parse(header)
        .ok_or_else(|| incomplete("the Authorization header is not one of AWS4-HMAC-SHA256"))?;
    let date = text(&head.headers, "x-amz-date").ok_or_else(|| incomplete("X-Amz-Date is missing"))?;
    let signed_at = parse_date(date).ok_or_else(|| incomplete("X-Amz-Date is not like 20260131T235959Z"))?;
    ensure_scope(&authorization, date, service, rules.regions)?;
    ensure_signed_headers(&authorization, &head.headers)?;
    let credentials = rules.accounts.find(&authorization.access_key_id).ok_or_else(|| {
        AwsError::new("AuthFailure", "AWS was not able to validate the provided access credentials")
    })?;
    ensure_session(credentials, text(&head.headers, "x-amz-security-token"))?;
    let request = Signed {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        headers: &head.headers,
        body,
        date,
    };
    if sigv4::signature(&request, &authorization, &credentials.secret_access_key) != authorization.signature {
        return Err(AwsError::new(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
             Key and signing method. Consult the service documentation for details.",
        ));
    }
    if rules.now.duration_since(signed_at).abs() > rules.tolerance {
        return Err(AwsError::new("RequestExpired", "Request has expired."));
    }
    if credentials.expires.is_some_and(|expires| expires <= rules.now) {
        return Err(AwsError::new("ExpiredToken", "The provided token has expired."));
    }
    Ok(Caller {
        account: credentials.account.clone(),
        access_key_id: authorization.access_key_id,
        region: authorization.region,
    })
}

fn ensure_scope(
    authorization: &Authorization,
    date: &str,
    service: &str,
    regions: &[String],
) -> Result<(), AwsError> {
    if !date.starts_with(&authorization.day) {
        return Err(AwsError::new(
            "SignatureDoesNotMatch",
            "Date in Credential scope does not match X-Amz-Date.",
        ));
    }
    if authorization.service != service {
        let message = format!("Credential should be scoped to correct service: '{service}'.");
        return Err(AwsError::new("SignatureDoesNotMatch", message));
    }
    if !regions.contains(&authorization.region) {
        let message =
            format!("Credential should be scoped to a valid region: '{}' is not one.", authorization.region);
        return Err(AwsError::new("AuthFailure", message));
    }
    Ok(())
}

/// Headers that could otherwise be changed on the way must be signed, in order.
fn ensure_signed_headers(authorization: &Authorization, headers: &HeaderMap) -> Result<(), AwsError> {
    let signed = &authorization.signed_headers;
    if !signed.is_sorted() {
        return Err(incomplete("SignedHeaders are not in order"));
    }
    if !signed.iter().any(|name| name == "host") {
        return Err(incomplete("'host' must be a signed header"));
    }
    let unsigned = headers.keys().find(|name| {
        (name.as_str().starts_with("x-amz-") || *name == http::header::CONTENT_TYPE)
            && !signed.iter().any(|known| known == name.as_str())
    });
    match unsigned {
        Some(name) => Err(incomplete(&format!("'{name}' is not signed"))),
        None => Ok(()),
    }
}

fn ensure_session(credentials: &Credentials, token: Option<&str>) -> Result<(), AwsError> {
    if credentials.session_token.as_deref() == token {
        return Ok(());
    }
    Err(AwsError::new("InvalidClientTokenId", "The security token included in the request is invalid"))
}

fn incomplete(what: &str) -> AwsError {
    AwsError::new(
        "IncompleteSignature",
        format!("The request signature does not conform to AWS standards: {what}."),
    )
}

fn parse_date(text: &str) -> Option<Timestamp> {
    let date = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// A header, if it is there once and is text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}
