//! What is granted for tokens that a service gives.

use std::fmt;

use http::Method;

use super::pattern::NamePattern;
use crate::grants::target::{RequestTarget, TargetError};

/// A token for a client's name and secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCredentialsGrant {
    pub(crate) token_url: TokenUrl,
    pub(crate) scopes: Vec<NamePattern>,
    pub(crate) client_auth: ClientAuth,
    pub(crate) client_id_keys: Vec<String>,
    pub(crate) client_secret_keys: Vec<String>,
}

impl ClientCredentialsGrant {
    /// Who gives the token.
    pub fn token_url(&self) -> &TokenUrl {
        &self.token_url
    }

    /// Which scopes a mark may name; empty means none.
    pub fn scopes(&self) -> &[NamePattern] {
        &self.scopes
    }

    /// How the client shows its secret.
    pub fn client_auth(&self) -> ClientAuth {
        self.client_auth
    }

    pub(super) fn used_keys(&self) -> Vec<&String> {
        self.client_id_keys.iter().chain(&self.client_secret_keys).chain(&self.token_url.keys).collect()
    }
}

/// How a client shows its secret to the token service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// In the header `authorization`.
    Basic,
    /// In the form.
    Form,
}

impl ClientAuth {
    pub(crate) const ALL: [Self; 2] = [Self::Basic, Self::Form];

    /// As grants write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Form => "form",
        }
    }
}

/// A token for an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtBearerGrant {
    pub(crate) token_url: TokenUrl,
    /// `None`: the URL of the token service.
    pub(crate) audience: Option<String>,
    pub(crate) scopes: Vec<NamePattern>,
    pub(crate) key: AssertionKey,
}

impl JwtBearerGrant {
    /// Who gives the token.
    pub fn token_url(&self) -> &TokenUrl {
        &self.token_url
    }

    /// Which scopes a mark may name; empty means none.
    pub fn scopes(&self) -> &[NamePattern] {
        &self.scopes
    }

    /// Where the key stands that signs the assertion.
    pub fn key(&self) -> &AssertionKey {
        &self.key
    }

    pub(super) fn used_keys(&self) -> Vec<&String> {
        let key: Vec<&String> = match &self.key {
            AssertionKey::ServiceAccount(keys) => keys.iter().collect(),
            AssertionKey::Pem { private_key, issuer, key_id } => {
                private_key.iter().chain(issuer).chain(key_id).collect()
            }
        };
        key.into_iter().chain(&self.token_url.keys).collect()
    }
}

/// Where the key stands that signs an assertion. Of a list of keys of the Secret the first that is present counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssertionKey {
    /// A JSON document with `client_email`, `private_key` and `private_key_id`, as Google gives it.
    ServiceAccount(Vec<String>),
    /// A key in PEM, and beside it who issues.
    Pem {
        /// The key.
        private_key: Vec<String>,
        /// `iss` and `sub` of the assertion.
        issuer: Vec<String>,
        /// `kid` of the assertion; may be absent in the Secret.
        key_id: Vec<String>,
    },
}

/// A token of OpenStack's identity service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeystoneGrant {
    /// `None`: as the Secret says.
    pub(crate) url: Option<TokenUrl>,
    pub(crate) keys: KeystoneKeys,
}

impl KeystoneGrant {
    /// Who gives the token; `None` leaves it to the Secret.
    pub fn url(&self) -> Option<&TokenUrl> {
        self.url.as_ref()
    }

    /// Where credentials and project stand in the Secret.
    pub fn keys(&self) -> &KeystoneKeys {
        &self.keys
    }

    pub(super) fn used_keys(&self) -> Vec<&String> {
        let url = self.url.iter().flat_map(|url| &url.keys);
        self.keys.all().into_iter().flat_map(|(_, names)| names).chain(url).collect()
    }
}

/// Keys of the Secret, each a list of which the first that is present counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeystoneKeys {
    pub auth_url: Vec<String>,
    pub username: Vec<String>,
    pub password: Vec<String>,
    pub user_domain_id: Vec<String>,
    pub user_domain_name: Vec<String>,
    pub project_id: Vec<String>,
    pub project_name: Vec<String>,
    pub project_domain_id: Vec<String>,
    pub project_domain_name: Vec<String>,
    pub application_credential_id: Vec<String>,
    pub application_credential_name: Vec<String>,
    pub application_credential_secret: Vec<String>,
}

impl KeystoneKeys {
    /// All lists by their names.
    pub(crate) fn all(&self) -> [(&'static str, &Vec<String>); 12] {
        [
            ("auth-url", &self.auth_url),
            ("username", &self.username),
            ("password", &self.password),
            ("user-domain-id", &self.user_domain_id),
            ("user-domain-name", &self.user_domain_name),
            ("project-id", &self.project_id),
            ("project-name", &self.project_name),
            ("project-domain-id", &self.project_domain_id),
            ("project-domain-name", &self.project_domain_name),
            ("application-credential-id", &self.application_credential_id),
            ("application-credential-name", &self.application_credential_name),
            ("application-credential-secret", &self.application_credential_secret),
        ]
    }
}

/// The URL of a token service. `{KEY}` in its path stands for the value of that key of the Secret, such as a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenUrl {
    text: String,
    keys: Vec<String>,
}

impl TokenUrl {
    /// `Err` says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path_at = text.match_indices('/').nth(2).map_or(text.len(), |(at, _)| at);
        let mut keys = Vec::new();
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once('{') {
            let (key, behind) = behind.split_once('}').ok_or_else(|| format!("{text:?} has no }}"))?;
            keys.push(key.to_owned());
            rest = behind;
        }
        let sample = keys.iter().fold(text.to_owned(), |url, key| url.replace(&format!("{{{key}}}"), "x"));
        let is_odd = sample.contains(['{', '}', '#', '?'])
            || text.get(..path_at).unwrap_or_default().contains('{')
            || keys.iter().any(String::is_empty);
        if is_odd {
            return Err(format!(
                "{text:?} is no URL of a service: only {{KEY}} in the path, for a key of the Secret, and no query"
            ));
        }
        RequestTarget::parse(&Method::POST, &sample)
            .map_err(|error| format!("{text:?} is no URL: {error}"))?;
        Ok(Self { text: text.to_owned(), keys })
    }

    /// The keys of the Secret whose values stand in it.
    pub(crate) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The request's target with these values, in the order of the keys. They must be plain segments.
    pub(crate) fn target(&self, values: &[String]) -> Result<RequestTarget, TargetError> {
        let keyed = self.keys.iter().zip(values);
        let url =
            keyed.fold(self.text.clone(), |url, (key, value)| url.replace(&format!("{{{key}}}"), value));
        RequestTarget::parse(&Method::POST, &url)
    }
}

impl fmt::Display for TokenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
