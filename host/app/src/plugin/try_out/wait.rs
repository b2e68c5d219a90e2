//! Waiting for what the host says of a content: in the status annotation, for exactly this content.

use std::time::{Duration, Instant};

use anyhow::bail;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use machinist_plugin_host::keys::VERSION_ANNOTATION;
use machinist_runtime::client::field_manager::PLUGIN_STATUS;
use serde::Deserialize;

use crate::cluster::leader::whoever_leads;
use crate::plugin::cluster::{explained, status};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// A host that leads looks within a second; after this time it is said who leads.
const DOUBT: Duration = Duration::from_secs(10);

/// The annotation, as far as it is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Status {
    content: Option<String>,
    state: String,
    reason: Option<String>,
    serving: bool,
    held: Option<Held>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Held {
    driver: String,
    version: String,
    digest: String,
    providers: Vec<String>,
}

/// What a status means for who waits for a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It serves, or could.
    Ready(String),
    /// It does not, and why.
    Failed(String),
    /// Not decided; how far it is.
    OnItsWay(String),
    /// The host has not looked at this content.
    Unseen,
}

/// Reads the annotation.
pub(crate) fn verdict(annotation: Option<&str>, content: &str) -> Verdict {
    let status: Status = annotation.and_then(|text| status(text).ok()).unwrap_or_default();
    if status.content.as_deref() != Some(content) {
        return Verdict::Unseen;
    }
    let reason = status.reason.unwrap_or_else(|| "no reason is known".to_owned());
    let held = status.held.as_ref();
    let serves_on = match held.filter(|_| status.serving) {
        Some(Held { driver, version, digest, .. }) => format!("{driver} {version} ({digest}) serves on"),
        None => "nothing of this ConfigMap serves".to_owned(),
    };
    match (status.state.as_str(), held) {
        ("Ready", Some(held)) => {
            let driver = format!("{} {}", held.driver, held.version);
            let providers = held.providers.join(", ");
            Verdict::Ready(if status.serving {
                format!("{driver} serves {providers}")
            } else {
                format!(
                    "{driver} is ready and does not serve: a newer version does, by the annotation {VERSION_ANNOTATION}, else by the \
                     ConfigMaps' times of creation; `machinist plugin rollback` withdraws that one"
                )
            })
        }
        ("Trial", Some(held)) => {
            let Held { driver, version, .. } = held;
            Verdict::Ready(format!("{driver} {version} is on trial beside the version that serves"))
        }
        ("Withdrawn", _) => Verdict::Failed(format!("withdrawn: {reason}; {serves_on}")),
        ("Rejected", _) => Verdict::Failed(format!("rejected: {reason}; {serves_on}")),
        ("Quarantined", _) => Verdict::Failed(format!("loaded, and not called for a while: {reason}")),
        (state, _) => {
            let detail = if reason == "no reason is known" { String::new() } else { format!(": {reason}") };
            Verdict::OnItsWay(format!("{state}{detail}"))
        }
    }
}

/// The version of the component that the host holds for this content.
pub(crate) fn held_version(annotation: Option<&str>, content: &str) -> Option<String> {
    let status: Status = status(annotation?).ok()?;
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
    patience: Duration,
) -> anyhow::Result<String> {
    let end = Instant::now() + patience;
    let mut said = Verdict::Unseen;
    let (mut has_named_leader, doubt) = (false, Instant::now() + DOUBT);
    eprintln!("waiting for the host");
    loop {
        let map = api
            .get_metadata(name)
            .await
            .map_err(|error| explained(error, &format!("read the state of ConfigMap {name}")))?;
        let annotations = map.metadata.annotations.unwrap_or_default();
        match verdict(annotations.get(PLUGIN_STATUS).map(String::as_str), content) {
            Verdict::Ready(outcome) => return Ok(outcome),
            Verdict::Failed(reason) => bail!("{reason}"),
            other if other != said => {
                if let Verdict::OnItsWay(state) = &other {
                    eprintln!("  {state}");
                }
                said = other;
            }
            Verdict::OnItsWay(_) | Verdict::Unseen => {}
        }
        if said == Verdict::Unseen && !has_named_leader && Instant::now() >= doubt {
            eprintln!("  not looked at so far: {}", leads(api).await);
            has_named_leader = true;
        }
        if Instant::now() >= end {
            match said {
                Verdict::OnItsWay(state) => bail!(
                    "not decided after {} s: {state}. The ConfigMap is in place, and the host goes on by itself; \
                     `machinist plugin list` shows it",
                    patience.as_secs()
                ),
                Verdict::Unseen | Verdict::Ready(_) | Verdict::Failed(_) => bail!(
                    "no host has looked at it after {} s. The ConfigMap is in place; {}",
                    patience.as_secs(),
                    leads(api).await
                ),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns which process leads in the namespace of the plugins, which is the host's own by default.
async fn leads(api: &Api<ConfigMap>) -> String {
    whoever_leads(&api.clone().into_client(), api.namespace().unwrap_or_default()).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: &serde_json::Value, expected: &Verdict) {
        assert_eq!(verdict(Some(&status.to_string()), "c"), *expected);
    }

    #[test]
    fn only_what_is_said_of_this_content_counts() {
        let held =
            json!({ "driver": "sim", "version": "1.0.0", "digest": "sha256:ab", "providers": ["sim"] });
        let status = |content: &str, state: &str, reason: Option<&str>, serving: bool| json!({ "content": content, "state": state, "reason": reason, "serving": serving, "held": held });
        check(&status("other", "Ready", None, true), &Verdict::Unseen);
        check(&status("c", "Ready", None, true), &Verdict::Ready("sim 1.0.0 serves sim".to_owned()));
        let newer = verdict(Some(&status("c", "Ready", None, false).to_string()), "c");
        let Verdict::Ready(newer) = newer else { panic!("{newer:?}") };
        assert!(newer.contains("a newer version does") && newer.contains("plugin-version"), "{newer}");
        let rejected = "rejected: bad; sim 1.0.0 (sha256:ab) serves on";
        check(&status("c", "Rejected", Some("bad"), true), &Verdict::Failed(rejected.to_owned()));
        let on_trial = "sim 1.0.0 is on trial beside the version that serves";
        check(&status("c", "Trial", None, false), &Verdict::Ready(on_trial.to_owned()));
        let withdrawn = "withdrawn: 3 of its calls broke; nothing of this ConfigMap serves";
        let reason = Some("3 of its calls broke");
        check(&status("c", "Withdrawn", reason, false), &Verdict::Failed(withdrawn.to_owned()));
        let waits = "Declared: waits for part 2 of 3, ConfigMap x";
        let reason = Some("waits for part 2 of 3, ConfigMap x");
        check(&status("c", "Declared", reason, true), &Verdict::OnItsWay(waits.to_owned()));
        check(&status("c", "Verified", None, true), &Verdict::OnItsWay("Verified".to_owned()));
        assert_eq!(verdict(None, "c"), Verdict::Unseen);
        assert_eq!(verdict(Some("{"), "c"), Verdict::Unseen);
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
