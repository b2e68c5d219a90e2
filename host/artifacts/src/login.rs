//! A login at a registry. Its secret is never printed.

use std::fmt;

/// A login at a registry.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) user: String,
    pub(crate) proof: LoginProof,
}

/// The secret of a login.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum LoginProof {
    Password(String),
    /// A token that the registry's token service exchanges for others, as cloud registries hand out.
    IdentityToken(String),
}

impl Credentials {
    /// A user with a password.
    pub(crate) fn password(user: String, password: String) -> Self {
        Self { user, proof: LoginProof::Password(password) }
    }

    /// A token to be exchanged.
    pub(crate) fn identity_token(token: String) -> Self {
        Self { user: "<token>".to_owned(), proof: LoginProof::IdentityToken(token) }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.user)
    }
}
