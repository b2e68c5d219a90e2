//! How the host may authenticate a plugin's requests, and with which keys of the Secret.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `header` | `bearer` and `basic` |
//! | `sigv4` | `aws-sigv4` |
//! | `token` | schemes whose tokens a service gives |
//! | `role` | roles for which a token file may be exchanged |
//! | `pattern` | patterns for names and scopes |

mod header;
mod pattern;
mod role;
mod sigv4;
mod token;

pub use header::{BasicGrant, BearerGrant};
pub use pattern::NamePattern;
pub use role::RolePattern;
pub use sigv4::{FilePrefix, KeyNames, SigV4Grant, StsUrl, WebIdentityGrant};
pub use token::{
    AssertionKey, ClientAuth, ClientCredentialsGrant, JwtBearerGrant, KeystoneGrant, KeystoneKeys, TokenUrl,
};

pub(crate) use pattern::{is_name, is_scope};
pub(crate) use sigv4::is_normal_path;

use super::target::host::{Host, HostPattern};

/// The ways of authenticating that the host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthScheme {
    /// AWS Signature Version 4 over headers and body.
    AwsSigV4,
    /// A value of the Secret in a header.
    Bearer,
    /// Name and password of the Secret, as RFC 7617 has it.
    Basic,
    /// A token for a client's name and secret, as RFC 6749 has it in section 4.4.
    ClientCredentials,
    /// A token for an assertion that the host signs, as RFC 7523 has it.
    JwtBearer,
    /// A token of OpenStack's identity service, version 3.
    Keystone,
}

impl AuthScheme {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::AwsSigV4, Self::Bearer, Self::Basic, Self::ClientCredentials, Self::JwtBearer, Self::Keystone];

    /// As grants and marks write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AwsSigV4 => "aws-sigv4",
            Self::Bearer => "bearer",
            Self::Basic => "basic",
            Self::ClientCredentials => "oauth2-client-credentials",
            Self::JwtBearer => "jwt-bearer",
            Self::Keystone => "keystone",
        }
    }

    /// `None` when there is no scheme of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}

/// Lets the host authenticate requests of one scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthGrant {
    /// Empty: all hosts that the egress rules grant.
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) way: AuthWay,
}

/// What is granted for a scheme beside its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthWay {
    /// See [`AuthScheme::AwsSigV4`].
    AwsSigV4(SigV4Grant),
    /// See [`AuthScheme::Bearer`].
    Bearer(BearerGrant),
    /// See [`AuthScheme::Basic`].
    Basic(BasicGrant),
    /// See [`AuthScheme::ClientCredentials`].
    ClientCredentials(ClientCredentialsGrant),
    /// See [`AuthScheme::JwtBearer`].
    JwtBearer(JwtBearerGrant),
    /// See [`AuthScheme::Keystone`].
    Keystone(KeystoneGrant),
}

impl AuthGrant {
    /// Which scheme.
    pub fn scheme(&self) -> AuthScheme {
        match self.way {
            AuthWay::AwsSigV4(_) => AuthScheme::AwsSigV4,
            AuthWay::Bearer(_) => AuthScheme::Bearer,
            AuthWay::Basic(_) => AuthScheme::Basic,
            AuthWay::ClientCredentials(_) => AuthScheme::ClientCredentials,
            AuthWay::JwtBearer(_) => AuthScheme::JwtBearer,
            AuthWay::Keystone(_) => AuthScheme::Keystone,
        }
    }

    /// For which hosts; empty means all granted ones.
    pub fn hosts(&self) -> &[HostPattern] {
        &self.hosts
    }

    /// What else is granted.
    pub fn way(&self) -> &AuthWay {
        &self.way
    }

    /// All keys of the Secret that belong to the host alone.
    pub(crate) fn used_keys(&self) -> Vec<&String> {
        match &self.way {
            AuthWay::AwsSigV4(grant) => grant.used_keys(),
            AuthWay::Bearer(grant) => grant.used_keys(),
            AuthWay::Basic(grant) => grant.used_keys(),
            AuthWay::ClientCredentials(grant) => grant.used_keys(),
            AuthWay::JwtBearer(grant) => grant.used_keys(),
            AuthWay::Keystone(grant) => grant.used_keys(),
        }
    }

