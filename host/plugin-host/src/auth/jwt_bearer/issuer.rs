//! The assertion of an issuer, and the request to the token service.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::Serializer;
use zeroize::Zeroizing;

use crate::auth::credential::{Holder, SecretReader};
use crate::auth::jwt::{Signer, UnusableKey};
use crate::auth::jwt_bearer::{AssertionKeys, JwtBearerGrant};
use crate::auth::oauth::{Scopes, access_token, form_headers};
use crate::auth::{
    AuthReason, Credential, Lease, SchemeError, ServiceAnswer, ServiceRequest, TokenService, service_url,
};
use crate::target::RequestTarget;

/// The longest that Google takes.
const ASSERTION_LIFE: Duration = Duration::from_secs(3600);

/// The reason why the Secret gives no assertion. No text quotes the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum AssertionError {
    #[error(
        "the service account in the Secret is no JSON with client_email and private_key: put the file in as it was downloaded"
    )]
    NotAServiceAccount,
    #[error("the private key in the Secret cannot sign: {0}")]
    Key(UnusableKey),
}

/// An issuer of the Secret that asks for a token.
pub(super) struct Issuer {
    target: RequestTarget,
    audience: String,
    scope: String,
    key: IssuerKey,
}

/// The key as the Secret has it.
enum IssuerKey {
    ServiceAccount(Zeroizing<String>),
    Pem { private_key: Zeroizing<String>, issuer: String, key_id: Option<String> },
}

/// A file as Google gives it. Its `token_uri` does not count: the grants say where the assertion is sent.
#[derive(Deserialize)]
struct ServiceAccount {
    client_email: String,
    private_key: String,
    private_key_id: Option<String>,
}

impl Issuer {
    pub(super) fn of(
        secret: SecretReader<'_>,
        grant: &JwtBearerGrant,
        scopes: &Scopes,
    ) -> Result<Self, AuthReason> {
        let target = grant.token_url.target(secret)?;
        let audience = grant.audience.clone().unwrap_or_else(|| service_url(&target));
        let key = match &grant.keys {
            AssertionKeys::ServiceAccount(keys) => IssuerKey::ServiceAccount(secret.one(keys)?),
            AssertionKeys::Pem { private_key, issuer, key_id } => IssuerKey::Pem {
                private_key: secret.one(private_key)?,
                issuer: secret.one(issuer)?.to_string(),
                key_id: secret.optional(key_id)?.map(|id| id.to_string()),
            },
        };
        Ok(Self { target, audience, scope: scopes.joined(), key })
    }

    /// Key, issuer and key id.
    fn name(&self) -> [&[u8]; 3] {
        match &self.key {
            IssuerKey::ServiceAccount(text) => [text.as_bytes(), b"", b""],
            IssuerKey::Pem { private_key, issuer, key_id } => {
                [private_key.as_bytes(), issuer.as_bytes(), key_id.as_deref().unwrap_or_default().as_bytes()]
            }
        }
    }

    /// Signs an assertion. The nonce makes it unique, as some services demand.
    fn assertion(&self, now: Timestamp, nonce: u128) -> Result<Zeroizing<String>, AssertionError> {
        let (issued, ends) = (now.as_second(), (now + ASSERTION_LIFE).as_second());
        let (pem, key_id, mut claims) = match &self.key {
            IssuerKey::ServiceAccount(text) => {
                let account: ServiceAccount =
                    serde_json::from_str(text).map_err(|_| AssertionError::NotAServiceAccount)?;
                let claims = json!({ "iss": account.client_email });
                (Zeroizing::new(account.private_key), account.private_key_id, claims)
            }
            IssuerKey::Pem { private_key, issuer, key_id } => {
                let claims = json!({ "iss": issuer, "sub": issuer, "jti": format!("{nonce:032x}") });
                (private_key.clone(), key_id.clone(), claims)
            }
        };
        claims["aud"] = json!(self.audience);
        claims["iat"] = json!(issued);
        claims["exp"] = json!(ends);
        if !self.scope.is_empty() {
            claims["scope"] = json!(self.scope);
        }
        let signer = Signer::of_pem(&pem).map_err(AssertionError::Key)?;
        let header = key_id.map_or(json!({}), |id| json!({ "kid": id }));
        signer.jwt(header, &claims).map_err(AssertionError::Key)
    }
}

impl TokenService for Issuer {
    fn target(&self) -> &RequestTarget {
        &self.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        let [key, issuer, key_id] = self.name();
        vec![self.audience.as_bytes(), self.scope.as_bytes(), key, issuer, key_id]
    }

    fn holder(&self) -> Holder {
        let [key, issuer, _] = self.name();
        Holder::of(&[key, issuer])
    }

    fn request(&self, now: Timestamp, nonce: u128) -> Result<ServiceRequest, SchemeError> {
        let assertion = self.assertion(now, nonce).map_err(|error| SchemeError::Unusable {
            message: "no assertion can be made with a Secret",
            error: error.to_string(),
        })?;
        let body = Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .append_pair("assertion", &assertion)
            .finish();
        let hidden = vec![Zeroizing::new(assertion.as_bytes().to_vec())];
        Ok(ServiceRequest { headers: form_headers(), body: Bytes::from(body), hidden })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        access_token(&answer.body, answer.now).map_err(|error| error.to_string())
    }
}
