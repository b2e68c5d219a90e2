//! The parts that schemes with OAuth 2.0 share.
//!
//! | module | has |
//! | --- | --- |
//! | `scopes` | scopes in marks and in grants |
//! | `token_url` | the URL of a token service |
//! | `access_token` | the answer of a token service |

pub(crate) mod access_token;
mod scopes;
mod token_url;

use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};

pub(crate) use access_token::access_token;
pub(super) use scopes::{GrantedScopes, Scopes};
pub(super) use token_url::TokenUrl;

/// Returns the headers of a form to a token service.
pub(super) fn form_headers() -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")),
        (ACCEPT, HeaderValue::from_static("application/json")),
    ])
}
