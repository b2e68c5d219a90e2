//! `oauth2-client-credentials`: a token for a client (RFC 6749, section 4.4), which proves itself by a secret, by an
//! assertion that the host signs, or by a token in a file (RFC 7523, section 2.2).
//!
//! | module | has |
//! | --- | --- |
//! | `proof` | how a client proves itself |
//! | `federation` | the grant of token files |

mod federation;
mod proof;

use bytes::Bytes;
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};
use zeroize::Zeroizing;

use super::credential::{CredentialHeader, Holder};
use super::grant::keys::secret_keys;
use super::scheme::AuthScheme;
use super::{
    AuthReason, Credential, CredentialSource, Lease, SchemeError, ServiceAnswer, ServiceRequest,
    TokenService, service_url,
};
use crate::auth::credential::{SecretReader, text};
use crate::auth::grant::{not, unless};
use crate::auth::oauth::{GrantedScopes, Scopes, TokenUrl, access_token, form_headers};
use crate::target::Error;
use crate::target::{Regions, RequestTarget};
use federation::{FederationGrant, RawFederation};
use proof::Proof;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawClientCredentials {
    token_url: String,
    scopes: Option<Vec<String>>,
    client_auth: Option<String>,
    federation: Option<RawFederation>,
    #[serde(default)]
    keys: RawClientKeys,
}

secret_keys! {
    ClientKeys, RawClientKeys {
        client_id: "client-id" = ["clientID", "clientId"],
        client_secret: "client-secret" = ["clientSecret"],
        client_certificate: "client-certificate" = ["clientCertificate"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCredentialsGrant {
    token_url: TokenUrl,
    scopes: GrantedScopes,
    client_auth: ClientAuth,
    /// For Secrets that name a token file.
    federation: Option<FederationGrant>,
    keys: ClientKeys,
}

/// How a client shows its secret to the token service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientAuth {
    /// In the header `authorization`.
    Basic,
    Form,
}

impl ClientAuth {
    const ALL: [Self; 2] = [Self::Basic, Self::Form];

    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Form => "form",
        }
    }
}

impl AuthScheme for ClientCredentialsGrant {
    const NAME: &'static str = "oauth2-client-credentials";
    type Raw = RawClientCredentials;
    type Parameters = Scopes;

    fn parse(raw: RawClientCredentials, _: &Regions, at: &str) -> Result<Self, Error> {
        let client_auth = match raw.client_auth {
            None => ClientAuth::Basic,
            Some(name) => ClientAuth::ALL.into_iter().find(|way| way.name() == name).ok_or_else(|| {
                let known = ClientAuth::ALL.map(ClientAuth::name).join(", ");
                Error::invalid(format!("{at}.client-auth"), format!("{name:?} is none of {known}"))
            })?,
        };
        Ok(Self {
            token_url: TokenUrl::of_field(&raw.token_url, at, "token-url")?,
            scopes: GrantedScopes::parse(raw.scopes, at)?,
            client_auth,
            federation: raw
                .federation
                .map(|raw| FederationGrant::parse(raw, &format!("{at}.federation")))
                .transpose()?,
            keys: ClientKeys::parse(raw.keys, at)?,
        })
    }

    fn used_keys(&self) -> Vec<&String> {
        let file = self.federation.iter().map(FederationGrant::used_key);
        self.keys.used().into_iter().chain(self.token_url.keys()).chain(file).collect()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        unless(self.token_url == ceiling.token_url, || not(&self.token_url))
            .or_else(|| unless(self.client_auth == ceiling.client_auth, || not(self.client_auth.name())))
            .or_else(|| self.scopes.beyond(&ceiling.scopes))
            .or_else(|| match (&self.federation, &ceiling.federation) {
                (None, _) => None,
                (Some(_), None) => Some("without federation".to_owned()),
                (Some(own), Some(wide)) => own.beyond(wide),
            })
            .or_else(|| self.keys.beyond(&ceiling.keys))
    }

    fn summary(&self) -> String {
        let files = self.federation.as_ref().map(FederationGrant::summary).unwrap_or_default();
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
        let target = self.token_url.target(secret)?;
        let id = secret.one(&self.keys.client_id)?;
        let scope = scopes.joined();
        let key = self.federation.as_ref().map(|granted| granted.used_key().as_str());
        let key = key.unwrap_or(FederationGrant::TOKEN_FILE_KEY);
        if let Some((_, path)) = secret.named(&[key.to_owned()]) {
            let granted = self.federation.as_ref().ok_or(AuthReason::WebIdentity)?;
            let path = text(&path).ok_or(AuthReason::Keys)?.to_string();
            granted.check(&id)?;
            let service = move |token| -> Box<dyn TokenService> {
                Box::new(TokenClient { target, id, proof: Proof::Token(token), scope })
            };
            return Ok(CredentialSource::File(granted.exchange(path, Box::new(service))));
        }
        let proof = match secret.optional(&self.keys.client_certificate)? {
            Some(pem) => Proof::Certificate(pem),
            None => Proof::Secret(secret.one(&self.keys.client_secret)?, self.client_auth),
        };
        Ok(CredentialSource::Service(Box::new(TokenClient { target, id, proof, scope })))
    }
}

/// A client of the Secret that asks for a token.
struct TokenClient {
    target: RequestTarget,
    id: Zeroizing<String>,
    proof: Proof,
    scope: String,
}

impl TokenService for TokenClient {
    fn target(&self) -> &RequestTarget {
        &self.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        vec![self.id.as_bytes(), self.proof.value().as_bytes(), self.scope.as_bytes()]
    }

    fn holder(&self) -> Holder {
        // The token of a file is another one each hour.
        let proof = if let Proof::Token(_) = self.proof { "" } else { self.proof.value() };
        Holder::of(&[service_url(&self.target).as_bytes(), self.id.as_bytes(), proof.as_bytes()])
    }

    fn request(&self, now: Timestamp, nonce: u128) -> Result<ServiceRequest, SchemeError> {
        let mut headers = form_headers();
        let mut hidden = Vec::new();
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !self.scope.is_empty() {
            form.append_pair("scope", &self.scope);
        }
        let assertion = match &self.proof {
            Proof::Secret(secret, ClientAuth::Form) => {
                form.append_pair("client_id", &self.id).append_pair("client_secret", secret);
                None
            }
            // Section 2.3.1: both are form-encoded first.
            Proof::Secret(secret, ClientAuth::Basic) => {
                let encoded =
                    |text: &str| Zeroizing::new(byte_serialize(text.as_bytes()).collect::<String>());
                let header =
                    CredentialHeader::basic(&encoded(&self.id), &encoded(secret)).ok_or(AuthReason::Keys)?;
                header.apply(&mut headers);
                hidden.push(Zeroizing::new(header.hidden().to_vec()));
                None
            }
            Proof::Certificate(pem) => {
                Some(proof::assertion(pem, &self.id, &service_url(&self.target), now, nonce)?)
            }
            Proof::Token(token) => Some(token.clone()),
        };
        if let Some(assertion) = assertion {
            form.append_pair("client_id", &self.id)
                .append_pair(
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                )
                .append_pair("client_assertion", &assertion);
            hidden.push(Zeroizing::new(assertion.as_bytes().to_vec()));
        }
        Ok(ServiceRequest { headers, body: Bytes::from(form.finish()), hidden })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        access_token(&answer.body, answer.now).map_err(|error| error.to_string())
    }
}
