//! Headers that make a server see another request than the one that the host checked.

use http::HeaderName;

const NAMES: [&str; 17] = [
    "forwarded",
    "x-host",
    "x-http-host-override",
    "x-http-method",
    "x-http-method-override",
    "x-method",
    "x-method-override",
    "x-original-host",
    "x-original-method",
    "x-original-uri",
    "x-original-url",
    "x-override-url",
    "x-proxy-url",
    "x-request-uri",
    "x-rewrite-uri",
    "x-rewrite-url",
    "x-envoy-original-path",
];

/// Whether the header names another method, URL, host or sender: refused, unless a rule grants it by its name.
pub(crate) fn is_override(name: &HeaderName) -> bool {
    NAMES.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-")
}

/// Headers that ask for a part of an answer, in whose pieces no secret can be found.
pub(crate) fn is_range(name: &HeaderName) -> bool {
    ["range", "if-range", "request-range", "x-ms-range"].contains(&name.as_str())
}
