//! The answer of a token service as RFC 6749 has it in section 5.1, and what of it is believed.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::credential::{Credential, CredentialHeader};
use super::lease::Lease;

/// For how long a token is taken for good whose service does not say it.
const LIFE_UNSAID: Duration = Duration::from_secs(300);
/// No token is kept for longer, whatever the service says.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3600);

/// Why an answer that says "success" gives no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("its answer is no JSON with an access_token")]
    NoToken,
    #[error("its token has characters that no token has")]
    OddToken,
    #[error("its token is of another type than Bearer")]
    Type,
    #[error("its token has an expires_in that is no number of seconds")]
    Life,
    #[error("its token ends at once")]
    Expired,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    token_type: Option<String>,
    expires_in: Option<Seconds>,
}

/// Some services write the number as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(u64),
    Text(String),
    Other(serde::de::IgnoredAny),
}

/// The token in an answer.
pub(super) fn access_token(body: &[u8], now: Timestamp) -> Result<Lease<Credential>, Unusable> {
    let answer: Answer = serde_json::from_slice(body).map_err(|_| Unusable::NoToken)?;
    let token = Zeroizing::new(answer.access_token);
    if answer.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(Unusable::Type);
    }
    let life = match answer.expires_in {
        None => LIFE_UNSAID,
        Some(Seconds::Number(seconds)) => Duration::from_secs(seconds),
        Some(Seconds::Text(text)) => Duration::from_secs(text.trim().parse().map_err(|_| Unusable::Life)?),
        Some(Seconds::Other(_)) => return Err(Unusable::Life),
    };
    let header = CredentialHeader::bearer(&token).ok_or(Unusable::OddToken)?;
    Lease::until(Credential::Header(header), now + life.min(LONGEST_LIFE), now).ok_or(Unusable::Expired)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    #[track_caller]
    fn fresh_for(body: &str) -> u64 {
        let lease = access_token(body.as_bytes(), now()).unwrap();
        (0..).find(|seconds| !lease.is_fresh(now() + Duration::from_secs(*seconds))).unwrap()
    }

    #[test]
    fn a_token_is_renewed_before_its_end() {
        assert_eq!(fresh_for(r#"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#), 3300);
        assert_eq!(fresh_for(r#"{"access_token":"t","token_type":"bearer","expires_in":"3600"}"#), 3300);
        assert_eq!(fresh_for(r#"{"access_token":"t","expires_in":100,"scope":"x"}"#), 50);
        assert_eq!(fresh_for(r#"{"access_token":"t"}"#), 150, "unsaid");
        assert_eq!(fresh_for(r#"{"access_token":"t","expires_in":99999999999}"#), 86400 - 300);
    }

    #[test]
    fn an_answer_without_a_usable_token_is_named() {
        for (body, expected) in [
            ("", Unusable::NoToken),
            ("[]", Unusable::NoToken),
            ("<html>", Unusable::NoToken),
            (r#"{"access_token":null}"#, Unusable::NoToken),
            (r#"{"access_token":["t"]}"#, Unusable::NoToken),
            (r#"{"error":"invalid_client"}"#, Unusable::NoToken),
            (r#"{"access_token":"t","expires_in":3600"#, Unusable::NoToken),
            (r#"{"access_token":"","expires_in":3600}"#, Unusable::OddToken),
            (r#"{"access_token":"a\r\nx-evil: 1"}"#, Unusable::OddToken),
            (r#"{"access_token":"t\u0000"}"#, Unusable::OddToken),
            (r#"{"access_token":"t","token_type":"mac"}"#, Unusable::Type),
            (r#"{"access_token":"t","expires_in":-5}"#, Unusable::Life),
            (r#"{"access_token":"t","expires_in":1e99}"#, Unusable::Life),
            (r#"{"access_token":"t","expires_in":"soon"}"#, Unusable::Life),
            (r#"{"access_token":"t","expires_in":{}}"#, Unusable::Life),
            (r#"{"access_token":"t","expires_in":0}"#, Unusable::Expired),
            (r#"{"access_token":"t","expires_in":20}"#, Unusable::Expired),
        ] {
            assert_eq!(access_token(body.as_bytes(), now()).err(), Some(expected), "{body}");
        }
    }
}
