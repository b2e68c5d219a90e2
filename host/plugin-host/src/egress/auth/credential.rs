//! What a request is authenticated with, once it was found.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::lease::Lease;
use super::sigv4::Keys;
use super::{Auth, Question};
use crate::egress::throttle::Who;

/// Keys that make a signature, or a header that is the same for each request.
#[derive(Clone, Debug)]
pub(in crate::egress) enum Credential {
    /// To sign each request with.
    Keys(Keys),
    /// To send with each request.
    Header(CredentialHeader),
}

impl Credential {
    /// What no component may see.
    pub(super) fn hidden(&self) -> Vec<&[u8]> {
        match self {
            Self::Keys(keys) => keys.hidden().collect(),
            Self::Header(header) => vec![header.hidden.as_bytes()],
        }
    }
}

/// A header with a token or a password.
#[derive(Clone)]
pub(in crate::egress) struct CredentialHeader {
    name: HeaderName,
    value: HeaderValue,
    hidden: Zeroizing<String>,
}

impl CredentialHeader {
    /// `None` when the token has characters that no token has.
    pub(super) fn new(name: HeaderName, prefix: &str, token: &str) -> Option<Self> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut value = HeaderValue::from_str(&Zeroizing::new(format!("{prefix}{token}"))).ok()?;
        value.set_sensitive(true);
        Some(Self { name, value, hidden: Zeroizing::new(token.to_owned()) })
    }

    /// As RFC 6750 has it.
    pub(super) fn bearer(token: &str) -> Option<Self> {
        Self::new(AUTHORIZATION, "Bearer ", token)
    }

    /// As RFC 7617 has it. A name with a colon would be read as another one.
    pub(super) fn basic(name: &str, password: &str) -> Option<Self> {
        let is_usable = |part: &str| !part.chars().any(char::is_control);
        if name.contains(':') || !is_usable(name) || !is_usable(password) {
            return None;
        }
        let pair = Zeroizing::new(format!("{name}:{password}"));
        Self::new(AUTHORIZATION, "Basic ", &Zeroizing::new(STANDARD.encode(pair.as_bytes())))
    }

    /// Sets the header.
    pub(in crate::egress) fn apply(&self, headers: &mut HeaderMap) {
        headers.insert(self.name.clone(), self.value.clone());
    }
}

impl fmt::Debug for CredentialHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialHeader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A credential for one request.
pub(in crate::egress) struct Found {
    from: From,
    who: Who,
}

enum From {
    Secret(Credential),
    Service(Kept),
}

impl Found {
    /// It stands in the Secret.
    pub(super) fn in_secret(credential: Credential, who: Who) -> Self {
        Self { from: From::Secret(credential), who }
    }

    /// A service gave it.
    pub(super) fn kept(question: Question, lease: Arc<Lease<Credential>>, who: Who) -> Self {
        Self { from: From::Service(Kept { question, lease }), who }
    }

    /// What to authenticate with.
    pub(in crate::egress) fn credential(&self) -> &Credential {
        match &self.from {
            From::Secret(credential) => credential,
            From::Service(kept) => &kept.lease.value,
        }
    }

    /// When the cloud stops to take it, where that is known.
    pub(super) fn ends(&self) -> Option<Timestamp> {
        match &self.from {
            From::Secret(_) => None,
            From::Service(kept) => Some(kept.lease.expires()),
        }
    }

    /// Whose requests the cloud counts together.
    pub(in crate::egress) fn who(&self) -> Who {
        self.who.clone()
    }

    /// Whom to tell that the cloud does not take it any more.
    pub(in crate::egress) fn to_forget(&self) -> Option<Kept> {
        match &self.from {
            From::Secret(_) => None,
            From::Service(kept) => Some(kept.clone()),
        }
    }
}

/// Names a credential in the cache.
#[derive(Clone)]
pub(in crate::egress) struct Kept {
    question: Question,
    lease: Arc<Lease<Credential>>,
}

impl Kept {
    /// The next request asks for another.
    pub(in crate::egress) fn forget(&self, auth: &Auth) {
        auth.kept.forget(&self.question, &self.lease);
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
    fn what_would_break_out_of_a_header_is_no_credential() {
        for token in ["", "a b", "a\r\nx: y", "ü", "a\0"] {
            assert!(CredentialHeader::bearer(token).is_none(), "{token:?}");
        }
        assert!(CredentialHeader::basic("a:b", "c").is_none());
        assert!(CredentialHeader::basic("a", "b\n").is_none());
        let shown = format!("{:?}", CredentialHeader::bearer("the-token"));
        assert!(!shown.contains("the-token"), "{shown}");
    }
}
