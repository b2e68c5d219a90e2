//! `machinist plugin trial` shows a version on trial. `promote` and `rollback` end the trial, or return to the version
//! before.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use machinist_api::names::labels::PLUGIN;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::{HeldStatus, ON_TRIAL, PROMOTED, PluginStatus, RolloutStatus, WITHDRAWN};
use serde_json::json;

use crate::args::TrialFlags;
use crate::plugin::cluster::{config_maps, list, metadata, patch, readable_status, status_annotation};
use crate::plugin::show::shadow;

/// The decision of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Promote,
    GoBack,
}

impl Wish {
    fn word(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::GoBack => "withdraw",
        }
    }

    /// In the status, when it is done.
    fn done(self) -> &'static str {
        match self {
            Self::Promote => PROMOTED,
            Self::GoBack => WITHDRAWN,
        }
    }
}

pub(crate) async fn promote(flags: TrialFlags) -> anyhow::Result<()> {
    request(&flags, Wish::Promote).await
}

pub(crate) async fn roll_back(flags: TrialFlags) -> anyhow::Result<()> {
    request(&flags, Wish::GoBack).await
}

/// Prints what is known of the versions that do not serve at once.
pub(crate) async fn show(flags: TrialFlags) -> anyhow::Result<()> {
    let api = config_maps(&flags.cluster).await?;
    let statuses = statuses(&api, &flags).await?;
    let of_it: Vec<_> = statuses.iter().filter(|(_, status)| status.plugin == flags.name).collect();
    if of_it.is_empty() {
        bail!("there is no driver {} here: `machinist plugin list` shows which there are", flags.name);
    }
    let texts: Vec<String> = of_it.iter().filter_map(|(map, status)| shown(map, status)).collect();
    if texts.is_empty() {
        println!("no version of {} is or was on trial: all served as soon as they were ready", flags.name);
    }
    print!("{}", texts.join("\n"));
    Ok(())
}

/// Of a version that is or was on trial.
fn shown(map: &str, status: &PluginStatus) -> Option<String> {
    let (held, rollout) = (status.held.as_ref()?, status.rollout.as_ref()?);
    let mode = rollout.mode.as_deref().unwrap_or("all");
    let reason = rollout.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let HeldStatus { driver, version, .. } = held;
    let head = format!("{driver} {version} of ConfigMap {map}, mode {mode}: {}{reason}\n", rollout.decision);
    let seen = match &rollout.shadow {
        Some(calls) => shadow::shown(calls),
        None if rollout.decision == ON_TRIAL => {
            "how its calls end is counted in machinist_plugin_trial_calls_total and on /debug/plugins\n"
                .to_owned()
        }
        None => String::new(),
    };
    Some(head + &seen)
}

async fn request(flags: &TrialFlags, wish: Wish) -> anyhow::Result<()> {
    let api = config_maps(&flags.cluster).await?;
    let statuses = statuses(&api, flags).await?;
    let (map, held) = choose(&statuses, &flags.name, wish)?;
    let held = &held;
    if statuses.iter().any(|(name, status)| name == map && status.claim_denied) {
        // The same word again is no news to the host.
        annotate(&api, map, None).await?;
    }
    annotate(&api, map, Some(format!("{}={}", wish.word(), held.digest))).await?;
    eprintln!("the host is asked to {} {} {} of ConfigMap {map}", wish.word(), held.driver, held.version);
    let status = wait(&api, map, held, wish).await?;
    let HeldStatus { driver, version, .. } = held;
    match (wish, status.serving) {
        (Wish::Promote, true) => println!("{driver} {version} serves"),
        (Wish::Promote, false) => println!("{driver} {version} may serve; a newer version does"),
        (Wish::GoBack, false) => {
            println!("{driver} {version} answers no call any more; the version before serves");
        }
        (Wish::GoBack, true) => bail!(
            "{driver} {version} is the only version that is loaded: it makes no VM any more, and goes on deleting. Push the version \
             that you want under the same plugin name"
        ),
    }
    Ok(())
}

