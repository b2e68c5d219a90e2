//! `aws-sigv4`: AWS Signature Version 4 over headers and body. The keys are in the Secret, or AWS gives them for a
//! token in a file (web identity).
//!
//! | module | has |
//! | --- | --- |
//! | `sign` | the signature |
//! | `web_identity` | the grant of web identity: folders, roles, and the service |
//! | `role` | patterns of roles |
//! | `sts` | the request to the service, and its answer |
//! | `tests` | keys that a Secret gives |

mod role;
mod sign;
mod sts;
mod web_identity;

#[cfg(test)]
mod tests;

use http::HeaderName;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use serde::Deserialize;

use super::credential::Holder;
use super::grant::joined;
use super::grant::keys::secret_keys;
use super::mark::RawParameters;
use super::scheme::{AuthScheme, MarkParameters};
use super::{AuthReason, Credential, CredentialSource, SchemeError, Unauthenticated};
use crate::auth::credential::{SecretReader, text};
use crate::auth::grant::{not, patterns};
use crate::target::Error;
use crate::target::{NamePattern, Regions, is_name};
use web_identity::{RawWebIdentity, WebIdentityGrant};

pub use sign::{Keys, Scope, Signature, Unsignable, sign};
pub(crate) use sts::session_keys;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawSigV4 {
    services: Vec<String>,
    regions: Option<Vec<String>>,
    #[serde(default)]
    keys: RawKeyNames,
    web_identity: Option<RawWebIdentity>,
}

