//! Signs requests for components that never see a key.
//!
//! A component marks a request (`machinist-auth: aws-sigv4; service=ec2; region=eu-west-1`). The mark is taken off, the grants
//! say whether and with what such a request is signed, the keys come from the call's Secret or from a credential
//! service, and the signature is made over exactly what is sent, when it is sent.
//!
//! | step | where |
//! | --- | --- |
//! | read the mark, find the grant | `mark` |
//! | what the Secret offers | `source` |
//! | read a mounted token | `token_file` |
//! | exchange it for keys | `sts`, `fetch` |
//! | keep and renew them | `cache` |
//! | sign | [`sigv4`] |
//!
//! **Invariant:** keys, tokens and signatures are in no log, and scrubbed from all that goes to the component.
//!
//! **Invariant:** there is no ambient chain: no environment, no metadata service, no file that the grants do not name.

mod cache;
mod fetch;
mod mark;
pub mod sigv4;
mod source;
mod sts;
mod token_file;

use std::path::PathBuf;
use std::sync::Arc;

use machinist_core::id::PluginName;
use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::synthetic::Synthetic;
use super::throttle::Who;
use cache::{Cache, Shared};
use sigv4::Keys;
use sts::SessionKeys;

pub(super) use mark::{MARK, Mark};

/// Keys of sessions, for the whole process.
#[derive(Default)]
pub(super) struct Auth {
    sessions: Cache<Question, Arc<NoKeys>>,
}

/// What keys are asked with. A plugin's sessions are its own, as are its connections.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    plugin: PluginName,
    role_arn: String,
    sts: String,
    token_file: PathBuf,
    token_digest: [u8; 32],
}

impl Question {
    fn digest(token: &str) -> [u8; 32] {
        Sha256::digest(token.as_bytes()).into()
    }
}

/// Keys that were found for a request.
pub(super) enum Found {
    /// Of the Secret.
    Static(Keys),
    /// Of a session.
    Session { role_arn: String, keys: Arc<SessionKeys>, kept: KeptKeys },
}

impl Found {
    /// What to sign with.
    pub(super) fn keys(&self) -> &Keys {
        match self {
            Self::Static(keys) => keys,
            Self::Session { keys, .. } => &keys.keys,
        }
    }

    /// Whose requests the cloud counts together.
    pub(super) fn who(&self, mark: &Mark) -> Who {
        let id = match self {
            Self::Static(keys) => keys.access_key_id(),
            Self::Session { role_arn, .. } => role_arn,
        };
        Who::Signer(mark.scheme, id.to_owned())
    }

    /// Whom to tell that the cloud does not take the keys any more.
    pub(super) fn kept(&self) -> Option<KeptKeys> {
        match self {
            Self::Static(_) => None,
            Self::Session { kept, .. } => Some(kept.clone()),
        }
    }
}

/// Names keys in the cache.
#[derive(Clone)]
pub(super) struct KeptKeys {
    question: Question,
    access_key_id: String,
}

impl KeptKeys {
    /// The next request asks for others.
    pub(super) fn forget(&self, auth: &Auth) {
        auth.sessions.forget(&self.question, &self.access_key_id);
    }
}

/// Why a request has no keys.
#[derive(Debug)]
pub(super) enum NoKeys {
    /// The component gets this answer.
    Answer(Synthetic),
    /// The credential service is asked too often already; the component gets this answer.
    Held(Synthetic),
    /// The component gets this error.
    Failure(Failure),
}

impl From<Failure> for NoKeys {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Shared for Arc<NoKeys> {
    fn is_shared(&self) -> bool {
        match **self {
            NoKeys::Answer(_) => true,
            NoKeys::Failure(ref failure) => !matches!(failure, Failure::ResponseTimeout),
            NoKeys::Held(_) => false,
        }
    }
}
