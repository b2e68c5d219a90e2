//! Authenticates requests for components that never see a key.
//!
//! A component marks a request (`machinist-auth: aws-sigv4; service=ec2; region=eu-west-1`). The host removes the mark.
//! The grants say whether and how such a request is authenticated; keys and tokens come from the call's Secret or from
//! a credential service; the signature covers exactly the bytes that are sent. A service is asked once, however many
//! calls wait for its answer. A credential that the cloud refuses is forgotten.
//!
//! | step | module |
//! | --- | --- |
//! | read the mark, find the grant | `mark` |
//! | find the credential: in the Secret, in the cache, or at a service | `find` |
//! | read the Secret | `secret`, `source` |
//! | read a mounted token | `token_file` |
//! | the request of each scheme, and the checks of its answer | `sts`, `client_credentials`, `jwt_bearer`, `keystone` |
//! | shared by these schemes | `access_token`, `assertion` |
//! | ask a credential service | `fetch` |
//! | keep and renew credentials | `cache`, `lease` |
//! | sign, or set a header | [`sigv4`], `credential` |
//!
//! **Invariant:** keys, tokens and signatures are in no log, and are scrubbed from all that a component gets.
//!
//! **Invariant:** there is no ambient chain: no environment, no metadata service, no file that the grants do not name.

mod access_token;
mod assertion;
mod cache;
mod client_credentials;
mod credential;
mod fetch;
mod find;
mod jwt_bearer;
mod keystone;
mod lease;
mod mark;
mod secret;
pub mod sigv4;
mod source;
mod sts;
mod token_file;

use std::sync::Arc;

use http::HeaderMap;
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::message::synthetic::Synthetic;
use crate::grants::AuthScheme;
use cache::{Cache, Shared};

pub(super) use credential::{Credential, Found, Kept};
pub(super) use mark::{MARK, Mark};

/// What credential services gave, for the whole process.
#[derive(Default)]
pub(super) struct Auth {
    kept: Cache<Question, Credential, Arc<NoKeys>>,
}

/// What a credential is asked with. What a plugin got is its own, as are its connections.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    plugin: PluginName,
    scheme: AuthScheme,
    digest: [u8; 32],
}

impl Question {
    /// `parts` is all that makes a difference to the answer.
    fn new(plugin: &PluginName, scheme: AuthScheme, parts: &[&[u8]]) -> Self {
        Self { plugin: plugin.clone(), scheme, digest: digest(parts) }
    }
}

/// Differs when any part does.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Why a request has no credential.
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

/// For `tests/fuzz`: whether this answer of a token service with status 200 gives a credential, by scheme.
pub(crate) fn read_answer(
    scheme: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Option<Result<(), String>> {
    Some(match scheme {
        "oauth2" => access_token::access_token(body, now).map(drop).map_err(|error| error.to_string()),
        "keystone" => {
            keystone::subject_token(headers, body, now).map(drop).map_err(|error| error.to_string())
        }
        "sts" => sts::session_keys(body, now).map(drop).map_err(|error| error.to_string()),
        _ => return None,
    })
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
