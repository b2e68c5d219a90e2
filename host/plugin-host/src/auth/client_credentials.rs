//! `oauth2-client-credentials`: a token for a client's id and secret (RFC 6749, section 4.4).

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
use crate::auth::credential::SecretReader;
use crate::auth::grant::{not, unless};
use crate::auth::oauth::{GrantedScopes, Scopes, TokenUrl, access_token, form_headers};
use crate::target::Error;
use crate::target::{Regions, RequestTarget};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawClientCredentials {
    token_url: String,
    scopes: Option<Vec<String>>,
    client_auth: Option<String>,
    #[serde(default)]
    keys: RawClientKeys,
}

secret_keys! {
    ClientKeys, RawClientKeys {
        client_id: "client-id" = ["clientID", "clientId"],
        client_secret: "client-secret" = ["clientSecret"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCredentialsGrant {
    token_url: TokenUrl,
    scopes: GrantedScopes,
    client_auth: ClientAuth,
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
            keys: ClientKeys::parse(raw.keys, at)?,
        })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used().into_iter().chain(self.token_url.keys()).collect()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        unless(self.token_url == ceiling.token_url, || not(&self.token_url))
            .or_else(|| unless(self.client_auth == ceiling.client_auth, || not(self.client_auth.name())))
            .or_else(|| self.scopes.beyond(&ceiling.scopes))
            .or_else(|| self.keys.beyond(&ceiling.keys))
    }

    fn summary(&self) -> String {
        format!("by {}; {}", self.token_url, self.scopes.summary())
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
        Ok(CredentialSource::Service(Box::new(TokenClient {
            target: self.token_url.target(secret)?,
            id: secret.one(&self.keys.client_id)?,
            secret: secret.one(&self.keys.client_secret)?,
            scope: scopes.joined(),
            auth: self.client_auth,
        })))
    }
}

/// A client of the Secret that asks for a token.
struct TokenClient {
    target: RequestTarget,
    id: Zeroizing<String>,
    secret: Zeroizing<String>,
    scope: String,
    auth: ClientAuth,
}

impl TokenService for TokenClient {
    fn target(&self) -> &RequestTarget {
        &self.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        vec![self.id.as_bytes(), self.secret.as_bytes(), self.scope.as_bytes()]
    }

    fn holder(&self) -> Holder {
        Holder::of(&[service_url(&self.target).as_bytes(), self.id.as_bytes(), self.secret.as_bytes()])
    }

    fn request(&self, _: Timestamp, _: u128) -> Result<ServiceRequest, SchemeError> {
        let mut headers = form_headers();
        let mut hidden = Vec::new();
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
                let header = CredentialHeader::basic(&encoded(&self.id), &encoded(&self.secret))
                    .ok_or(AuthReason::Keys)?;
                header.apply(&mut headers);
                hidden.push(Zeroizing::new(header.hidden().to_vec()));
            }
        }
        Ok(ServiceRequest { headers, body: Bytes::from(form.finish()), hidden })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        access_token(&answer.body, answer.now).map_err(|error| error.to_string())
    }
}
