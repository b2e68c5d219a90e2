//! The address of Azure: the clouds of Microsoft, or the endpoint in the operator's settings beside the plugin.

use machinist_sdk::driver::{Code, Failure, Url};
use serde_json::Value;

use crate::class::azure_cloud::AzureCloud;

/// The target of all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Without a slash at its end.
    pub(crate) url: String,
    host: String,
    /// The scope of the tokens that the host asks for.
    pub(crate) scope: &'static str,
    /// True if the operator's settings name it.
    pub(crate) is_override: bool,
}

impl Endpoint {
    /// Returns the endpoint of a cloud. The error says what to write.
    pub(crate) fn of(settings: &str, cloud: AzureCloud) -> Result<Self, Failure> {
        let scope = cloud.scope();
        match endpoint(settings)? {
            Some(url) => {
                let parts = Url::parse(&url).filter(|_| !url.contains('?'));
                let host =
                    parts.map(|parts| parts.host().to_owned()).ok_or_else(|| invalid(&unusable(&url)))?;
                let url = url.trim_end_matches('/').to_owned();
                Ok(Self { url, host, scope, is_override: true })
            }
            None => {
                let host = cloud.host().to_owned();
                Ok(Self { url: format!("https://{host}"), host, scope, is_override: false })
            }
        }
    }

    /// Returns the host without its port, as grants name it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

/// Returns the hosts that are asked with these settings: by the driver, and by the host for tokens.
pub(crate) fn wished_hosts(settings: &str) -> Vec<String> {
    let mut hosts: Vec<String> = match endpoint(settings) {
        Ok(Some(url)) => Url::parse(&url).iter().map(|url| url.host().to_owned()).collect(),
        Ok(None) => AzureCloud::ALL.map(|cloud| cloud.host().to_owned()).to_vec(),
        Err(_) => return Vec::new(),
    };
    hosts.extend(AzureCloud::ALL.map(|cloud| cloud.token_host().to_owned()));
    hosts
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
    format!("endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], got {url:?}")
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::FailedPrecondition, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_the_class_s_cloud_leads_to_microsoft() {
        for (name, host) in [
            ("AzurePublic", "management.azure.com"),
            ("AzureGovernment", "management.usgovcloudapi.net"),
            ("AzureChina", "management.chinacloudapi.cn"),
        ] {
            let cloud = AzureCloud::named(name).unwrap();
            let endpoint = Endpoint::of("{}", cloud).unwrap();
            assert_eq!((endpoint.url, endpoint.host), (format!("https://{host}"), host.to_owned()));
            assert_eq!(endpoint.scope, format!("https://{host}/.default"));
            assert!(wished_hosts("{}").contains(&host.to_owned()));
        }
        assert_eq!(AzureCloud::named("azurepublic"), None);
    }

    #[test]
    fn an_endpoint_takes_its_place() {
        let settings = r#"{"endpoint": "http://127.0.0.1:5000/arm/"}"#;
        let endpoint = Endpoint::of(settings, AzureCloud::Public).unwrap();
        assert_eq!((endpoint.host(), endpoint.url.as_str()), ("127.0.0.1", "http://127.0.0.1:5000/arm"));
        assert!(endpoint.is_override);
        let wished = wished_hosts(settings);
        assert_eq!((wished.len(), wished.first().map(String::as_str)), (4, Some("127.0.0.1")));
        assert!(wished.contains(&"login.microsoftonline.com".to_owned()));
    }

    #[test]
    fn what_is_no_endpoint_says_what_to_write() {
        for settings in [
            "", r#"{"endpoint": 1}"#, r#"{"endpoint": "127.0.0.1:1"}"#, r#"{"endpoint": "http://a/?b"}"#,
            r#"{"endpoint": "http://me@a"}"#,
        ] {
            let error = Endpoint::of(settings, AzureCloud::Public).unwrap_err();
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{settings}");
            assert!(error.message.contains("settings"), "{settings}: {}", error.message);
        }
    }
}
