//! The parts that schemes with OAuth 2.0 share.

use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::auth::credential::{CredentialHeader, SecretReader};
use crate::auth::grant::joined;
use crate::auth::mark::RawParameters;
use crate::auth::scheme::MarkParameters;
use crate::auth::{AuthReason, Credential, Lease, grant};
use crate::target::{Error, NamePattern, RequestTarget, is_scope};

/// Returns the headers of a form to a token service.
pub(super) fn form_headers() -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")),
        (ACCEPT, HeaderValue::from_static("application/json")),
    ])
}

/// The scopes that a mark names: `scope=ONE TWO`. Without any, the service chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scopes(pub(crate) Vec<String>);

impl MarkParameters for Scopes {
    fn take(raw: &mut RawParameters) -> Result<Self, AuthReason> {
        let scopes = raw.text("scope").unwrap_or_default();
        let scopes: Vec<String> = scopes.split_ascii_whitespace().map(str::to_owned).collect();
        if scopes.iter().all(|scope| is_scope(scope)) { Ok(Self(scopes)) } else { Err(AuthReason::Mark) }
    }
}

impl Scopes {
    /// Returns the scopes with a blank between them.
    pub(in crate::auth) fn joined(&self) -> String {
        self.0.join(" ")
    }
}

/// Patterns of the scopes that marks may name. Without any, they may name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrantedScopes(Vec<NamePattern>);

impl GrantedScopes {
    pub(in crate::auth) fn parse(raw: Option<Vec<String>>, at: &str) -> Result<Self, Error> {
        let place = format!("{at}.scopes");
        let Some(raw) = raw else { return Ok(Self(Vec::new())) };
        if raw.is_empty() {
            return Err(Error::invalid(place, "names no scope: leave it out when marks name none"));
        }
        name_patterns(&raw, &place, "scope").map(Self)
    }

    pub(in crate::auth) fn denial(&self, scopes: &Scopes) -> Option<AuthReason> {
        let is_granted = |scope: &String| self.0.iter().any(|pattern| pattern.matches(scope));
        (!scopes.0.iter().all(is_granted)).then_some(AuthReason::Scope)
    }

    pub(in crate::auth) fn beyond(&self, ceiling: &Self) -> Option<String> {
        grant::patterns("scope", &self.0, &ceiling.0)
    }

    pub(in crate::auth) fn summary(&self) -> String {
        if self.0.is_empty() { "no scopes".to_owned() } else { format!("scopes {}", joined(&self.0)) }
    }
}

/// Parses patterns with one `*` for what a token service calls by name: scopes, audiences, accounts.
pub(in crate::auth) fn name_patterns(
    raw: &[String],
    at: &str,
    kind: &str,
) -> Result<Vec<NamePattern>, Error> {
    let one = |text: &String| {
        NamePattern::scope(text)
            .ok_or_else(|| Error::invalid(at, format!("{text:?} is no {kind} with at most one *")))
    };
    raw.iter().map(one).collect()
}

/// The URL of a token service. `{KEY}` in its path is replaced by the value of that key of the Secret, such as a
/// tenant; `{KEY|KEY}` by the value of the first key that the Secret has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenUrl {
    text: String,
    fields: Vec<UrlField>,
}

/// A part of the path that the Secret fills in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct UrlField {
    /// As the path has it, with its braces.
    text: String,
    /// The first one that the Secret has counts; there is at least one.
    keys: Vec<String>,
}

impl TokenUrl {
    /// Parses the URL in `field` of the line `at`.
    pub(in crate::auth) fn of_field(text: &str, at: &str, field: &str) -> Result<Self, Error> {
        Self::parse(text).map_err(|problem| Error::invalid(format!("{at}.{field}"), problem))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let path_at = text.match_indices('/').nth(2).map_or(text.len(), |(at, _)| at);
        let mut fields: Vec<UrlField> = Vec::new();
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once('{') {
            let (names, behind) = behind.split_once('}').ok_or_else(|| format!("{text:?} has no }}"))?;
            let keys = names.split('|').map(str::to_owned).collect();
            fields.push(UrlField { text: format!("{{{names}}}"), keys });
            rest = behind;
        }
        let sample = fields.iter().fold(text.to_owned(), |url, field| url.replace(&field.text, "x"));
        let is_invalid = sample.contains(['{', '}', '#', '?'])
            || text.get(..path_at).unwrap_or_default().contains('{')
            || fields.iter().flat_map(|field| &field.keys).any(String::is_empty);
        if is_invalid {
            return Err(format!(
                "{text:?} is no URL of a service: only {{KEY}} or {{KEY|KEY}} in the path, for keys of the Secret, and no query"
            ));
        }
        RequestTarget::parse(&Method::POST, &sample)
            .map_err(|error| format!("{text:?} is no URL: {error}"))?;
        Ok(Self { text: text.to_owned(), fields })
    }

    /// Returns the keys of the Secret whose values may be in the path.
    pub(in crate::auth) fn keys(&self) -> Vec<&String> {
        self.fields.iter().flat_map(|field| &field.keys).collect()
    }

    /// Returns the target of a request to the service of this Secret.
    pub(in crate::auth) fn target(&self, secret: SecretReader<'_>) -> Result<RequestTarget, AuthReason> {
        let mut url = self.text.clone();
        for field in &self.fields {
            url = url.replace(&field.text, &secret.segment(&field.keys)?);
        }
        RequestTarget::parse(&Method::POST, &url).map_err(|_| AuthReason::Keys)
    }
}

impl fmt::Display for TokenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

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
mod access_token_tests {
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
