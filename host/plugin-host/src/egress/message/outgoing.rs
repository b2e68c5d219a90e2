//! A request in the host's hands: judged, collected, and free of what belongs to the connection.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName};
use http::{HeaderValue, Method, Request};
use http_body_util::Full;

use crate::egress::failure::{Failure, Reason};
use crate::target::{RequestTarget, is_connection_header};

/// A request before it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) target: RequestTarget,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Outgoing {
    /// The request for the wire, with its new length.
    pub(crate) fn request(&self) -> Result<Request<Full<Bytes>>, Failure> {
        let uri = self.target.uri().map_err(|_| Failure::Refused(Reason::Target))?;
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.target.method().clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        let has_length = !self.body.is_empty()
            || [Method::POST, Method::PUT, Method::PATCH].contains(self.target.method());
        if has_length {
            request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        }
        Ok(request)
    }
}

/// Drops the headers of the connection, and those that the header `connection` names.
pub(crate) fn without_connection_headers(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let dropped: Vec<HeaderName> =
        headers.keys().filter(|name| is_connection_header(name)).cloned().collect();
    for name in named.iter().chain(&dropped) {
        headers.remove(name);
    }
    headers
}