async fn annotate(api: &Api<ConfigMap>, map: &str, word: Option<String>) -> anyhow::Result<()> {
    let word = json!({ "metadata": { "annotations": { PluginKeys::ROLLOUT_ANNOTATION: word } } });
    patch(api, map, &word, &format!("annotate ConfigMap {map}")).await.map(drop)
}

/// Reads the statuses of all drivers, by ConfigMap.
async fn statuses(api: &Api<ConfigMap>, flags: &TrialFlags) -> anyhow::Result<Vec<(String, PluginStatus)>> {
    let task = format!("list the drivers of namespace {}", flags.cluster.namespace);
    let maps = list(api, &format!("{PLUGIN}={}", PluginKeys::DRIVER_KIND), &task).await?;
    let statuses = maps.iter().filter_map(|map| {
        let status = readable_status(status_annotation(map)?);
        Some((map.name.clone()?, status))
    });
    Ok(statuses.collect())
}

/// Chooses the version: the one on trial; for a rollback without a trial, the one that serves.
fn choose<'a>(
    statuses: &'a [(String, PluginStatus)],
    plugin: &str,
    wish: Wish,
) -> anyhow::Result<(&'a str, HeldStatus)> {
    let versions: Vec<_> = statuses.iter().filter(|(_, status)| status.plugin == plugin).collect();
    if versions.is_empty() {
        bail!("there is no driver {plugin} here: `machinist plugin list` shows which there are");
    }
    let in_state = |state: &str| versions.iter().copied().find(|(_, status)| status.state == state);
    let serving = || versions.iter().copied().find(|(_, status)| status.serving);
    let found = match wish {
        Wish::Promote => in_state("Trial")
            .or_else(|| in_state("Withdrawn"))
            .or_else(|| versions.iter().copied().find(|(_, status)| status.claim_denied)),
        Wish::GoBack => in_state("Trial").or_else(serving),
    };
    let Some((map, status)) = found else {
        match wish {
            Wish::Promote => {
                bail!("no version of {plugin} is on trial, withdrawn or rejected for its claim to a provider")
            }
            Wish::GoBack => bail!("no version of {plugin} is on trial or serves"),
        }
    };
    let held = match wish {
        Wish::Promote => denied(status).or_else(|| status.held.clone()),
        Wish::GoBack => status.held.clone(),
    };
    let held = held.with_context(|| format!("ConfigMap {map} holds nothing that was ready"))?;
    Ok((map, held))
}

/// Returns the version of a content that was rejected because another plugin has its provider.
fn denied(status: &PluginStatus) -> Option<HeldStatus> {
    let digest = status.digest.clone().filter(|_| status.claim_denied)?;
    let (driver, version) = (status.plugin.clone(), "that was rejected".to_owned());
    Some(HeldStatus { driver, version, digest, ..HeldStatus::default() })
}

