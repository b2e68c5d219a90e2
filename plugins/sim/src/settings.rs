//! Where the cloud is, as the operator wrote it beside the plugin.

use serde_json::Value;

use crate::bindings::machinist::provider::types::{Code, DriverError};
use crate::errors::error;

/// The scheme of the cloud's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// The base of all URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    /// Host and port, as they are dialled.
    pub(crate) authority: String,
    /// What stands before `/v1`: empty, or a path without a slash at its end.
    pub(crate) base: String,
}

impl Endpoint {
    /// Reads the plugin's settings. Fails with what the operator has to write.
    pub(crate) fn from_settings(settings: &str) -> Result<Self, Box<DriverError>> {
        let value: Value = serde_json::from_str(settings).map_err(|_| {
            invalid("the plugin's settings are not JSON: write {\"endpoint\": \"http://HOST:PORT\"}")
        })?;
        match value.get("endpoint") {
            Some(Value::String(url)) => Self::parse(url).ok_or_else(|| {
                invalid(&format!(
                    "endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], got {url:?}"
                ))
            }),
            None | Some(Value::Null) => Err(invalid(
                "endpoint is missing in the plugin's settings: write {\"endpoint\": \"http://HOST:PORT\"}",
            )),
            Some(_) => Err(invalid("endpoint in the plugin's settings must be a text")),
        }
    }

    fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = match url.split_once("://")? {
            ("http", rest) => (Scheme::Http, rest),
            ("https", rest) => (Scheme::Https, rest),
            _ => return None,
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_plain =
            |text: &str| !text.contains(['?', '#', '@', '\\']) && !text.contains(char::is_whitespace);
        if authority.is_empty() || !is_plain(rest) {
            return None;
        }
        let base = path.trim_end_matches('/');
        Some(Self { scheme, authority: authority.to_owned(), base: base.to_owned() })
    }

    /// The host without its port, as grants name it.
    pub(crate) fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.authority,
        }
    }
}

fn invalid(message: &str) -> Box<DriverError> {
    Box::new(error(Code::FailedPrecondition, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_scheme_an_authority_and_a_base() {
        let endpoint =
            Endpoint::from_settings(r#"{"endpoint": "http://127.0.0.1:8080/", "other": 1}"#).unwrap();
        let expected =
            Endpoint { scheme: Scheme::Http, authority: "127.0.0.1:8080".into(), base: String::new() };
        assert_eq!((endpoint.host(), &endpoint), ("127.0.0.1", &expected));
        let endpoint = Endpoint::from_settings(r#"{"endpoint": "https://[::1]/cloud/"}"#).unwrap();
        assert_eq!(
            (endpoint.scheme, endpoint.host(), endpoint.base.as_str()),
            (Scheme::Https, "[::1]", "/cloud")
        );
    }

    #[test]
    fn what_is_no_endpoint_says_what_to_write() {
        for settings in [
            "",
            "{}",
            "[]",
            r#"{"endpoint": null}"#,
            r#"{"endpoint": 1}"#,
            r#"{"endpoint": "127.0.0.1:1"}"#,
            r#"{"endpoint": "ftp://a"}"#,
            r#"{"endpoint": "http://"}"#,
            r#"{"endpoint": "http://me@a"}"#,
            r#"{"endpoint": "http://a/?b"}"#,
        ] {
            let error = Endpoint::from_settings(settings).unwrap_err();
            // The operator's change of the settings helps, so it is not terminal.
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{settings}");
            assert!(error.message.contains("settings"), "{settings}: {}", error.message);
        }
    }
}
