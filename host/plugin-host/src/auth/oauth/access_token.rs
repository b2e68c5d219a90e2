//! Reads the answer of a token service: RFC 6749, section 5.1.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::auth::credential::CredentialHeader;
use crate::auth::{Credential, Lease};

/// The life of a token whose answer has no `expires_in`.
const DEFAULT_LIFE: Duration = Duration::from_secs(300);
/// No token is kept for longer, even if its service says so.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3600);

/// The reason why an answer with a status of success gives no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccessTokenError {
    #[error("its answer is no JSON with an access_token")]
    NoToken,
    #[error("its token has characters that no token has")]
    TokenCharacters,
    #[error("its token is of another type than Bearer")]
    Type,
    #[error("its token has an expires_in that is no number of seconds")]
    Life,
    #[error("its token ends at once")]
    Expired,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: Option<String>,
    expires_in: Option<ExpiresIn>,
}

/// Some services write the number as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum ExpiresIn {
    Number(u64),
    Text(String),
    Other(serde::de::IgnoredAny),
}

pub(crate) fn access_token(body: &[u8], now: Timestamp) -> Result<Lease<Credential>, AccessTokenError> {
    let answer: TokenResponse = serde_json::from_slice(body).map_err(|_| AccessTokenError::NoToken)?;
    let token = Zeroizing::new(answer.access_token);
    if answer.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(AccessTokenError::Type);
    }
    let life = match answer.expires_in {
        None => DEFAULT_LIFE,
        Some(ExpiresIn::Number(seconds)) => Duration::from_secs(seconds),
        Some(ExpiresIn::Text(text)) => {
            Duration::from_secs(text.trim().parse().map_err(|_| AccessTokenError::Life)?)
        }
        Some(ExpiresIn::Other(_)) => return Err(AccessTokenError::Life),
    };
    let header = CredentialHeader::bearer(&token).ok_or(AccessTokenError::TokenCharacters)?;
    Lease::until(Credential::Header(header), now + life.min(LONGEST_LIFE), now)
        .ok_or(AccessTokenError::Expired)
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
            ("", AccessTokenError::NoToken),
            ("[]", AccessTokenError::NoToken),
            ("<html>", AccessTokenError::NoToken),
            (r#"{"access_token":null}"#, AccessTokenError::NoToken),
            (r#"{"access_token":["t"]}"#, AccessTokenError::NoToken),
            (r#"{"error":"invalid_client"}"#, AccessTokenError::NoToken),
            (r#"{"access_token":"t","expires_in":3600"#, AccessTokenError::NoToken),
            (r#"{"access_token":"","expires_in":3600}"#, AccessTokenError::TokenCharacters),
            (r#"{"access_token":"a\r\nx-evil: 1"}"#, AccessTokenError::TokenCharacters),
            (r#"{"access_token":"t\u0000"}"#, AccessTokenError::TokenCharacters),
            (r#"{"access_token":"t","token_type":"mac"}"#, AccessTokenError::Type),
            (r#"{"access_token":"t","expires_in":-5}"#, AccessTokenError::Life),
            (r#"{"access_token":"t","expires_in":1e99}"#, AccessTokenError::Life),
            (r#"{"access_token":"t","expires_in":"soon"}"#, AccessTokenError::Life),
            (r#"{"access_token":"t","expires_in":{}}"#, AccessTokenError::Life),
            (r#"{"access_token":"t","expires_in":0}"#, AccessTokenError::Expired),
            (r#"{"access_token":"t","expires_in":20}"#, AccessTokenError::Expired),
        ] {
            assert_eq!(access_token(body.as_bytes(), now()).err(), Some(expected), "{body}");
        }
    }
}
