//! A call as the model sees it: HTTP without the wire.

use serde::Serialize;

/// The methods that the cloud knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method with this HTTP name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "GET" => Some(Self::Get),
            "POST" => Some(Self::Post),
            "PUT" => Some(Self::Put),
            "PATCH" => Some(Self::Patch),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    /// The path, without query.
    pub path: String,
    /// The query's pairs in their order, percent-decoded.
    pub query: Vec<(String, String)>,
    pub token: Option<String>,
    pub idempotency_key: Option<String>,
    /// The body as it came.
    pub body: Vec<u8>,
    /// The caller is in this process: a page of VMs is given to it as it is, with an empty body.
    pub takes_values: bool,
}

impl Request {
    /// A call without token, key and body. `target` is path and query as in a request line.
    pub fn new(method: Method, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method,
            path: path.to_owned(),
            query: parse_query(query),
            token: None,
            idempotency_key: None,
            body: Vec::new(),
            takes_values: false,
        }
    }

    /// The same call from within this process.
    #[must_use]
    pub fn for_values(mut self) -> Self {
        self.takes_values = true;
        self
    }

    /// The same call with a bearer token.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// The same call with an idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.idempotency_key = Some(key.to_owned());
        self
    }

    /// The same call with a JSON body.
    pub fn with_json(mut self, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        self.body = serde_json::to_vec(body)?;
        Ok(self)
    }

    /// The first query value under this name.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All query values under this name.
    pub(crate) fn query_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn parse_query(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(key), percent_decode(value))
        })
        .collect()
}

/// Decodes `%XX` and `+`; what is no valid escape stays as it is.
fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match (byte, escape.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 3;
            }
            (b'+', _) => {
                decoded.push(b' ');
                at += 1;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_and_keeps_its_order_and_repetitions() {
        let request = Request::new(Method::Get, "/v1/vms?tag=a%2Fb:c+d&tag=e:%zz&limit=5");
        assert_eq!(request.path, "/v1/vms");
        assert_eq!(request.query_all("tag").collect::<Vec<_>>(), ["a/b:c d", "e:%zz"]);
        assert_eq!(request.query("limit"), Some("5"));
        assert_eq!(request.query("name"), None);
    }
}
