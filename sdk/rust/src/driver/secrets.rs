//! Secrets as handles.

use std::fmt;

use super::{Code, Failure};
use crate::bindings::provider::machinist::host::secrets as contract;

pub use contract::{Encoding, Refusal as SecretRefusal};

/// The key of the user data in grants.
pub const USER_DATA_KEY: &str = "userData";

/// Keeps the value of a secret.
pub(crate) trait Handle {
    fn length(&self) -> u64;
    fn starts_with(&self, prefix: &[u8]) -> bool;
    fn placeholder(&self, encodings: &[Encoding]) -> Result<String, SecretRefusal>;
    fn reveal(&self) -> Result<Vec<u8>, SecretRefusal>;
}

/// A secret as a handle. Its value stays in the host.
pub struct Secret {
    key: String,
    handle: Box<dyn Handle>,
}

impl Secret {
    pub(crate) fn new(key: &str, handle: impl Handle + 'static) -> Self {
        Self { key: key.to_owned(), handle: Box::new(handle) }
    }

    /// Returns the length of the value in bytes, before any encoding.
    pub fn length(&self) -> u64 {
        self.handle.length()
    }

    /// True if user data starts with this prefix (at most 64 bytes are compared). Always false for a credential.
    pub fn starts_with(&self, prefix: &[u8]) -> bool {
        self.handle.starts_with(prefix)
    }

    /// Returns a token that represents the value in requests of this call, encoded in the order of the list.
    ///
    /// # Errors
    /// If the grants do not allow it, or the encodings do not fit.
    pub fn placeholder(&self, encodings: &[Encoding]) -> Result<String, SecretRefused> {
        self.handle.placeholder(encodings).map_err(|refusal| self.refused(refusal))
    }

    /// Returns the value, if the operator granted that.
    ///
    /// # Errors
    /// If the operator did not.
    pub fn reveal(&self) -> Result<Vec<u8>, SecretRefused> {
        self.handle.reveal().map_err(|refusal| self.refused(refusal))
    }

    fn refused(&self, refusal: SecretRefusal) -> SecretRefused {
        SecretRefused { key: self.key.clone(), refusal }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Secret({})", self.key)
    }
}

/// The secrets of the running call.
pub trait Secrets {
    /// Returns the keys of the Secret, sorted, without user data.
    fn keys(&self) -> Vec<String>;

    /// Returns a secret. `None` if there is no such key.
    fn open(&self, key: &str) -> Option<Secret>;

    /// Returns the machine's data at boot. Present in `create` and `initialize` only.
    fn user_data(&self) -> Option<Secret>;

    /// Returns the secret of a required key; `what` describes its value in the message.
    ///
    /// # Errors
    /// `Unauthenticated` if there is no such key.
    fn needed(&self, key: &str, what: &str) -> Result<Secret, Failure> {
        self.open(key).ok_or_else(|| {
            let message = format!("the MachineClass's Secret has no key {key}: add {what}");
            Failure::new(Code::Unauthenticated, message).terminal()
        })
    }
}

/// A refusal of the host to return a placeholder, or the value.
#[derive(Clone, Debug)]
pub struct SecretRefused {
    /// The key of the secret.
    pub key: String,
    /// The reason.
    pub refusal: SecretRefusal,
}

impl std::error::Error for SecretRefused {}

impl fmt::Display for SecretRefused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match self.refusal {
            SecretRefusal::NotGranted => write!(
                to,
                "the secret {key} is not granted: add {{ key: {key}, places: [the header, JSON pointer or form field where it \
                 travels] }} to secrets in the plugin's grants"
            ),
            SecretRefusal::Encodings => {
                write!(to, "the secret {key} cannot be encoded: it is too large, or the encodings do not fit")
            }
            SecretRefusal::TooMany => write!(to, "the secret {key} has too many placeholders in one call"),
        }
    }
}

impl From<SecretRefused> for Failure {
    fn from(refused: SecretRefused) -> Self {
        Self::new(Code::FailedPrecondition, refused.to_string())
    }
}
