//! Keys and headers by which a request is authenticated, their end, and the Secret that they are read from.
//!
//! | module | has |
//! | --- | --- |
//! | `source` | the places that credentials come from: the Secret, or a token service |
//! | `token_file` | tokens that are mounted into the host's container |

pub(crate) mod source;
pub(crate) mod token_file;

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::auth::AuthReason;
use crate::auth::sigv4::Keys;
use crate::target::RequestTarget;

/// Keys that make a signature, a header that is the same for each request, or neither.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    Keys(Keys),
    Header(CredentialHeader),
    /// The connection itself shows who sends.
    Connection,
}

impl Credential {
    /// The values that no component may see.
    pub(crate) fn hidden(&self) -> Vec<&[u8]> {
        match self {
            Self::Keys(keys) => keys.hidden().collect(),
            Self::Header(header) => vec![header.hidden()],
            Self::Connection => Vec::new(),
        }
    }
}

/// The holder of a credential. A cloud counts the requests of one holder together.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Role(String),
    /// A digest over names and secrets. A client that knows a name alone is another holder, and slows nobody down.
    Digest([u8; 32]),
}

impl Holder {
    /// Names the holder of these values.
    pub(in crate::auth) fn of(parts: &[&[u8]]) -> Self {
        Self::Digest(digest(parts))
    }
}

/// Differs if any part does.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// A request that is complete but for its credential.
pub(crate) struct Unauthenticated<'a> {
    pub(crate) target: &'a RequestTarget,
    pub(crate) headers: &'a mut HeaderMap,
    pub(crate) body: &'a [u8],
}

/// A header with a token or a password.
#[derive(Clone)]
pub(crate) struct CredentialHeader {
    name: HeaderName,
    value: HeaderValue,
    hidden: Zeroizing<String>,
}

impl CredentialHeader {
    /// Returns `None` if the token has characters that no token has.
    pub(in crate::auth) fn new(name: HeaderName, prefix: &str, token: &str) -> Option<Self> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut value = HeaderValue::from_str(&Zeroizing::new(format!("{prefix}{token}"))).ok()?;
        value.set_sensitive(true);
        Some(Self { name, value, hidden: Zeroizing::new(token.to_owned()) })
    }

    /// Builds the header of RFC 6750.
    pub(in crate::auth) fn bearer(token: &str) -> Option<Self> {
        Self::new(AUTHORIZATION, "Bearer ", token)
    }

    /// Builds the header of RFC 7617. Servers would read a name with a colon as another name.
    pub(in crate::auth) fn basic(name: &str, password: &str) -> Option<Self> {
        let is_usable = |part: &str| !part.chars().any(char::is_control);
        if name.contains(':') || !is_usable(name) || !is_usable(password) {
            return None;
        }
        let pair = Zeroizing::new(format!("{name}:{password}"));
        Self::new(AUTHORIZATION, "Basic ", &Zeroizing::new(STANDARD.encode(pair.as_bytes())))
    }

    /// The value behind its prefix.
    pub(in crate::auth) fn hidden(&self) -> &[u8] {
        self.hidden.as_bytes()
    }

    /// Sets it in the headers of a request.
    pub(in crate::auth) fn apply(&self, headers: &mut HeaderMap) {
        headers.insert(self.name.clone(), self.value.clone());
    }
}

impl fmt::Debug for CredentialHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialHeader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A value is renewed so long before its end, or at half its life if that is later, so that none ends on the way to a
/// cloud.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);
/// A value that ends sooner is not used.
const USABLE_BEFORE: Duration = Duration::from_secs(30);

/// A value with its end.
#[derive(Clone, Debug)]
pub(crate) struct Lease<T> {
    pub(crate) value: T,
    expires: Timestamp,
    renewed_at: Timestamp,
}