secret_keys! {
    KeyNames, RawKeyNames {
        access_key_id: "access-key-id" = ["providerAccessKeyId", "accessKeyID"],
        secret_access_key: "secret-access-key" = ["providerSecretAccessKey", "secretAccessKey"],
        session_token: "session-token" = ["providerSessionToken", "sessionToken"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SigV4Grant {
    services: Vec<String>,
    regions: Vec<NamePattern>,
    keys: KeyNames,
    web_identity: Option<WebIdentityGrant>,
}

/// The part of a mark that a signature is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SigningScope {
    pub(crate) service: String,
    pub(crate) region: String,
}

impl MarkParameters for SigningScope {
    fn take(raw: &mut RawParameters) -> Result<Self, AuthReason> {
        Ok(Self { service: raw.name("service")?, region: raw.name("region")? })
    }
}

impl AuthScheme for SigV4Grant {
    const NAME: &'static str = "aws-sigv4";
    type Raw = RawSigV4;
    type Parameters = SigningScope;

    fn parse(raw: RawSigV4, known: &Regions, at: &str) -> Result<Self, Error> {
        Ok(Self {
            services: services(raw.services, &format!("{at}.services"))?,
            regions: regions(raw.regions, known, &format!("{at}.regions"))?,
            keys: KeyNames::parse(raw.keys, at)?,
            web_identity: raw
                .web_identity
                .map(|web| WebIdentityGrant::parse(web, &format!("{at}.web-identity")))
                .transpose()?,
        })
    }

    fn used_keys(&self) -> Vec<&String> {
        let web = self.web_identity.iter().flat_map(WebIdentityGrant::used_keys);
        self.keys.used().into_iter().chain(web).collect()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        let service = self.services.iter().find(|service| !ceiling.services.contains(service));
        service
            .map(not)
            .or_else(|| patterns("region", &self.regions, &ceiling.regions))
            .or_else(|| self.keys.beyond(&ceiling.keys))
            .or_else(|| match (&self.web_identity, &ceiling.web_identity) {
                (None, _) => None,
                (Some(_), None) => Some("without web identity".to_owned()),
                (Some(own), Some(wide)) => own.beyond(wide),
            })
    }

    fn summary(&self) -> String {
        let web = self.web_identity.as_ref().map(WebIdentityGrant::summary).unwrap_or_default();
        format!("for {}; regions {}{web}", self.services.join(", "), joined(&self.regions))
    }

    fn headers(&self) -> Vec<HeaderName> {
        vec![
            AUTHORIZATION,
            HeaderName::from_static("x-amz-date"),
            HeaderName::from_static("x-amz-security-token"),
            HeaderName::from_static("x-amz-content-sha256"),
        ]
    }

    fn denial(&self, scope: &SigningScope) -> Option<AuthReason> {
        if !self.services.contains(&scope.service) {
            Some(AuthReason::Service)
        } else if !self.regions.iter().any(|pattern| pattern.matches(&scope.region)) {
            Some(AuthReason::Region)
        } else {
            None
        }
    }

    /// Uses web identity if the Secret asks for it, else the keys in the Secret.
    fn source(
        &self,
        scope: &SigningScope,
        secret: SecretReader<'_>,
        plugin: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        let web = self.web_identity.as_ref();
        let path_key = web.map_or(WebIdentityGrant::TOKEN_FILE_KEY, |web| web.token_file_key.as_str());
        if let Some(path) = secret.present(&[path_key.to_owned()]) {
            let web = web.ok_or(AuthReason::WebIdentity)?;
            let role_arn = web.role_arn(secret)?;
            let path = text(&path).ok_or(AuthReason::Keys)?.to_string();
            // The token is the host's: without this check, anyone who writes Secrets could take each role that trusts
            // it.
            if !web.roles.iter().any(|role| role.matches(&role_arn)) {
                return Err(AuthReason::Role.into());
            }
            return web.exchange(role_arn, path, &scope.region, plugin).map(CredentialSource::File);
        }
        let keys = self.keys.read(secret)?;
        let holder = Holder::of(&keys.hidden().collect::<Vec<_>>());
        Ok(CredentialSource::Secret(Credential::Keys(keys), holder))
    }

    fn authenticate(
        scope: &SigningScope,
        credential: &Credential,
        request: Unauthenticated<'_>,
        now: Timestamp,
    ) -> Result<Option<String>, AuthReason> {
        let Unauthenticated { target, headers, body } = request;
        match credential {
            Credential::Keys(keys) => {
                let scope = Scope { service: &scope.service, region: &scope.region };
                let signature =
                    sign(target, headers, body, keys, scope, now).map_err(|_| AuthReason::Header)?;
                signature.apply(headers);
                Ok(Some(signature.hex().to_owned()))
            }
            Credential::Header(header) => {
                header.apply(headers);
                Ok(None)
            }
            Credential::Connection => Err(AuthReason::Scheme),
        }
    }
}

impl KeyNames {
    fn read(&self, secret: SecretReader<'_>) -> Result<Keys, AuthReason> {
        // An empty entry beside long-lived keys is common.
        let session_token = secret.optional(&self.session_token)?;
        let access_key_id = secret.one(&self.access_key_id)?;
        let secret_access_key = secret.one(&self.secret_access_key)?;
        Keys::new(&access_key_id, &secret_access_key, session_token.as_deref().map(String::as_str))
            .ok_or(AuthReason::Keys)
    }
}

fn services(raw: Vec<String>, at: &str) -> Result<Vec<String>, Error> {
    if raw.is_empty() {
        return Err(Error::invalid(at, "names no service"));
    }
    for service in &raw {
        if !is_name(service) {
            let problem = format!("{service:?} is no service: small letters, digits and - only");
            return Err(Error::invalid(at, problem));
        }
        // It signs the body's digest as a header and the path as it is; no machine driver needs it.
        if service == "s3" {
            return Err(Error::invalid(
                at,
                "s3 has rules of its own for signing, which the host does not know",
            ));
        }
    }
    Ok(raw)
}

fn regions(raw: Option<Vec<String>>, known: &Regions, at: &str) -> Result<Vec<NamePattern>, Error> {
    let Some(raw) = raw else { return Ok(vec![NamePattern::any()]) };
    if raw.is_empty() {
        return Err(Error::invalid(at, "names no region: leave it out for all"));
    }
    let one = |text: &String| {
        NamePattern::parse(text).ok_or_else(|| {
            Error::invalid(at, format!("{text:?} is no region: small letters, digits, - and at most one *"))
        })
    };
    known.fill(raw, at)?.iter().map(one).collect()
}
