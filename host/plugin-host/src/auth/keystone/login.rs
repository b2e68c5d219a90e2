//! The login of a Secret, and the answer of the identity service.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{KeystoneGrant, KeystoneKeys, X_AUTH_TOKEN};
use crate::auth::credential::secret::SecretReader;
use crate::auth::credential::{CredentialHeader, Holder};
use crate::auth::{
    AuthReason, Credential, Lease, SchemeError, ServiceAnswer, ServiceRequest, TokenService, service_url,
};
use crate::target::RequestTarget;

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

fn domain(secret: SecretReader<'_>, ids: &[String], names: &[String]) -> Result<Value, AuthReason> {
    if let Some(id) = secret.optional(ids)? {
        return Ok(json!({ "id": *id }));
    }
    Ok(json!({ "name": *secret.one(names)? }))
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
