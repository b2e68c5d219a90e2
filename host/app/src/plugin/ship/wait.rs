//! Waits until the host has decided about a content, by the status annotation.

use std::time::{Duration, Instant};

use anyhow::bail;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::HeldStatus;

use crate::cluster::leader::current_leader;
use crate::plugin::cluster::{metadata, readable_status, status_annotation};

const PAUSE: Duration = Duration::from_millis(300);

/// A leader reads a ConfigMap within a second. After this time the command names the leader.
const DOUBT: Duration = Duration::from_secs(10);

/// The state of a content that a command waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContentState {
    /// It serves, or could.
    Ready(String),
    /// It does not serve, and why.
    Failed(String),
    /// The host has not decided; the text is its state.
    OnItsWay(String),
    /// The host has not read this content.
    Unseen,
}

pub(crate) fn content_state(annotation: Option<&str>, content: &str) -> ContentState {
    let status = annotation.map(readable_status).unwrap_or_default();
    if status.content.as_deref() != Some(content) {
        return ContentState::Unseen;
    }
    let reason = status.reason.unwrap_or_else(|| "no reason is known".to_owned());
    let held = status.held.as_ref();
    let serves_on = match held.filter(|_| status.serving) {
        Some(HeldStatus { driver, version, digest, .. }) => {
            format!("{driver} {version} ({digest}) serves on")
        }
        None => "nothing of this ConfigMap serves".to_owned(),
    };
    match (status.state.as_str(), held) {
        ("Ready", Some(held)) => {
            let driver = format!("{} {}", held.driver, held.version);
            let providers = held.providers.join(", ");
            ContentState::Ready(if status.serving {
                format!("{driver} serves {providers}")
            } else {
                format!(
                    "{driver} is ready and does not serve: a newer version does, by the annotation {}, else by the \
                     ConfigMaps' times of creation; `machinist plugin rollback` withdraws that one",
                    PluginKeys::VERSION_ANNOTATION
                )
            })
        }
        ("Trial", Some(held)) => {
            let HeldStatus { driver, version, .. } = held;
            ContentState::Ready(format!("{driver} {version} is on trial beside the version that serves"))
        }
        ("Withdrawn", _) => ContentState::Failed(format!("withdrawn: {reason}; {serves_on}")),
        ("Rejected", _) => ContentState::Failed(format!("rejected: {reason}; {serves_on}")),
        ("Quarantined", _) => ContentState::Failed(format!("loaded, and not called for a while: {reason}")),
        (state, _) => {
            let detail = if reason == "no reason is known" { String::new() } else { format!(": {reason}") };
            ContentState::OnItsWay(format!("{state}{detail}"))
        }
    }
}

/// The version of the component that the host holds for this content.
pub(crate) fn held_version(annotation: Option<&str>, content: &str) -> Option<String> {
    let status = readable_status(annotation?);
    let held = status.held.filter(|_| status.content.as_deref() == Some(content))?;
    Some(held.version).filter(|version| !version.is_empty())
}

/// Waits until the host has decided.
///
/// # Errors
/// When it rejects the content, or does not decide in time; the error says what serves, or why nobody may have looked.
pub(crate) async fn wait(
    api: &Api<ConfigMap>,
    name: &str,
    content: &str,
    timeout: Duration,
) -> anyhow::Result<String> {
    let end = Instant::now() + timeout;
    let mut last_state = ContentState::Unseen;
    let (mut has_named_leader, doubt) = (false, Instant::now() + DOUBT);
    eprintln!("waiting for the host");
    loop {
        let meta = metadata(api, name, &format!("read the state of ConfigMap {name}")).await?;
        match content_state(status_annotation(&meta), content) {
            ContentState::Ready(outcome) => return Ok(outcome),
            ContentState::Failed(reason) => bail!("{reason}"),
            other if other != last_state => {
                if let ContentState::OnItsWay(state) = &other {
                    eprintln!("  {state}");
                }
                last_state = other;
            }
            ContentState::OnItsWay(_) | ContentState::Unseen => {}
        }
        if last_state == ContentState::Unseen && !has_named_leader && Instant::now() >= doubt {
            eprintln!("  not looked at so far: {}", leads(api).await);
            has_named_leader = true;
        }
        if Instant::now() >= end {
            match last_state {
                ContentState::OnItsWay(state) => bail!(
                    "not decided after {} s: {state}. The ConfigMap is in place, and the host goes on by itself; \
                     `machinist plugin list` shows it",
                    timeout.as_secs()
                ),
                ContentState::Unseen | ContentState::Ready(_) | ContentState::Failed(_) => bail!(
                    "no host has looked at it after {} s. The ConfigMap is in place; {}",
                    timeout.as_secs(),
                    leads(api).await
                ),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Describes the leader in the namespace of the plugins, which is the host's own by default.
async fn leads(api: &Api<ConfigMap>) -> String {
    current_leader(&api.clone().into_client(), api.namespace().unwrap_or_default()).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: &serde_json::Value, expected: &ContentState) {
        assert_eq!(content_state(Some(&status.to_string()), "c"), *expected);
    }

    #[test]
    fn only_what_is_said_of_this_content_counts() {
        let held =
            json!({ "driver": "sim", "version": "1.0.0", "digest": "sha256:ab", "providers": ["sim"] });
        let status = |content: &str, state: &str, reason: Option<&str>, serving: bool| json!({ "content": content, "state": state, "reason": reason, "serving": serving, "held": held });
        check(&status("other", "Ready", None, true), &ContentState::Unseen);
        check(&status("c", "Ready", None, true), &ContentState::Ready("sim 1.0.0 serves sim".to_owned()));
        let newer = content_state(Some(&status("c", "Ready", None, false).to_string()), "c");
        let ContentState::Ready(newer) = newer else { panic!("{newer:?}") };
        assert!(newer.contains("a newer version does") && newer.contains("plugin-version"), "{newer}");
        let rejected = "rejected: bad; sim 1.0.0 (sha256:ab) serves on";
        check(&status("c", "Rejected", Some("bad"), true), &ContentState::Failed(rejected.to_owned()));
        let on_trial = "sim 1.0.0 is on trial beside the version that serves";
        check(&status("c", "Trial", None, false), &ContentState::Ready(on_trial.to_owned()));
        let withdrawn = "withdrawn: 3 of its calls broke; nothing of this ConfigMap serves";
        let reason = Some("3 of its calls broke");
        check(&status("c", "Withdrawn", reason, false), &ContentState::Failed(withdrawn.to_owned()));
        let waits = "Declared: waits for part 2 of 3, ConfigMap x";
        let reason = Some("waits for part 2 of 3, ConfigMap x");
        check(&status("c", "Declared", reason, true), &ContentState::OnItsWay(waits.to_owned()));
        check(&status("c", "Verified", None, true), &ContentState::OnItsWay("Verified".to_owned()));
        assert_eq!(content_state(None, "c"), ContentState::Unseen);
        assert_eq!(content_state(Some("{"), "c"), ContentState::Unseen);
    }

    #[test]
    fn the_version_is_that_of_the_same_content() {
        let status = json!({ "content": "c", "state": "Ready", "held": { "version": "1.5.0" } }).to_string();
        assert_eq!(held_version(Some(&status), "c").as_deref(), Some("1.5.0"));
        assert_eq!(held_version(Some(&status), "other"), None);
        for nothing in [r#"{"content":"c"}"#, r#"{"content":"c","held":{}}"#, "{", ""] {
            assert_eq!(held_version(Some(nothing), "c"), None, "{nothing}");
        }
        assert_eq!(held_version(None, "c"), None);
    }
}
