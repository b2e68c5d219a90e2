//! Where a credential comes from.

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::token_file::FilePrefix;
use super::{Credential, Holder};
use crate::auth::{AuthReason, Lease};
use crate::target::RequestTarget;

/// Where the credential of a request comes from.
pub(crate) enum CredentialSource {
    Secret(Credential, Holder),
    Service(Box<dyn TokenService>),
    /// A token service gives it for a token in a file.
    File(FileExchange),
}

/// A file in the host's container, whose token a token service exchanges for a credential.
pub(crate) struct FileExchange {
    /// The key of the Secret that has the path.
    pub(crate) key: String,
    pub(crate) path: String,
    pub(crate) folders: Vec<FilePrefix>,
    /// Makes the request of the token.
    pub(crate) service: Box<dyn FnOnce(Zeroizing<String>) -> Box<dyn TokenService> + Send>,
}

/// One question to a token service. The egress rules must allow the request.
pub(crate) trait TokenService: Send + Sync {
    fn target(&self) -> &RequestTarget;

    /// Everything beside the URL that makes a difference to the answer.
    fn identity(&self) -> Vec<&[u8]>;

    /// The holder of the credential.
    fn holder(&self) -> Holder;

    /// The field of the grants that names the service.
    fn field(&self) -> &'static str {
        "token-url"
    }

    /// The reason of the refusal if the egress rules do not allow the request.
    fn not_granted(&self) -> AuthReason {
        AuthReason::TokenUrl
    }

    /// Builds the request at `now`; `nonce` is random.
    fn request(&self, now: Timestamp, nonce: u128) -> Result<ServiceRequest, SchemeError>;

    /// Returns the credential in an answer with a status of success, or says what the answer lacks.
    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String>;

    /// Returns the service that exchanges this credential for the one of the requests, if there is one.
    fn next(&self, _: &Lease<Credential>) -> Option<Box<dyn TokenService>> {
        None
    }
}

/// A request to a token service, without its target.
pub(crate) struct ServiceRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The values in it that no component may see, beside those of the Secret.
    pub(crate) hidden: Vec<Zeroizing<Vec<u8>>>,
}

/// An answer of a token service with a status of success.
pub(crate) struct ServiceAnswer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) now: Timestamp,
}

/// Why a scheme has no credential for a request.
#[derive(Debug)]
pub(crate) enum SchemeError {
    Refused(AuthReason),
    /// The URL of the token service is not usable.
    Target,
    /// A value of the Secret is of no use. No text quotes the Secret.
    Unusable {
        message: &'static str,
        /// The reason, for the log and for the component.
        error: String,
    },
}

impl From<AuthReason> for SchemeError {
    fn from(reason: AuthReason) -> Self {
        Self::Refused(reason)
    }
}

/// Names a token service.
pub(crate) fn service_url(target: &RequestTarget) -> String {
    format!("{}://{}{}", target.scheme().name(), target.authority(), target.path())
}
