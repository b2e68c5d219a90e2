//! The address of the cloud and its capabilities, from the operator's settings beside the plugin.

use machinist_sdk::driver::{Code, Failure, Url};
use serde_json::Value;

/// How long after a create reads of the cloud may not show the VM, by default.
const CONSISTENCY_WINDOW_MS: u64 = 10_000;

/// The base of all URLs, and the host without its port, as grants name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The part before `/v1`, without a trailing slash.
    base: String,
    host: String,
    keeps_keys: bool,
}

/// The guarantees of a create. Tests turn the keys off to have a cloud like most others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Creates {
    /// True if creates are sent with an idempotency key.
    pub(crate) keep_keys: bool,
    /// How long reads may miss a VM.
    pub(crate) consistency_window_ms: u64,
}

impl Creates {
    /// Parses the plugin's settings; absent and invalid ones have their defaults.
    pub(crate) fn from_settings(settings: &str) -> Self {
        let value: Value = serde_json::from_str(settings).unwrap_or_default();
        Self {
            keep_keys: value.get("idempotencyKeys").and_then(Value::as_bool).unwrap_or(true),
            consistency_window_ms: value
                .get("consistencyWindowMs")
                .and_then(Value::as_u64)
                .unwrap_or(CONSISTENCY_WINDOW_MS),
        }
    }
}

impl Endpoint {
    /// Parses the plugin's settings. The error says what to write.
    pub(crate) fn from_settings(settings: &str) -> Result<Self, Failure> {
        let value: Value = serde_json::from_str(settings).map_err(|_| {
            invalid("the plugin's settings are not JSON: write {\"endpoint\": \"http://HOST:PORT\"}")
        })?;
        match value.get("endpoint") {
            Some(Value::String(url)) => Self::parse(url, Creates::from_settings(settings).keep_keys)
                .ok_or_else(|| {
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

    fn parse(url: &str, keeps_keys: bool) -> Option<Self> {
        let parts = Url::parse(url).filter(|_| !url.contains('?'))?;
        Some(Self { base: url.trim_end_matches('/').to_owned(), host: parts.host().to_owned(), keeps_keys })
    }

    /// True if creates are sent with an idempotency key.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.keeps_keys
    }

    /// Returns the URL of a path, from `/v1` on.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("{}{target}", self.base)
    }

    /// The host without its port, as grants name it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::FailedPrecondition, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_the_part_before_a_path() {
        for (url, host, first) in [
            ("http://127.0.0.1:8080/", "127.0.0.1", "http://127.0.0.1:8080/v1/vms"),
            ("https://[::1]/cloud/", "[::1]", "https://[::1]/cloud/v1/vms"),
        ] {
            let endpoint =
                Endpoint::from_settings(&format!(r#"{{"endpoint": "{url}", "other": 1}}"#)).unwrap();
            assert_eq!((endpoint.host(), endpoint.url("/v1/vms").as_str()), (host, first));
        }
    }

    #[test]
    fn keys_are_kept_unless_the_settings_take_them_away() {
        let of = Creates::from_settings;
        assert_eq!(of("{}"), Creates { keep_keys: true, consistency_window_ms: 10_000 });
        let without = of(r#"{"idempotencyKeys": false, "consistencyWindowMs": 2000}"#);
        assert_eq!(without, Creates { keep_keys: false, consistency_window_ms: 2_000 });
        assert_eq!(of(r#"{"idempotencyKeys": "no", "consistencyWindowMs": -1}"#), of("{}"));
    }

    #[test]
    fn what_is_no_endpoint_says_what_to_write() {
        for settings in [
            "", "{}", "[]", r#"{"endpoint": null}"#, r#"{"endpoint": 1}"#, r#"{"endpoint": "127.0.0.1:1"}"#,
            r#"{"endpoint": "ftp://a"}"#, r#"{"endpoint": "http://"}"#, r#"{"endpoint": "http://me@a"}"#,
            r#"{"endpoint": "http://a/?b"}"#,
        ] {
            let error = Endpoint::from_settings(settings).unwrap_err();
            // The operator can fix the settings, so the error is not terminal.
            assert_eq!((error.code, error.terminal), (Code::FailedPrecondition, false), "{settings}");
            assert!(error.message.contains("settings"), "{settings}: {}", error.message);
        }
    }
}
