//! The credentials of marked requests: in the Secret, in the cache, or at a token service.
//!
//! The schemes of [`crate::auth`] say where a credential comes from, and read the answer of a token service. This
//! module asks the service, once for all calls that wait for its answer, and keeps credentials until they end or the
//! cloud refuses them.
//!
//! | module | does |
//! | --- | --- |
//! | `find` | finds the credential of a request |
//! | `fetch` | asks a token service |
//! | `cache` | keeps and renews credentials |

mod cache;
mod fetch;
mod find;

use std::sync::Arc;

use machinist_core::value::id::PluginName;

use super::failure::{Failure, Reason};
use super::message::synthetic::Synthetic;
use crate::auth::{AuthReason, Credential, SecretTls, TokenService, digest, service_url};
use cache::{Cache, Shared};

pub(super) use find::{CachedCredential, FoundCredential};

/// The credentials that token services gave, for the whole process.
#[derive(Default)]
pub(super) struct CredentialCache(Cache<CredentialKey, Credential, Arc<CredentialError>>);

/// Names a credential in the cache. Plugins share none, as they share no connection.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CredentialKey {
    plugin: PluginName,
    scheme: &'static str,
    digest: [u8; 32],
}

impl CredentialKey {
    fn new(
        plugin: &PluginName,
        scheme: &'static str,
        service: &dyn TokenService,
        tls: Option<&SecretTls>,
    ) -> Self {
        let url = service_url(service.target());
        let trust = tls.map(SecretTls::digest).unwrap_or_default();
        let whole: [&[u8]; 2] = [url.as_bytes(), &trust];
        let parts: Vec<&[u8]> = whole.into_iter().chain(service.identity()).collect();
        Self { plugin: plugin.clone(), scheme, digest: digest(&parts) }
    }
}

/// The reason why a marked request is not sent.
#[derive(Debug)]
pub(super) enum CredentialError {
    Answer(Synthetic),
    /// An account sends as many requests as it may; the component gets this answer.
    Throttled(Synthetic),
    /// The component gets this error.
    Failure(Failure),
}

impl CredentialError {
    /// The same for another call that waited.
    fn again(&self) -> Self {
        match self {
            Self::Answer(answer) => Self::Answer(answer.clone()),
            Self::Throttled(answer) => Self::Throttled(answer.clone()),
            Self::Failure(failure) => Self::Failure(failure.again()),
        }
    }
}

impl From<Failure> for CredentialError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<AuthReason> for CredentialError {
    fn from(reason: AuthReason) -> Self {
        Failure::Refused(Reason::Auth(reason)).into()
    }
}

impl Shared for Arc<CredentialError> {
    fn is_shared(&self) -> bool {
        match **self {
            CredentialError::Answer(_) => true,
            CredentialError::Failure(ref failure) => !matches!(failure, Failure::ResponseTimeout),
            CredentialError::Throttled(_) => false,
        }
    }
}
