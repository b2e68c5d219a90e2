//! Where the cloud is: AWS itself, or what the operator wrote beside the plugin.

use serde_json::Value;

use crate::bindings::machinist::provider::types::{Code, DriverError};
use crate::errors::error;
use crate::region;

/// What stands for the region in an endpoint.
const REGION: &str = "{region}";

/// The scheme of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    /// Host and port, as they are dialled.
    pub(crate) authority: String,
    pub(crate) path: String,
    /// True when the operator chose it.
    pub(crate) is_override: bool,
}

impl Endpoint {
    /// The endpoint of a region. Fails with what the operator has to write.
    pub(crate) fn of(settings: &str, region: &str) -> Result<Self, Box<DriverError>> {
        match endpoint(settings)? {
            Some(url) => Self::parse(&url.replace(REGION, region)).ok_or_else(|| invalid(&unusable(&url))),
            None => Ok(Self {
                scheme: Scheme::Https,
                authority: region::host(region),
                path: "/".to_owned(),
                is_override: false,
            }),
        }
    }

    fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = match url.split_once("://")? {
            ("http", rest) => (Scheme::Http, rest),
            ("https", rest) => (Scheme::Https, rest),
            _ => return None,
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_plain = |text: &str| {
            !text.contains(['?', '#', '@', '\\', '{', '}']) && !text.contains(char::is_whitespace)
        };
        if authority.is_empty() || !is_plain(rest) {
            return None;
        }
        let path = if path.is_empty() { "/" } else { path };
        Some(Self { scheme, authority: authority.to_owned(), path: path.to_owned(), is_override: true })
    }

    /// The host without its port, as grants name it.
    pub(crate) fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.authority,
        }
    }
}

/// The hosts that the driver would like to reach with these settings.
pub(crate) fn wished_hosts(settings: &str) -> Vec<String> {
    match endpoint(settings) {
        Ok(Some(url)) => {
            let endpoint = Endpoint::parse(&url.replace(REGION, "*"));
            endpoint.iter().map(|endpoint| endpoint.host().to_owned()).collect()
        }
        Ok(None) => region::hosts(),
        Err(_) => Vec::new(),
    }
}

fn endpoint(settings: &str) -> Result<Option<String>, Box<DriverError>> {
    let value: Value = serde_json::from_str(settings).map_err(|_| {
        invalid("the plugin's settings are not JSON: write {} or {\"endpoint\": \"https://HOST\"}")
    })?;
    match value.get("endpoint") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(url)) => Ok(Some(url.clone())),
        Some(_) => Err(invalid("endpoint in the plugin's settings must be a text")),
    }
}

fn unusable(url: &str) -> String {
    format!(
        "endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], {{region}} stands for the region, got {url:?}"
    )
}

fn invalid(message: &str) -> Box<DriverError> {
    Box::new(error(Code::FailedPrecondition, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_the_region_leads_to_aws() {
        for settings in ["{}", r#"{"endpoint": null, "other": 1}"#] {
            let endpoint = Endpoint::of(settings, "eu-west-1").unwrap();
            assert_eq!(
                (endpoint.scheme, endpoint.authority.as_str()),
                (Scheme::Https, "ec2.eu-west-1.amazonaws.com")
            );
            assert!(!endpoint.is_override);
        }
        assert!(wished_hosts("{}").contains(&"ec2.*.amazonaws.com".to_owned()));
    }

    #[test]
    fn an_endpoint_takes_its_place_and_may_name_the_region() {
        let endpoint = Endpoint::of(r#"{"endpoint": "http://127.0.0.1:5000"}"#, "eu-west-1").unwrap();
        assert_eq!(
            (endpoint.scheme, endpoint.host(), endpoint.path.as_str()),
            (Scheme::Http, "127.0.0.1", "/")
        );
        let settings = r#"{"endpoint": "https://vpce.{region}.example/ec2/"}"#;
        let endpoint = Endpoint::of(settings, "cn-north-1").unwrap();
        assert_eq!(
            (endpoint.authority.as_str(), endpoint.path.as_str()),
            ("vpce.cn-north-1.example", "/ec2/")
        );
        assert_eq!(wished_hosts(settings), ["vpce.*.example"]);
    }

    #[test]
    fn what_is_no_endpoint_says_what_to_write() {
        for settings in [
            "",
            r#"{"endpoint": 1}"#,
            r#"{"endpoint": "127.0.0.1:1"}"#,
            r#"{"endpoint": "ftp://a"}"#,
            r#"{"endpoint": "http://"}"#,
            r#"{"endpoint": "http://me@a"}"#,
            r#"{"endpoint": "http://a/?b"}"#,
            r#"{"endpoint": "http://{zone}/"}"#,
        ] {
            let error = Endpoint::of(settings, "eu-west-1").unwrap_err();
            // The operator's change of the settings helps, so it is not terminal.
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{settings}");
            assert!(error.message.contains("settings"), "{settings}: {}", error.message);
        }
    }
}
