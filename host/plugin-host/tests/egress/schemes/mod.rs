//! How the host authenticates requests that drivers mark.
//!
//! | module | content |
//! | --- | --- |
//! | `auth` | requests that the host signs |
//! | `headers` | credentials of the Secret that the host puts into a header |
//! | `certificates` | certificates of a Secret, for the host and of servers |
//! | `tokens` | rules of all schemes with a token service |
//! | `token_schemes` | the requests of each scheme to its token service, and the rules of each scheme |
//! | `token_files` | tokens in files that a token service exchanges |
//! | `web_identity` | keys that a credential service gives for a token file |
//! | `verify` | verifies a signature as a cloud does, without the signing crate |

pub(crate) mod auth;
mod certificates;
mod headers;
mod token_files;
mod token_schemes;
pub(crate) mod tokens;
pub(crate) mod verify;
mod web_identity;
