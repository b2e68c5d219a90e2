//! For `tests/fuzz` alone: what registries answer, read without a connection.

use url::Url;

use super::{challenge, hop, session};
use crate::digest::ContentDigest;
use crate::signature::cosign;

/// The token service that a registry names in `WWW-Authenticate`, and whether the login may go there. `Ok(None)`: the
/// registry wants the login itself.
///
/// # Errors
/// The challenge is not understood.
pub fn challenge(registry: &Url, header: &str) -> Result<Option<(Url, bool)>, &'static str> {
    match challenge::read(header) {
        None => Err("it is neither Basic nor Bearer with a realm"),
        Some(challenge::Challenge::Basic) => Ok(None),
        Some(challenge::Challenge::Bearer { realm, .. }) => {
            let realm = Url::parse(&realm).map_err(|_| "its realm is no address")?;
            let may_go = hop::may_give_tokens(registry, &realm);
            Ok(Some((realm, may_go)))
        }
    }
}

/// Where a redirect leads.
///
/// # Errors
/// Why it is not followed.
pub fn redirect(at: &Url, location: Option<&str>) -> Result<Url, hop::RedirectError> {
    hop::next(at, location)
}

/// The token in the answer of a token service.
pub fn token(answer: &[u8]) -> Option<String> {
    session::token_in(answer)
}

/// The blobs of the signatures that a document names.
///
/// # Errors
/// It is no such document.
pub fn signatures(document: &[u8]) -> Result<Vec<ContentDigest>, cosign::DocumentError> {
    Ok(cosign::places(document, cosign::Beside::Signatures)?
        .into_iter()
        .map(|place| place.payload.digest)
        .collect())
}
