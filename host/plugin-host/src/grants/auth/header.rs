//! What is granted for credentials that travel in a header as they are.

use http::HeaderName;

/// A value of the Secret in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BearerGrant {
    pub(crate) token_keys: Vec<String>,
    pub(crate) header: HeaderName,
    pub(crate) prefix: String,
}

impl BearerGrant {
    /// The keys of the Secret, of which the first that is present counts.
    pub fn token_keys(&self) -> &[String] {
        &self.token_keys
    }

    /// In which header.
    pub fn header(&self) -> &HeaderName {
        &self.header
    }

    /// What stands in front of the value.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn used_keys(&self) -> Vec<&String> {
        self.token_keys.iter().collect()
    }
}

/// Name and password in the header `authorization`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicGrant {
    pub(crate) username_keys: Vec<String>,
    pub(crate) password_keys: Vec<String>,
}

impl BasicGrant {
    /// The keys of the Secret for the name, of which the first that is present counts.
    pub fn username_keys(&self) -> &[String] {
        &self.username_keys
    }

    /// The keys of the Secret for the password.
    pub fn password_keys(&self) -> &[String] {
        &self.password_keys
    }

    pub(super) fn used_keys(&self) -> Vec<&String> {
        self.username_keys.iter().chain(&self.password_keys).collect()
    }
}
