//! The reasons why a request is not authenticated.

/// Why the host did not authenticate a request: a closed set. Of several grants of one scheme the reason of the nearest
/// counts: from `Scheme` to `Host` they are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthReason {
    /// The mark cannot be read, or there are two.
    Mark,
    /// The scheme is unknown or not granted.
    Scheme,
    Service,
    Region,
    Scope,
    /// The host is not granted for this scheme.
    Host,
    /// A header that belongs to the host under this scheme, or one that cannot be signed.
    Header,
    /// The Secret has no credentials, or blank or malformed ones.
    Keys,
    /// The Secret asks for web identity and the grants do not offer it.
    WebIdentity,
    /// The Secret asks for a role that the grants do not name.
    Role,
    /// The egress rules do not allow the credential service.
    Sts,
    /// The egress rules do not allow the token service.
    TokenUrl,
}

impl AuthReason {
    /// The name in metrics and Events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mark => "auth-mark",
            Self::Scheme => "auth-scheme",
            Self::Service => "auth-service",
            Self::Region => "auth-region",
            Self::Scope => "auth-scope",
            Self::Host => "auth-host",
            Self::Header => "auth-header",
            Self::Keys => "auth-keys",
            Self::WebIdentity => "auth-web-identity",
            Self::Role => "auth-role",
            Self::Sts => "auth-sts",
            Self::TokenUrl => "auth-token-url",
        }
    }

    /// The explanation that people read.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::Mark => "the mark machinist-auth cannot be read",
            Self::Scheme => "the scheme is not granted under auth",
            Self::Service => "the service is not granted under auth",
            Self::Region => "the region is not granted under auth",
            Self::Scope => "a scope is not granted under auth",
            Self::Host => "the host is not granted under auth",
            Self::Header => "a header belongs to the host under this scheme, or cannot be signed",
            Self::Keys => "the Secret has no credentials for this scheme, or blank or malformed ones",
            Self::WebIdentity => "the Secret asks for web identity, which auth does not grant",
            Self::Role => "the Secret asks for a role that role-arns under web-identity does not name",
            Self::Sts => "the credential service is not granted under egress",
            Self::TokenUrl => "the token service is not granted under egress",
        }
    }
}