/// Waits until the host has written the decision.
async fn wait(
    api: &Api<ConfigMap>,
    map: &str,
    held: &HeldStatus,
    wish: Wish,
) -> anyhow::Result<PluginStatus> {
    const TIMEOUT: Duration = Duration::from_secs(30);
    const PAUSE: Duration = Duration::from_millis(300);
    let until = Instant::now() + TIMEOUT;
    loop {
        let meta = metadata(api, map, &format!("read ConfigMap {map}")).await?;
        let status = status_annotation(&meta).map(readable_status).unwrap_or_default();
        if is_done(&status, held, wish) {
            return Ok(status);
        }
        if Instant::now() > until && status.claim_denied {
            let reason = status.reason.unwrap_or_default();
            bail!("the host rejects {} {} still: {reason}", held.driver, held.version);
        }
        if Instant::now() > until {
            bail!(
                "no host has answered within {} s: does one run and lead? `machinist plugin list`",
                TIMEOUT.as_secs()
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A version that served at once has no decision to be promoted by.
fn is_done(status: &PluginStatus, held: &HeldStatus, wish: Wish) -> bool {
    let decided = |rollout: &RolloutStatus| {
        rollout.decision == wish.done() && rollout.digest.as_ref() == Some(&held.digest)
    };
    let is_it = || status.digest.as_ref() == Some(&held.digest) && !status.claim_denied;
    let serves = wish == Wish::Promote && status.state == "Ready" && (status.serving || is_it());
    serves || status.rollout.as_ref().is_some_and(decided)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(map: &str, state: &str, serving: bool) -> (String, PluginStatus) {
        let held = HeldStatus {
            driver: "sim".to_owned(),
            version: map.to_owned(),
            digest: format!("sha256:{map}"),
            ..HeldStatus::default()
        };
        let status = PluginStatus {
            plugin: "sim".to_owned(),
            state: state.to_owned(),
            serving,
            held: Some(held),
            ..PluginStatus::default()
        };
        (map.to_owned(), status)
    }

    fn chosen(statuses: &[(String, PluginStatus)], plugin: &str, wish: Wish) -> String {
        choose(statuses, plugin, wish)
            .map_or_else(|error| error.to_string(), |(map, held)| format!("{map} {}", held.digest))
    }

    #[test]
    fn the_version_on_trial_is_meant_first() {
        let both = [version("one", "Ready", true), version("two", "Trial", false)];
        assert_eq!(chosen(&both, "sim", Wish::Promote), "two sha256:two");
        assert_eq!(chosen(&both, "sim", Wish::GoBack), "two sha256:two");
    }

    #[test]
    fn without_a_trial_one_goes_back_from_what_serves_and_promotes_what_was_withdrawn() {
        let both = [version("one", "Ready", false), version("two", "Ready", true)];
        assert_eq!(chosen(&both, "sim", Wish::GoBack), "two sha256:two");
        assert_eq!(
            chosen(&both, "sim", Wish::Promote),
            "no version of sim is on trial, withdrawn or rejected for its claim to a provider"
        );
        let withdrawn = [version("one", "Ready", true), version("two", "Withdrawn", false)];
        assert_eq!(chosen(&withdrawn, "sim", Wish::Promote), "two sha256:two");
    }

    #[test]
    fn a_version_that_was_rejected_for_its_claim_is_promoted_by_its_own_digest() {
        let mut rejected = version("one", "Rejected", true);
        (rejected.1.claim_denied, rejected.1.digest) = (true, Some("sha256:claims".to_owned()));
        assert_eq!(chosen(&[rejected.clone()], "sim", Wish::Promote), "one sha256:claims");
        assert_eq!(chosen(&[rejected.clone()], "sim", Wish::GoBack), "one sha256:one");
        let held = denied(&rejected.1).unwrap();
        assert!(!is_done(&rejected.1, &held, Wish::Promote));
        let ready = PluginStatus { state: "Ready".to_owned(), claim_denied: false, ..rejected.1 };
        assert!(is_done(&ready, &held, Wish::Promote));
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert_eq!(
            chosen(&[version("one", "Ready", true)], "aws", Wish::GoBack),
            "there is no driver aws here: `machinist plugin list` shows which there are"
        );
        let mut bare = version("one", "Trial", false);
        bare.1.held = None;
        assert_eq!(chosen(&[bare], "sim", Wish::Promote), "ConfigMap one holds nothing that was ready");
    }

    #[test]
    fn it_is_done_when_the_host_says_so_of_this_version() {
        let (_, mut status) = version("two", "Withdrawn", false);
        let held = status.held.clone().unwrap();
        assert!(!is_done(&status, &held, Wish::GoBack));
        status.rollout = Some(RolloutStatus {
            decision: "withdrawn".to_owned(),
            digest: Some("sha256:other".to_owned()),
            ..RolloutStatus::default()
        });
        assert!(!is_done(&status, &held, Wish::GoBack));
        status.rollout = Some(RolloutStatus {
            decision: "withdrawn".to_owned(),
            digest: Some(held.digest.clone()),
            ..RolloutStatus::default()
        });
        assert!(is_done(&status, &held, Wish::GoBack));
        assert!(!is_done(&status, &held, Wish::Promote));
    }
}
