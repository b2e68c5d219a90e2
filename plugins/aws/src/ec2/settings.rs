//! The address of the cloud: AWS itself, or the endpoint in the operator's settings beside the plugin.

use machinist_sdk::driver::{Code, Failure, Url};
use serde_json::Value;

use crate::ec2::errors::error;
use crate::ec2::region;

/// The placeholder of the region in an endpoint.
const REGION: &str = "{region}";

/// The target of all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The complete URL: EC2 has one URL for all calls.
    pub(crate) url: String,
    host: String,
    /// True if the operator's settings name it.
    pub(crate) is_override: bool,
}

impl Endpoint {
    /// Returns the endpoint of a region. The error says what to write.
    pub(crate) fn of(settings: &str, region: &str) -> Result<Self, Failure> {
        match endpoint(settings)? {
            Some(url) => Self::parse(&url.replace(REGION, region)).ok_or_else(|| invalid(&unusable(&url))),
            None => {
                let host = region::host(region);
                Ok(Self { url: format!("https://{host}/"), host, is_override: false })
            }
        }
    }

    fn parse(url: &str) -> Option<Self> {
        let parts = Url::parse(url).filter(|_| !url.contains(['?', '{', '}']))?;
        Some(Self { url: url.to_owned(), host: parts.host().to_owned(), is_override: true })
    }

    /// Returns the host without its port, as grants name it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

/// Returns the hosts that the driver requests with these settings.
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

fn endpoint(settings: &str) -> Result<Option<String>, Failure> {
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

fn invalid(message: &str) -> Failure {
    Failure::from(error(Code::FailedPrecondition, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_the_region_leads_to_aws() {
        for settings in ["{}", r#"{"endpoint": null, "other": 1}"#] {
            let endpoint = Endpoint::of(settings, "eu-west-1").unwrap();
            assert_eq!(endpoint.url, "https://ec2.eu-west-1.amazonaws.com/");
            assert!(!endpoint.is_override);
        }
        assert!(wished_hosts("{}").contains(&"ec2.*.amazonaws.com".to_owned()));
    }

    #[test]
    fn an_endpoint_takes_its_place_and_may_name_the_region() {
        let endpoint = Endpoint::of(r#"{"endpoint": "http://127.0.0.1:5000"}"#, "eu-west-1").unwrap();
        assert_eq!((endpoint.host(), endpoint.url.as_str()), ("127.0.0.1", "http://127.0.0.1:5000"));
        let settings = r#"{"endpoint": "https://vpce.{region}.example/ec2/"}"#;
        let endpoint = Endpoint::of(settings, "cn-north-1").unwrap();
        assert_eq!(
            (endpoint.host(), endpoint.url.as_str()),
            ("vpce.cn-north-1.example", "https://vpce.cn-north-1.example/ec2/")
        );
        assert_eq!(wished_hosts(settings), ["vpce.*.example"]);
    }

    #[test]
    fn what_is_no_endpoint_says_what_to_write() {
        for settings in [
            "", r#"{"endpoint": 1}"#, r#"{"endpoint": "127.0.0.1:1"}"#, r#"{"endpoint": "ftp://a"}"#,
            r#"{"endpoint": "http://"}"#, r#"{"endpoint": "http://me@a"}"#, r#"{"endpoint": "http://a/?b"}"#,
            r#"{"endpoint": "http://{zone}/"}"#,
        ] {
            let error = Endpoint::of(settings, "eu-west-1").unwrap_err();
            // The operator can fix the settings, so the error is not terminal.
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{settings}");
            assert!(error.message.contains("settings"), "{settings}: {}", error.message);
        }
    }
}