    /// How far a request gets through this grant; `None` is all the way.
    fn stops_at(&self, wanted: &AuthWanted<'_>) -> Option<AuthDenial> {
        let denial = match (&self.way, wanted.wish) {
            (AuthWay::AwsSigV4(grant), AuthWish::AwsSigV4 { service, region }) => {
                if !grant.services.contains(service) {
                    Some(AuthDenial::Service)
                } else if !grant.regions.iter().any(|pattern| pattern.matches(region)) {
                    Some(AuthDenial::Region)
                } else {
                    None
                }
            }
            (AuthWay::Bearer(_), AuthWish::Bearer)
            | (AuthWay::Basic(_), AuthWish::Basic)
            | (AuthWay::Keystone(_), AuthWish::Keystone) => None,
            (AuthWay::ClientCredentials(grant), AuthWish::ClientCredentials { scopes }) => {
                denied_scope(&grant.scopes, scopes)
            }
            (AuthWay::JwtBearer(grant), AuthWish::JwtBearer { scopes }) => {
                denied_scope(&grant.scopes, scopes)
            }
            (
                AuthWay::AwsSigV4(_)
                | AuthWay::Bearer(_)
                | AuthWay::Basic(_)
                | AuthWay::ClientCredentials(_)
                | AuthWay::JwtBearer(_)
                | AuthWay::Keystone(_),
                _,
            ) => Some(AuthDenial::Scheme),
        };
        let is_host =
            || self.hosts.is_empty() || self.hosts.iter().any(|pattern| pattern.matches(wanted.host));
        denial.or_else(|| (!is_host()).then_some(AuthDenial::Host))
    }
}

fn denied_scope(granted: &[NamePattern], scopes: &[String]) -> Option<AuthDenial> {
    let is_granted = |scope: &String| granted.iter().any(|pattern| pattern.matches(scope));
    (!scopes.iter().all(is_granted)).then_some(AuthDenial::Scope)
}

/// How a request wants to be authenticated: what its mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthWish {
    /// A signature.
    AwsSigV4 {
        /// Such as `ec2`.
        service: String,
        /// Such as `eu-west-1`.
        region: String,
    },
    /// A value of the Secret.
    Bearer,
    /// Name and password.
    Basic,
    /// A token for the client.
    ClientCredentials {
        /// What the token should be good for; empty leaves it to the service.
        scopes: Vec<String>,
    },
    /// A token for an assertion.
    JwtBearer {
        /// What the token should be good for; empty leaves it to the service.
        scopes: Vec<String>,
    },
    /// A token for a project.
    Keystone,
}

impl AuthWish {
    /// Its scheme.
    pub fn scheme(&self) -> AuthScheme {
        match self {
            Self::AwsSigV4 { .. } => AuthScheme::AwsSigV4,
            Self::Bearer => AuthScheme::Bearer,
            Self::Basic => AuthScheme::Basic,
            Self::ClientCredentials { .. } => AuthScheme::ClientCredentials,
            Self::JwtBearer { .. } => AuthScheme::JwtBearer,
            Self::Keystone => AuthScheme::Keystone,
        }
    }
}

/// What a request wants.
#[derive(Clone, Copy, Debug)]
pub struct AuthWanted<'a> {
    /// What its mark says.
    pub wish: &'a AuthWish,
    /// Where it goes.
    pub host: &'a Host,
}

/// What is missing, at the grant that came nearest. Ordered from the farthest to the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthDenial {
    /// No grant names the scheme.
    Scheme,
    /// The scheme is granted, the service is not.
    Service,
    /// The region is not granted there.
    Region,
    /// A scope is not granted there.
    Scope,
    /// The host is not granted there.
    Host,
}

/// The first grant that lets a request be authenticated.
pub(super) fn choose<'a>(
    grants: &'a [AuthGrant],
    wanted: &AuthWanted<'_>,
) -> Result<&'a AuthGrant, AuthDenial> {
    let mut nearest = AuthDenial::Scheme;
    for grant in grants {
        match grant.stops_at(wanted) {
            None => return Ok(grant),
            Some(denial) => nearest = nearest.max(denial),
        }
    }
    Err(nearest)
}
