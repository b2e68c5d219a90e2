//! The trait of a scheme, and the table of all schemes.

use std::fmt::Debug;

use http::HeaderName;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use serde::de::DeserializeOwned;
use serde_yaml_ng::Value;

use super::basic::BasicGrant;
use super::bearer::BearerGrant;
use super::client_certificate::ClientCertificateGrant;
use super::client_credentials::ClientCredentialsGrant;
use super::jwt_bearer::JwtBearerGrant;
use super::keystone::KeystoneGrant;
use super::mark::RawParameters;
use super::sigv4::SigV4Grant;
use super::tls::SecretTls;
use super::{AuthReason, Credential, CredentialSource, SchemeError, Unauthenticated};
use crate::auth::credential::SecretReader;
use crate::target::Error;
use crate::target::Regions;

/// A scheme: one way to authenticate requests. The type is its grant.
pub(crate) trait AuthScheme: Sized {
    /// The name in grants and marks.
    const NAME: &'static str;
    /// A line of `auth` without `scheme` and `hosts`.
    type Raw: DeserializeOwned;
    type Parameters: MarkParameters;

    /// Checks the fields of the line `at`, such as `auth[0]`.
    fn parse(raw: Self::Raw, regions: &Regions, at: &str) -> Result<Self, Error>;

    /// The keys of the Secret that the host alone may use.
    fn used_keys(&self) -> Vec<&String>;

    /// Returns those of the used keys that are addresses and no credentials: grants may reveal them.
    fn address_keys(&self) -> Vec<&String> {
        Vec::new()
    }

    /// Returns the part that the ceiling's grant does not allow, in words that follow "it grants SCHEME".
    fn beyond(&self, ceiling: &Self) -> Option<String>;

    /// Says in one line what is granted.
    fn summary(&self) -> String;

    /// The headers that the host sets, `authorization` for most schemes. A request that brings one is refused.
    fn headers(&self) -> Vec<HeaderName> {
        vec![AUTHORIZATION]
    }

    /// Returns the reason why this grant does not allow the mark.
    fn denial(&self, _: &Self::Parameters) -> Option<AuthReason> {
        None
    }

    /// Reads the Secret, and says where the credential comes from.
    fn source(
        &self,
        parameters: &Self::Parameters,
        secret: SecretReader<'_>,
        plugin: &PluginName,
    ) -> Result<CredentialSource, SchemeError>;

    /// Puts the credential into a request that is complete. Returns the signature if there is one: it is secret, too.
    fn authenticate(
        _: &Self::Parameters,
        credential: &Credential,
        request: Unauthenticated<'_>,
        _: Timestamp,
    ) -> Result<Option<String>, AuthReason> {
        match credential {
            Credential::Header(header) => header.apply(request.headers),
            Credential::Keys(_) | Credential::Connection => return Err(AuthReason::Scheme),
        }
        Ok(None)
    }

    /// Returns the TLS that the Secret asks for, of marked requests and of those to the token service.
    fn tls(&self, _: SecretReader<'_>) -> Result<Option<SecretTls>, SchemeError> {
        Ok(None)
    }
}

/// The parameters that marks of a scheme have.
pub(crate) trait MarkParameters: Clone + Debug + PartialEq + Eq {
    /// Takes them out of those of a mark.
    fn take(raw: &mut RawParameters) -> Result<Self, AuthReason>;
}

impl MarkParameters for () {
    fn take(_: &mut RawParameters) -> Result<Self, AuthReason> {
        Ok(())
    }
}

