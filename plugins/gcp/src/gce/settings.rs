//! Google's address, or the endpoint in the operator's settings beside the plugin; and the project.

use machinist_sdk::driver::{Code, Failure, Fields, Url};

use crate::names::is_project;

const GOOGLE: &str = "https://compute.googleapis.com";
/// The host fetches tokens there.
const TOKENS: &str = "oauth2.googleapis.com";

/// The target of all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Without a slash at the end.
    pub(crate) base: String,
    pub(crate) host: String,
}

impl Endpoint {
    /// Returns the endpoint. The error says what to write.
    pub(crate) fn of(settings: &Fields) -> Result<Self, Failure> {
        let base = settings.text("endpoint")?.unwrap_or_else(|| GOOGLE.to_owned());
        let base = base.trim_end_matches('/');
        let Some(url) = Url::parse(base).filter(|_| !base.contains('?')) else {
            return Err(Failure::new(
                Code::FailedPrecondition,
                format!(
                    "endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], got {base:?}"
                ),
            ));
        };
        Ok(Self { host: url.host().to_owned(), base: base.to_owned() })
    }
}

/// Returns the project in the operator's settings.
pub(crate) fn project(settings: &Fields) -> Result<Option<String>, Failure> {
    match settings.text("project")? {
        Some(project) if !is_project(&project) => Err(Failure::new(
            Code::FailedPrecondition,
            format!("project in the plugin's settings must be the id of a project, got {project:?}"),
        )),
        project => Ok(project),
    }
}

/// Returns the hosts that requests go to with these settings.
pub(crate) fn wished_hosts(settings: &str) -> Vec<String> {
    let endpoint = Fields::settings(settings).and_then(|settings| Endpoint::of(&settings));
    endpoint.map_or_else(|_| Vec::new(), |endpoint| vec![endpoint.host, TOKENS.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(settings: &str) -> Result<Endpoint, Failure> {
        Fields::settings(settings).and_then(|settings| Endpoint::of(&settings))
    }

    #[test]
    fn without_settings_requests_go_to_google() {
        let google = endpoint("{}").unwrap();
        assert_eq!((google.base.as_str(), google.host.as_str()), (GOOGLE, "compute.googleapis.com"));
        assert_eq!(wished_hosts("{}"), ["compute.googleapis.com", TOKENS]);
        let own = endpoint(r#"{"endpoint": "http://127.0.0.1:1/x/"}"#).unwrap();
        assert_eq!((own.base.as_str(), own.host.as_str()), ("http://127.0.0.1:1/x", "127.0.0.1"));
    }

    #[test]
    fn an_endpoint_that_is_none_says_what_to_write() {
        for settings in ["", r#"{"endpoint": 1}"#, r#"{"endpoint": "a:1"}"#, r#"{"endpoint": "http://a/?b"}"#]
        {
            let error = endpoint(settings).unwrap_err();
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{settings}");
            assert!(error.message.contains("settings"), "{settings}: {}", error.message);
            assert!(wished_hosts(settings).is_empty());
        }
    }
}
