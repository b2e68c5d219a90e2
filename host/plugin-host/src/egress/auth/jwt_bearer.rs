//! A token for an assertion that the host signs: RFC 7523.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::Serializer;
use zeroize::Zeroizing;

use super::assertion::{Signer, UnusableKey};
use super::client_credentials::form_headers;
use super::secret;
use crate::egress::failure::AuthReason;
use crate::egress::message::outgoing::Outgoing;
use crate::grants::{AssertionKey, JwtBearerGrant, RequestTarget};
use crate::vault::Vault;

/// The longest that Google takes.
const ASSERTION_LIFE: Duration = Duration::from_secs(3600);

/// Why the Secret gives no assertion. No text quotes the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoAssertion {
    #[error(
        "the service account in the Secret is no JSON with client_email and private_key: put the file in as it was downloaded"
    )]
    NotAServiceAccount,
    #[error("the private key in the Secret cannot sign: {0}")]
    Key(UnusableKey),
}

/// What the Secret and the mark say together.
pub(super) struct Issuer {
    pub(super) target: RequestTarget,
    pub(super) audience: String,
    pub(super) scope: String,
    pub(super) key: IssuersKey,
}

/// As it stands in the Secret.
pub(super) enum IssuersKey {
    ServiceAccount(Zeroizing<String>),
    Pem { private_key: Zeroizing<String>, issuer: String, key_id: Option<String> },
}

/// Of a file as Google gives it. Its `token_uri` does not count: where the assertion goes is for the grants to say.
#[derive(Deserialize)]
struct ServiceAccount {
    client_email: String,
    private_key: String,
    private_key_id: Option<String>,
}

impl Issuer {
    pub(super) fn of(vault: &Vault, grant: &JwtBearerGrant, scopes: &[String]) -> Result<Self, AuthReason> {
        let values = secret::segments(vault, grant.token_url().keys())?;
        let target = grant.token_url().target(&values).map_err(|_| AuthReason::Keys)?;
        let url = || format!("{}://{}{}", target.scheme().name(), target.authority(), target.path());
        let audience = grant.audience.clone().unwrap_or_else(url);
        let key = match grant.key() {
            AssertionKey::ServiceAccount(keys) => IssuersKey::ServiceAccount(secret::one(vault, keys)?),
            AssertionKey::Pem { private_key, issuer, key_id } => IssuersKey::Pem {
                private_key: secret::one(vault, private_key)?,
                issuer: secret::one(vault, issuer)?.to_string(),
                key_id: secret::optional(vault, key_id)?.map(|id| id.to_string()),
            },
        };
        Ok(Self { target, audience, scope: scopes.join(" "), key })
    }

    /// All that makes a difference to the token, beside URL, audience and scope.
    pub(super) fn identity(&self) -> [&[u8]; 3] {
        match &self.key {
            IssuersKey::ServiceAccount(text) => [text.as_bytes(), b"", b""],
            IssuersKey::Pem { private_key, issuer, key_id } => {
                [private_key.as_bytes(), issuer.as_bytes(), key_id.as_deref().unwrap_or_default().as_bytes()]
            }
        }
    }

    /// Signed at `now`; `nonce` makes it one of its kind, which some services ask for.
    pub(super) fn assertion(&self, now: Timestamp, nonce: u128) -> Result<Zeroizing<String>, NoAssertion> {
        let (issued, ends) = (now.as_second(), (now + ASSERTION_LIFE).as_second());
        let (pem, key_id, mut claims) = match &self.key {
            IssuersKey::ServiceAccount(text) => {
                let account: ServiceAccount =
                    serde_json::from_str(text).map_err(|_| NoAssertion::NotAServiceAccount)?;
                let claims = json!({ "iss": account.client_email });
                (Zeroizing::new(account.private_key), account.private_key_id, claims)
            }
            IssuersKey::Pem { private_key, issuer, key_id } => {
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
        let signer = Signer::of_pem(&pem).map_err(NoAssertion::Key)?;
        signer.jwt(key_id.as_deref(), &claims).map_err(NoAssertion::Key)
    }

    pub(super) fn request(&self, assertion: &str) -> Outgoing {
        let body = Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .append_pair("assertion", assertion)
            .finish();
        Outgoing { target: self.target.clone(), headers: form_headers(), body: Bytes::from(body) }
    }
}
