//! `keystone`: a token of OpenStack's identity service, version 3.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::auth::credential::{CredentialHeader, Holder, SecretReader};
use crate::auth::grant::keys::secret_keys;
use crate::auth::grant::{not, unless};
use crate::auth::oauth::TokenUrl;
use crate::auth::scheme::AuthScheme;
use crate::auth::tls::{SecretTls, TlsKeys};
use crate::auth::{
    AuthReason, Credential, CredentialSource, Lease, SchemeError, ServiceAnswer, ServiceRequest,
    TokenService, service_url,
};
use crate::target::{Error, Regions, RequestTarget};

/// Carries the token to the cloud.
const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawKeystone {
    url: Option<String>,
    #[serde(default)]
    insecure: bool,
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
        authorities: "ca-certificate" = ["caCert"],
        certificate: "client-certificate" = ["clientCert"],
        certificate_key: "client-key" = ["clientKey"],
        insecure: "insecure" = ["insecure"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeystoneGrant {
    /// `None`: the Secret has the URL.
    url: Option<TokenUrl>,
    /// Whether a Secret may ask for servers that nobody checks.
    may_be_insecure: bool,
    keys: KeystoneKeys,
}

impl AuthScheme for KeystoneGrant {
    const NAME: &'static str = "keystone";
    type Raw = RawKeystone;
    type Parameters = ();

    fn parse(raw: RawKeystone, _: &Regions, at: &str) -> Result<Self, Error> {
        let keys = KeystoneKeys::parse(raw.keys, at)?;
        let url = raw.url.map(|text| TokenUrl::of_field(&text, at, "url")).transpose()?;
        Ok(Self { url, may_be_insecure: raw.insecure, keys })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used().into_iter().chain(self.url.iter().flat_map(TokenUrl::keys)).collect()
    }

    /// A driver reads Keystone's catalog, so it may need the URL as well. Keys that name a credential, too, are none.
    fn address_keys(&self) -> Vec<&String> {
        let keys = &self.keys;
        let is_address = |key: &&String| !keys.all().iter().skip(1).any(|list| list.contains(key));
        keys.auth_url.iter().filter(is_address).collect()
    }

    /// If the ceiling leaves the URL to the Secret, grants may not name another one, nor the other way round.
    fn beyond(&self, ceiling: &Self) -> Option<String> {
        let url = || match &self.url {
            Some(url) => not(url),
            None => not("the place that the Secret names"),
        };
        unless(self.url == ceiling.url, url)
            .or_else(|| unless(!self.may_be_insecure || ceiling.may_be_insecure, || not("insecure servers")))
            .or_else(|| self.keys.beyond(&ceiling.keys))
    }

    fn summary(&self) -> String {
        let url = self.url.as_ref().map_or("the URL in the Secret".to_owned(), ToString::to_string);
        format!("by {url}{}", if self.may_be_insecure { "; insecure servers too" } else { "" })
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

    fn tls(&self, secret: SecretReader<'_>) -> Result<Option<SecretTls>, SchemeError> {
        let keys = TlsKeys {
            certificate: &self.keys.certificate,
            key: &self.keys.certificate_key,
            authorities: &self.keys.authorities,
            pinned: &[],
            insecure: &self.keys.insecure,
            may_be_insecure: self.may_be_insecure,
        };
        SecretTls::of(secret, keys)
    }
}

/// Carries the token from the identity service.
const X_SUBJECT_TOKEN: HeaderName = HeaderName::from_static("x-subject-token");

/// The reason why an answer with a status of success gives no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubjectTokenError {
    #[error("its answer has no usable header x-subject-token")]
    NoToken,
    #[error("its answer is no JSON with token.expires_at")]
    NoEnd,
    #[error("its token ended at {at}, and the host's clock says {now}: one of both clocks is wrong")]
    Expired { at: Timestamp, now: Timestamp },
}

/// A login of the Secret that asks for a token.
pub(super) struct Login {
    target: RequestTarget,
    body: Zeroizing<String>,
}

impl Login {
    /// Uses the application credential if the Secret has its secret, else name and password.
    pub(super) fn of(secret: SecretReader<'_>, grant: &KeystoneGrant) -> Result<Self, AuthReason> {
        let keys = &grant.keys;
        let target = tokens_target(secret, grant)?;
        let (identity, scope) = match secret.present(&keys.application_credential_secret) {
            Some(_) => (application_credential(secret, keys)?, None),
            None => password(secret, keys)?,
        };
        let mut auth = json!({ "identity": identity });
        if let Some(scope) = scope {
            auth["scope"] = scope;
        }
        Ok(Self { target, body: Zeroizing::new(json!({ "auth": auth }).to_string()) })
    }
}

impl TokenService for Login {
    fn target(&self) -> &RequestTarget {
        &self.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        vec![self.body.as_bytes()]
    }

    fn holder(&self) -> Holder {
        Holder::of(&[service_url(&self.target).as_bytes(), self.body.as_bytes()])
    }

    fn field(&self) -> &'static str {
        "url"
    }

    fn request(&self, _: Timestamp, _: u128) -> Result<ServiceRequest, SchemeError> {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        let body = Bytes::copy_from_slice(self.body.as_bytes());
        Ok(ServiceRequest { headers, body, hidden: Vec::new() })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        subject_token(&answer.headers, &answer.body, answer.now).map_err(|error| error.to_string())
    }
}

/// Returns the target `…/v3/auth/tokens`, without the catalog: a driver asks for that itself.
fn tokens_target(secret: SecretReader<'_>, grant: &KeystoneGrant) -> Result<RequestTarget, AuthReason> {
    let base = match &grant.url {
        Some(url) => url.target(secret)?,
        None => RequestTarget::parse(&Method::POST, &secret.one(&grant.keys.auth_url)?)
            .map_err(|_| AuthReason::Keys)?,
    };
    let path = base.path().trim_end_matches('/');
    let version = if path.ends_with("/v3") { "" } else { "/v3" };
    let (scheme, authority) = (base.scheme().name(), base.authority());
    let url = format!("{scheme}://{authority}{path}{version}/auth/tokens?nocatalog");
    RequestTarget::parse(&Method::POST, &url).map_err(|_| AuthReason::Keys)
}

fn application_credential(secret: SecretReader<'_>, keys: &KeystoneKeys) -> Result<Value, AuthReason> {
    let value = secret.one(&keys.application_credential_secret)?;
    let mut credential = match secret.optional(&keys.application_credential_id)? {
        Some(id) => json!({ "id": *id }),
        // A name means a credential only together with its user.
        None => {
            let name = secret.one(&keys.application_credential_name)?;
            json!({ "name": *name, "user": user(secret, keys)? })
        }
    };
    credential["secret"] = json!(*value);
    Ok(json!({ "methods": ["application_credential"], "application_credential": credential }))
}

fn password(secret: SecretReader<'_>, keys: &KeystoneKeys) -> Result<(Value, Option<Value>), AuthReason> {
    let mut user = user(secret, keys)?;
    user["password"] = json!(*secret.one(&keys.password)?);
    let identity = json!({ "methods": ["password"], "password": { "user": user } });
    let project = match secret.optional(&keys.project_id)? {
        Some(id) => json!({ "id": *id }),
        None => {
            let name = secret.one(&keys.project_name)?;
            let domain = domain(secret, &keys.project_domain_id, &keys.project_domain_name)?;
            json!({ "name": *name, "domain": domain })
        }
    };
    Ok((identity, Some(json!({ "project": project }))))
}

fn user(secret: SecretReader<'_>, keys: &KeystoneKeys) -> Result<Value, AuthReason> {
    let name = secret.one(&keys.username)?;
    let domain = domain(secret, &keys.user_domain_id, &keys.user_domain_name)?;
    Ok(json!({ "name": *name, "domain": domain }))
}

/// Returns the domain under the key that is nearest to the beginning of its list, so that `userDomainName` precedes
/// `domainID`. Of two that are equally near the id counts.
fn domain(secret: SecretReader<'_>, ids: &[String], names: &[String]) -> Result<Value, AuthReason> {
    for place in 0..ids.len().max(names.len()) {
        if let Some(id) = secret.optional(at(ids, place))? {
            return Ok(json!({ "id": *id }));
        }
        if let Some(name) = secret.optional(at(names, place))? {
            return Ok(json!({ "name": *name }));
        }
    }
    Err(AuthReason::Keys)
}

/// Returns the key at a place of a list, or none.
fn at(keys: &[String], place: usize) -> &[String] {
    keys.get(place..=place).unwrap_or_default()
}

#[derive(Deserialize)]
struct KeystoneResponse {
    token: KeystoneToken,
}

#[derive(Deserialize)]
struct KeystoneToken {
    expires_at: Timestamp,
}

/// Returns the token in an answer.
pub(crate) fn subject_token(
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<Lease<Credential>, SubjectTokenError> {
    let mut tokens = headers.get_all(X_SUBJECT_TOKEN).iter();
    let (Some(token), None) = (tokens.next(), tokens.next()) else { return Err(SubjectTokenError::NoToken) };
    let token = token.to_str().map_err(|_| SubjectTokenError::NoToken)?;
    let header = CredentialHeader::new(X_AUTH_TOKEN, "", token).ok_or(SubjectTokenError::NoToken)?;
    let answer: KeystoneResponse = serde_json::from_slice(body).map_err(|_| SubjectTokenError::NoEnd)?;
    let at = answer.token.expires_at;
    Lease::until(Credential::Header(header), at, now).ok_or(SubjectTokenError::Expired { at, now })
}
