//! `jwt-bearer`: a token for an assertion that the host signs (RFC 7523). A Secret with an external account gets one
//! for a token in a file instead (RFC 8693).
//!
//! | module | has |
//! | --- | --- |
//! | `issuer` | the assertion, and the request to the token service |
//! | `external_account` | tokens in files |

mod external_account;
mod issuer;

use machinist_core::value::id::PluginName;
use serde::Deserialize;

use super::grant::keys::names;
use super::oauth::{GrantedScopes, Scopes, TokenUrl};
use super::scheme::AuthScheme;
use super::{AuthReason, CredentialSource, SchemeError};
use crate::auth::credential::{SecretReader, text};
use crate::auth::grant::{keys, not, unless};
use crate::target::Error;
use crate::target::Regions;
use external_account::{RawWorkloadIdentity, WorkloadIdentityGrant, is_external_account};
use issuer::Issuer;

/// Where Google exchanges assertions.
const GOOGLE: &str = "https://oauth2.googleapis.com/token";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawJwtBearer {
    token_url: Option<String>,
    audience: Option<String>,
    scopes: Option<Vec<String>>,
    workload_identity: Option<RawWorkloadIdentity>,
    #[serde(default)]
    keys: RawAssertionKeys,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawAssertionKeys {
    service_account: Option<Vec<String>>,
    private_key: Option<Vec<String>>,
    issuer: Option<Vec<String>>,
    key_id: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JwtBearerGrant {
    token_url: TokenUrl,
    /// `None`: the URL of the token service.
    audience: Option<String>,
    scopes: GrantedScopes,
    /// For Secrets with an external account.
    workload_identity: Option<WorkloadIdentityGrant>,
    keys: AssertionKeys,
}

/// The keys of the Secret that have the signing key. Of a list the host uses the first key that the Secret has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AssertionKeys {
    /// A JSON document with `client_email`, `private_key` and `private_key_id`, as Google gives it.
    ServiceAccount(Vec<String>),
    /// A key in PEM, and its issuer in another value.
    Pem {
        private_key: Vec<String>,
        /// `iss` and `sub` of the assertion.
        issuer: Vec<String>,
        /// `kid` of the assertion; may be absent in the Secret.
        key_id: Vec<String>,
    },
}

impl AuthScheme for JwtBearerGrant {
    const NAME: &'static str = "jwt-bearer";
    type Raw = RawJwtBearer;
    type Parameters = Scopes;

    fn parse(raw: RawJwtBearer, _: &Regions, at: &str) -> Result<Self, Error> {
        if raw.audience.as_deref().is_some_and(|audience| audience.trim().is_empty()) {
            let problem = "is empty: leave it out for the token URL";
            return Err(Error::invalid(format!("{at}.audience"), problem));
        }
        Ok(Self {
            token_url: TokenUrl::of_field(raw.token_url.as_deref().unwrap_or(GOOGLE), at, "token-url")?,
            audience: raw.audience,
            scopes: GrantedScopes::parse(raw.scopes, at)?,
            workload_identity: raw
                .workload_identity
                .map(|raw| WorkloadIdentityGrant::parse(raw, &format!("{at}.workload-identity")))
                .transpose()?,
            keys: AssertionKeys::parse(raw.keys, at)?,
        })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used().into_iter().chain(self.token_url.keys()).collect()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        unless(self.token_url == ceiling.token_url, || not(&self.token_url))
            .or_else(|| unless(self.audience == ceiling.audience, || "for another audience".to_owned()))
            .or_else(|| self.scopes.beyond(&ceiling.scopes))
            .or_else(|| match (&self.workload_identity, &ceiling.workload_identity) {
                (None, _) => None,
                (Some(_), None) => Some("without workload identity".to_owned()),
                (Some(own), Some(wide)) => own.beyond(wide),
            })
            .or_else(|| self.keys.beyond(&ceiling.keys))
    }

    fn summary(&self) -> String {
        let files = self.workload_identity.as_ref().map(WorkloadIdentityGrant::summary).unwrap_or_default();
        format!("by {}; {}{files}", self.token_url, self.scopes.summary())
    }

    fn denial(&self, scopes: &Scopes) -> Option<AuthReason> {
        self.scopes.denial(scopes)
    }

    fn source(
        &self,
        scopes: &Scopes,
        secret: SecretReader<'_>,
        _: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        if let AssertionKeys::ServiceAccount(keys) = &self.keys
            && let Some((key, document)) = secret.named(keys)
            && let Some(document) = text(&document)
            && is_external_account(&document)
        {
            let granted = self.workload_identity.as_ref().ok_or(AuthReason::WebIdentity)?;
            return granted.exchange(&document, key.to_owned(), scopes).map(CredentialSource::File);
        }
        Ok(CredentialSource::Service(Box::new(Issuer::of(secret, self, scopes)?)))
    }
}

impl AssertionKeys {
    fn parse(raw: RawAssertionKeys, at: &str) -> Result<Self, Error> {
        match raw {
            RawAssertionKeys { service_account, private_key: None, issuer: None, key_id: None } => {
                names(service_account, at, "service-account", &["serviceAccountJSON"])
                    .map(Self::ServiceAccount)
            }
            RawAssertionKeys {
                service_account: None,
                private_key: Some(key),
                issuer: Some(issuer),
                key_id,
            } => Ok(Self::Pem {
                private_key: names(Some(key), at, "private-key", &[])?,
                issuer: names(Some(issuer), at, "issuer", &[])?,
                key_id: key_id.map_or(Ok(Vec::new()), |raw| names(Some(raw), at, "key-id", &[]))?,
            }),
            RawAssertionKeys { .. } => Err(Error::invalid(
                format!("{at}.keys"),
                "must be either service-account, or private-key with issuer (and key-id)",
            )),
        }
    }

    fn used(&self) -> Vec<&String> {
        match self {
            Self::ServiceAccount(keys) => keys.iter().collect(),
            Self::Pem { private_key, issuer, key_id } => {
                private_key.iter().chain(issuer).chain(key_id).collect()
            }
        }
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        match (self, ceiling) {
            (Self::ServiceAccount(own), Self::ServiceAccount(wide)) => keys([(own, wide)]),
            (
                Self::Pem { private_key, issuer, key_id },
                Self::Pem { private_key: wide_key, issuer: wide_issuer, key_id: wide_id },
            ) => keys([(private_key, wide_key), (issuer, wide_issuer), (key_id, wide_id)]),
            (Self::ServiceAccount(_), Self::Pem { .. }) | (Self::Pem { .. }, Self::ServiceAccount(_)) => {
                Some("with another kind of key".to_owned())
            }
        }
    }
}
