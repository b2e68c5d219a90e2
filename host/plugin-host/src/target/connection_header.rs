//! Headers of a connection.

use http::HeaderName;

/// Whether the header describes a connection and not a request: the host writes its own.
pub(crate) fn is_connection_header(name: &HeaderName) -> bool {
    const NAMES: [&str; 10] = [
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    NAMES.contains(&name.as_str()) || name.as_str().starts_with("proxy-")
}
