//! From a request to an answer.
//!
//! | module | what it does |
//! | --- | --- |
//! | `gate` | tokens and the rate limit |
//! | `route` | from method and path to the work |
//! | `decode` | bodies by the API's types; unknown fields are refused |
//! | `page` | lists and their pages |
//! | `answer` | answers and their headers |

mod answer;
mod decode;
mod gate;
mod page;
mod route;

pub(crate) use answer::{Answer, refused};
pub(crate) use gate::admit;
pub(crate) use route::work;

use std::collections::BTreeMap;

use bytes::Bytes;
use http::request::Parts;

/// A request, with its query in parts.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, Vec<String>>,
    pub(crate) token: Option<String>,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn new(head: &Parts, body: Bytes) -> Self {
        let mut query: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()) {
            query.entry(key.into_owned()).or_default().push(value.into_owned());
        }
        let authorization = head.headers.get(http::header::AUTHORIZATION);
        let token = authorization.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query,
            token: token.map(str::to_owned),
            body,
        }
    }

    /// The last value of a parameter that is not empty.
    pub(crate) fn one(&self, key: &str) -> Option<&str> {
        self.query.get(key)?.iter().rev().map(String::as_str).find(|value| !value.is_empty())
    }

    pub(crate) fn all(&self, key: &str) -> &[String] {
        self.query.get(key).map(Vec::as_slice).unwrap_or_default()
    }
}
