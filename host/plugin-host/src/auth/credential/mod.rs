//! Keys and headers by which a request is authenticated.
//!
//! | module | has |
//! | --- | --- |
//! | `source` | the places that credentials come from: the Secret, or a token service |
//! | `secret` | values of the Secret |
//! | `token_file` | tokens that are mounted into the host's container |
//! | `lease` | values that expire |

pub(crate) mod lease;
pub(crate) mod secret;
pub(crate) mod source;
pub(crate) mod token_file;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::sigv4::Keys;
use crate::target::RequestTarget;

/// Keys that make a signature, or a header that is the same for each request.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    Keys(Keys),
    Header(CredentialHeader),
}

impl Credential {
    /// The values that no component may see.
    pub(crate) fn hidden(&self) -> Vec<&[u8]> {
        match self {
            Self::Keys(keys) => keys.hidden().collect(),
            Self::Header(header) => vec![header.hidden()],
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
