//! A token for a client's name and secret: RFC 6749, section 4.4.

use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use url::form_urlencoded::{Serializer, byte_serialize};
use zeroize::Zeroizing;

use super::credential::CredentialHeader;
use super::secret;
use crate::egress::failure::AuthReason;
use crate::egress::message::outgoing::Outgoing;
use crate::grants::{ClientAuth, ClientCredentialsGrant, RequestTarget};
use crate::vault::Vault;

/// What the Secret and the mark say together.
pub(super) struct Client {
    pub(super) id: Zeroizing<String>,
    pub(super) secret: Zeroizing<String>,
    pub(super) target: RequestTarget,
    pub(super) scope: String,
    auth: ClientAuth,
}

impl Client {
    pub(super) fn of(
        vault: &Vault,
        grant: &ClientCredentialsGrant,
        scopes: &[String],
    ) -> Result<Self, AuthReason> {
        let values = secret::segments(vault, grant.token_url().keys())?;
        Ok(Self {
            id: secret::one(vault, &grant.client_id_keys)?,
            secret: secret::one(vault, &grant.client_secret_keys)?,
            target: grant.token_url().target(&values).map_err(|_| AuthReason::Keys)?,
            scope: scopes.join(" "),
            auth: grant.client_auth(),
        })
    }

    /// `None` when id or secret do not fit into the header.
    pub(super) fn request(&self) -> Option<Outgoing> {
        let mut headers = form_headers();
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !self.scope.is_empty() {
            form.append_pair("scope", &self.scope);
        }
        match self.auth {
            ClientAuth::Form => {
                form.append_pair("client_id", &self.id).append_pair("client_secret", &self.secret);
            }
            // Section 2.3.1: both are form-encoded first.
            ClientAuth::Basic => {
                let encoded =
                    |text: &str| Zeroizing::new(byte_serialize(text.as_bytes()).collect::<String>());
                CredentialHeader::basic(&encoded(&self.id), &encoded(&self.secret))?.apply(&mut headers);
            }
        }
        Some(Outgoing { target: self.target.clone(), headers, body: Bytes::from(form.finish()) })
    }
}

/// Of a form to a token service.
pub(super) fn form_headers() -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")),
        (ACCEPT, HeaderValue::from_static("application/json")),
    ])
}