impl<T> Lease<T> {
    /// Returns `None` if the value has ended, or ends too soon to be used.
    pub(crate) fn until(value: T, expires: Timestamp, now: Timestamp) -> Option<Self> {
        if expires <= now + USABLE_BEFORE {
            return None;
        }
        let life = Duration::try_from(expires.duration_since(now)).unwrap_or_default();
        let renewed_at = expires - RENEWED_BEFORE.min(life / 2);
        Some(Self { value, expires, renewed_at })
    }

    /// Changes the value and keeps its end.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Lease<U> {
        Lease { value: change(self.value), expires: self.expires, renewed_at: self.renewed_at }
    }

    pub(crate) fn expires(&self) -> Timestamp {
        self.expires
    }

    /// True until the host should ask for another one.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.renewed_at
    }

    /// True while a request may be sent with it.
    pub(crate) fn is_usable(&self, now: Timestamp) -> bool {
        now + USABLE_BEFORE < self.expires
    }
}

/// The Secret of a call: returns the value of a key.
#[derive(Clone, Copy)]
pub(crate) struct SecretReader<'a>(pub(crate) &'a dyn Fn(&str) -> Option<Zeroizing<Vec<u8>>>);

impl SecretReader<'_> {
    /// Returns the value as it is.
    pub(in crate::auth) fn present(self, keys: &[String]) -> Option<Zeroizing<Vec<u8>>> {
        keys.iter().find_map(|key| (self.0)(key))
    }

    /// Returns the first value that is not blank, with its key.
    pub(in crate::auth) fn named<'k>(self, keys: &'k [String]) -> Option<(&'k str, Zeroizing<Vec<u8>>)> {
        let value = |key: &'k String| Some((key.as_str(), (self.0)(key)?));
        keys.iter().filter_map(value).find(|(_, value)| !value.trim_ascii().is_empty())
    }

    /// Returns a value that must be there.
    pub(in crate::auth) fn one(self, keys: &[String]) -> Result<Zeroizing<String>, AuthReason> {
        self.present(keys).and_then(|value| text(&value)).ok_or(AuthReason::Keys)
    }

    /// Returns a value that may be absent. An empty entry counts as absent.
    pub(in crate::auth) fn optional(self, keys: &[String]) -> Result<Option<Zeroizing<String>>, AuthReason> {
        match self.present(keys) {
            Some(value) if !value.trim_ascii().is_empty() => text(&value).ok_or(AuthReason::Keys).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns a value for the path of a URL. It must be a plain segment, so that it does not change the URL.
    pub(in crate::auth) fn segment(self, keys: &[String]) -> Result<Zeroizing<String>, AuthReason> {
        let value = self.one(keys)?;
        let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && !value.starts_with('.');
        if is_plain { Ok(value) } else { Err(AuthReason::Keys) }
    }
}

/// Returns `None` if the value is blank or no text.
pub(in crate::auth) fn text(value: &[u8]) -> Option<Zeroizing<String>> {
    let text = std::str::from_utf8(value).ok()?.trim();
    (!text.is_empty()).then(|| Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(header: Option<CredentialHeader>) -> Option<String> {
        let mut headers = HeaderMap::new();
        header?.apply(&mut headers);
        let value = headers.values().next()?;
        assert!(value.is_sensitive());
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_header_is_written_as_its_standard_has_it() {
        assert_eq!(value(CredentialHeader::bearer("abc")).as_deref(), Some("Bearer abc"));
        assert_eq!(
            value(CredentialHeader::basic("Aladdin", "open sesame")).as_deref(),
            Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        );
        assert_eq!(value(CredentialHeader::basic("a", "b:c")).as_deref(), Some("Basic YTpiOmM="));
    }

    #[test]
    fn a_value_that_breaks_out_of_a_header_is_no_credential() {
        for token in ["", "a b", "a\r\nx: y", "ü", "a\0"] {
            assert!(CredentialHeader::bearer(token).is_none(), "{token:?}");
        }
        assert!(CredentialHeader::basic("a:b", "c").is_none());
        assert!(CredentialHeader::basic("a", "b\n").is_none());
        let shown = format!("{:?}", CredentialHeader::bearer("the-token"));
        assert!(!shown.contains("the-token"), "{shown}");
    }
}
