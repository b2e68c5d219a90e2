//! A token of OpenStack's identity service, version 3.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::credential::{Credential, CredentialHeader};
use super::lease::Lease;
use super::secret::{one, optional, present, segments};
use crate::egress::failure::AuthReason;
use crate::egress::message::outgoing::Outgoing;
use crate::grants::{KeystoneGrant, KeystoneKeys, RequestTarget};
use crate::vault::Vault;

/// Carries the token to the cloud.
pub(super) const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
/// Carries the token from the identity service.
const X_SUBJECT_TOKEN: HeaderName = HeaderName::from_static("x-subject-token");

/// Why an answer that says "success" gives no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("its answer has no usable header x-subject-token")]
    NoToken,
    #[error("its answer is no JSON with token.expires_at")]
    NoEnd,
    #[error("its token ended at {at}, and the host's clock says {now}: one of both clocks is wrong")]
    Expired { at: Timestamp, now: Timestamp },
}

/// What the Secret says.
pub(super) struct Login {
    pub(super) target: RequestTarget,
    pub(super) body: Zeroizing<String>,
}

impl Login {
    /// With the application credential where the Secret has its secret, else with name and password.
    pub(super) fn of(vault: &Vault, grant: &KeystoneGrant) -> Result<Self, AuthReason> {
        let keys = grant.keys();
        let target = tokens_target(vault, grant)?;
        let (identity, scope) = match present(vault, &keys.application_credential_secret) {
            Some(_) => (application_credential(vault, keys)?, None),
            None => password(vault, keys)?,
        };
        let mut auth = json!({ "identity": identity });
        if let Some(scope) = scope {
            auth["scope"] = scope;
        }
        Ok(Self { target, body: Zeroizing::new(json!({ "auth": auth }).to_string()) })
    }

    pub(super) fn request(&self) -> Outgoing {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        let body = Bytes::copy_from_slice(self.body.as_bytes());
        Outgoing { target: self.target.clone(), headers, body }
    }
}

/// `…/v3/auth/tokens`, without the catalogue: a driver asks for that itself.
fn tokens_target(vault: &Vault, grant: &KeystoneGrant) -> Result<RequestTarget, AuthReason> {
    let base = match grant.url() {
        Some(url) => url.target(&segments(vault, url.keys())?),
        None => RequestTarget::parse(&Method::POST, &one(vault, &grant.keys().auth_url)?),
    };
    let base = base.map_err(|_| AuthReason::Keys)?;
    let path = base.path().trim_end_matches('/');
    let version = if path.ends_with("/v3") { "" } else { "/v3" };
    let (scheme, authority) = (base.scheme().name(), base.authority());
    let url = format!("{scheme}://{authority}{path}{version}/auth/tokens?nocatalog");
    RequestTarget::parse(&Method::POST, &url).map_err(|_| AuthReason::Keys)
}

fn application_credential(vault: &Vault, keys: &KeystoneKeys) -> Result<Value, AuthReason> {
    let secret = one(vault, &keys.application_credential_secret)?;
    let mut credential = match optional(vault, &keys.application_credential_id)? {
        Some(id) => json!({ "id": *id }),
        // A name is a name of its user's only.
        None => {
            let name = one(vault, &keys.application_credential_name)?;
            json!({ "name": *name, "user": user(vault, keys)? })
        }
    };
    credential["secret"] = json!(*secret);
    Ok(json!({ "methods": ["application_credential"], "application_credential": credential }))
}

fn password(vault: &Vault, keys: &KeystoneKeys) -> Result<(Value, Option<Value>), AuthReason> {
    let mut user = user(vault, keys)?;
    user["password"] = json!(*one(vault, &keys.password)?);
    let identity = json!({ "methods": ["password"], "password": { "user": user } });
    let project = match optional(vault, &keys.project_id)? {
        Some(id) => json!({ "id": *id }),
        None => {
            let name = one(vault, &keys.project_name)?;
            let domain = domain(vault, &keys.project_domain_id, &keys.project_domain_name)?;
            json!({ "name": *name, "domain": domain })
        }
    };
    Ok((identity, Some(json!({ "project": project }))))
}

fn user(vault: &Vault, keys: &KeystoneKeys) -> Result<Value, AuthReason> {
    let name = one(vault, &keys.username)?;
    let domain = domain(vault, &keys.user_domain_id, &keys.user_domain_name)?;
    Ok(json!({ "name": *name, "domain": domain }))
}

fn domain(vault: &Vault, ids: &[String], names: &[String]) -> Result<Value, AuthReason> {
    if let Some(id) = optional(vault, ids)? {
        return Ok(json!({ "id": *id }));
    }
    Ok(json!({ "name": *one(vault, names)? }))
}

#[derive(Deserialize)]
struct Answer {
    token: Described,
}

#[derive(Deserialize)]
struct Described {
    expires_at: Timestamp,
}

/// The token in an answer.
pub(super) fn subject_token(
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<Lease<Credential>, Unusable> {
    let mut tokens = headers.get_all(X_SUBJECT_TOKEN).iter();
    let (Some(token), None) = (tokens.next(), tokens.next()) else { return Err(Unusable::NoToken) };
    let token = token.to_str().map_err(|_| Unusable::NoToken)?;
    let header = CredentialHeader::new(X_AUTH_TOKEN, "", token).ok_or(Unusable::NoToken)?;
    let answer: Answer = serde_json::from_slice(body).map_err(|_| Unusable::NoEnd)?;
    let at = answer.token.expires_at;
    Lease::until(Credential::Header(header), at, now).ok_or(Unusable::Expired { at, now })
}
