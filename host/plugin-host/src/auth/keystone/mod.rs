//! `keystone`: a token of OpenStack's identity service, version 3.
//!
//! | module | has |
//! | --- | --- |
//! | `login` | the login of a Secret, and the answer of the identity service |

mod login;

use http::HeaderName;
use machinist_core::value::id::PluginName;
use serde::Deserialize;

use super::credential::secret::SecretReader;
use super::grant::ceiling::{not, unless};
use super::grant::keys::secret_keys;
use super::oauth::TokenUrl;
use super::scheme::AuthScheme;
use super::{CredentialSource, SchemeError};
use crate::target::Error;
use crate::target::Regions;
use login::Login;

pub(crate) use login::subject_token;

/// Carries the token to the cloud.
const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawKeystone {
    url: Option<String>,
    #[serde(default)]
    keys: RawKeystoneKeys,
}

secret_keys! {
    KeystoneKeys, RawKeystoneKeys {
        auth_url: "auth-url" = ["authURL"],
        username: "username" = ["username"],
        password: "password" = ["password"],
        user_domain_id: "user-domain-id" = ["userDomainID", "domainID"],
        user_domain_name: "user-domain-name" = ["userDomainName", "domainName"],
        project_id: "project-id" = ["tenantID"],
        project_name: "project-name" = ["tenantName"],
        project_domain_id: "project-domain-id" = ["domainID"],
        project_domain_name: "project-domain-name" = ["domainName"],
        application_credential_id: "application-credential-id" = ["applicationCredentialID"],
        application_credential_name: "application-credential-name" = ["applicationCredentialName"],
        application_credential_secret: "application-credential-secret" = ["applicationCredentialSecret"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeystoneGrant {
    /// `None`: the Secret has the URL.
    url: Option<TokenUrl>,
    keys: KeystoneKeys,
}

impl AuthScheme for KeystoneGrant {
    const NAME: &'static str = "keystone";
    type Raw = RawKeystone;
    type Parameters = ();

    fn parse(raw: RawKeystone, _: &Regions, at: &str) -> Result<Self, Error> {
        let keys = KeystoneKeys::parse(raw.keys, at)?;
        Ok(Self { url: raw.url.map(|text| TokenUrl::of_field(&text, at, "url")).transpose()?, keys })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used().into_iter().chain(self.url.iter().flat_map(TokenUrl::keys)).collect()
    }

    /// If the ceiling leaves the URL to the Secret, grants may not name another one, nor the other way round.
    fn beyond(&self, ceiling: &Self) -> Option<String> {
        let url = || match &self.url {
            Some(url) => not(url),
            None => not("the place that the Secret names"),
        };
        unless(self.url == ceiling.url, url).or_else(|| self.keys.beyond(&ceiling.keys))
    }

    fn summary(&self) -> String {
        self.url.as_ref().map_or("by the URL in the Secret".to_owned(), |url| format!("by {url}"))
    }

    fn headers(&self) -> Vec<HeaderName> {
        vec![X_AUTH_TOKEN]
    }

    fn source(
        &self,
        _: &Self::Parameters,
        secret: SecretReader<'_>,
        _: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        Ok(CredentialSource::Service(Box::new(Login::of(secret, self)?)))
    }
}