/// Makes of the table an enum of grants, an enum of marks, and the functions that call the scheme of a variant.
macro_rules! schemes {
    ($($variant:ident($grant:ty),)+) => {
        /// The names of all schemes.
        pub(crate) const SCHEMES: &[&str] = &[$(<$grant>::NAME),+];

        /// The part of a line of `auth` that depends on its scheme.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum SchemeGrant {
            $($variant($grant),)+
        }

        /// `SCHEME; NAME=VALUE; …`: a request's wish to be authenticated.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum Mark {
            $($variant(<$grant as AuthScheme>::Parameters),)+
        }

        impl SchemeGrant {
            /// Returns the parser of a scheme's lines.
            pub(crate) fn parser(scheme: &str) -> Option<fn(Value, &Regions, &str) -> Result<Self, Error>> {
                match scheme {
                    $(<$grant as AuthScheme>::NAME => Some(|raw, regions, at| {
                        let raw = serde_yaml_ng::from_value(raw);
                        let raw = raw.map_err(|error| Error::invalid(at, error.to_string()))?;
                        <$grant>::parse(raw, regions, at).map(Self::$variant)
                    }),)+
                    _ => None,
                }
            }

            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$grant>::NAME,)+
                }
            }

            pub(crate) fn used_keys(&self) -> Vec<&String> {
                match self {
                    $(Self::$variant(grant) => grant.used_keys(),)+
                }
            }

            pub(crate) fn address_keys(&self) -> Vec<&String> {
                match self {
                    $(Self::$variant(grant) => grant.address_keys(),)+
                }
            }

            pub(crate) fn beyond(&self, ceiling: &Self) -> Option<String> {
                match (self, ceiling) {
                    $((Self::$variant(grant), Self::$variant(ceiling)) => grant.beyond(ceiling),)+
                    _ => Some("not".to_owned()),
                }
            }

            pub(crate) fn summary(&self) -> String {
                match self {
                    $(Self::$variant(grant) => grant.summary(),)+
                }
            }

            pub(crate) fn headers(&self) -> Vec<HeaderName> {
                match self {
                    $(Self::$variant(grant) => grant.headers(),)+
                }
            }

            pub(crate) fn denial(&self, mark: &Mark) -> Option<AuthReason> {
                match (self, mark) {
                    $((Self::$variant(grant), Mark::$variant(parameters)) => grant.denial(parameters),)+
                    _ => Some(AuthReason::Scheme),
                }
            }

            pub(crate) fn tls(&self, secret: SecretReader<'_>) -> Result<Option<SecretTls>, SchemeError> {
                match self {
                    $(Self::$variant(grant) => grant.tls(secret),)+
                }
            }

            pub(crate) fn source(
                &self,
                mark: &Mark,
                secret: SecretReader<'_>,
                plugin: &PluginName,
            ) -> Result<CredentialSource, SchemeError> {
                match (self, mark) {
                    $((Self::$variant(grant), Mark::$variant(parameters)) => {
                        grant.source(parameters, secret, plugin)
                    })+
                    // The grant was found by the mark, so it is of the same scheme.
                    _ => Err(AuthReason::Scheme.into()),
                }
            }
        }

        impl Mark {
            /// Returns the reader of the parameters of a scheme's marks.
            pub(super) fn reader(scheme: &str) -> Option<fn(&mut RawParameters) -> Result<Self, AuthReason>> {
                match scheme {
                    $(<$grant as AuthScheme>::NAME => Some(|raw| MarkParameters::take(raw).map(Self::$variant)),)+
                    _ => None,
                }
            }

            /// Puts the credential into a request that is complete. Returns the signature if there is one.
            pub(crate) fn authenticate(
                &self,
                credential: &Credential,
                request: Unauthenticated<'_>,
                now: Timestamp,
            ) -> Result<Option<String>, AuthReason> {
                match self {
                    $(Self::$variant(parameters) => {
                        <$grant>::authenticate(parameters, credential, request, now)
                    })+
                }
            }
        }
    };
}

// The table. A new scheme is a module with its grant, which implements `AuthScheme`, and a line here.
schemes! {
    AwsSigV4(SigV4Grant),
    Bearer(BearerGrant),
    Basic(BasicGrant),
    ClientCertificate(ClientCertificateGrant),
    ClientCredentials(ClientCredentialsGrant),
    JwtBearer(JwtBearerGrant),
    Keystone(KeystoneGrant),
}
