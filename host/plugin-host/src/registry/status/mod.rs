//! The annotation `machinist.dev/status`: the state of a plugin, as JSON on its ConfigMap.
//!
//! The host that leads writes it from a [`PluginReport`]. The next host reads it when it starts, and so do
//! `machinist plugin`, `machinist explain` and people. [`PluginStatus`] is the only type of this format.

mod shadow;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use machinist_core::value::id::ProviderName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use shadow::{CallCounts, DifferenceExample, ShadowStatus, cut};

use crate::health_policy::PolicyTerms;
use crate::registry::canary::decided::Decision;
use crate::registry::report::{BundleReport, PluginReport, ReadyReport};
use crate::sources::remote::Resolved;

/// The name of the annotation.
pub const STATUS_ANNOTATION: &str = "machinist.dev/status";

/// A version that neither the host nor a person has promoted or withdrawn.
pub const ON_TRIAL: &str = "on trial";
/// A version that serves after its trial.
pub const PROMOTED: &str = "promoted";
/// A version that answers no call after its trial.
pub const WITHDRAWN: &str = "withdrawn";

/// The state of a plugin.
///
/// A field that is absent has its default: older hosts wrote fewer fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PluginStatus {
    /// The plugin that the ConfigMap is a version of.
    pub plugin: String,
    /// The kind of the plugin, as its label has it.
    pub kind: String,
    /// The fingerprint of the content that this status is about.
    pub content: Option<String>,
    /// The name of a [`PluginState`](crate::PluginState).
    pub state: String,
    /// Why the plugin is in this state, where it needs an explanation.
    pub reason: Option<String>,
    /// When the plugin got into this state, in whole seconds.
    pub since: String,
    /// The ConfigMap answers the plugin's calls.
    pub serving: bool,
    /// Providers that stay with the plugin when the host restarts. The next host reads them.
    pub serves: Vec<String>,
    /// The content was rejected because another plugin has the provider. The next host reads it.
    pub claim_denied: bool,
    /// The digest of the component of this content.
    pub digest: Option<String>,
    /// Problems of the declaration that do not stop the plugin.
    pub warnings: Vec<String>,
    /// How a version with a `rollout.yaml` comes to serve. The next host reads the decision.
    pub rollout: Option<RolloutStatus>,
    /// The digest to which the reference to a registry resolves. The next host reads it.
    pub resolved: Option<ResolvedStatus>,
    /// The key that signed the plugin, where the host checks signatures.
    pub signed_by: Option<String>,
    /// The bundle that the signature covers.
    pub bundle: Option<BundleStatus>,
    /// The version that became Ready last.
    pub held: Option<HeldStatus>,
}

/// A version that became Ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HeldStatus {
    /// The digest of its component.
    pub digest: String,
    /// The name that the component gives itself.
    pub driver: String,
    /// The version that the component gives itself.
    pub version: String,
    /// The tier of the code that its calls begin in.
    pub code: String,
    /// Providers that a driver serves; empty for a health policy.
    pub providers: Vec<String>,
    /// The terms of a health policy.
    pub policy: Option<PolicyStatus>,
}

/// The terms of a health policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PolicyStatus {
    pub mode: String,
    /// The Machines that the policy judges.
    pub applies_to: PolicyScope,
}

/// The Machines that a health policy judges. An empty field excludes none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PolicyScope {
    pub classes: BTreeSet<String>,
    pub deployments: BTreeSet<String>,
    pub labels: BTreeMap<String, String>,
}

/// How a version comes to serve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutStatus {
    /// [`ON_TRIAL`], [`PROMOTED`] or [`WITHDRAWN`].
    pub decision: String,
    /// The digest of the component that the decision is about.
    pub digest: Option<String>,
    /// Why the version was withdrawn.
    pub reason: Option<String>,
    /// The mode of its `rollout.yaml`.
    pub mode: Option<String>,
    /// The calls of a shadow.
    pub shadow: Option<ShadowStatus>,
}

/// The digest to which a reference to a registry resolves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedStatus {
    /// The reference, as the ConfigMap has it.
    pub reference: String,
    /// The value of the annotation that asked for it.
    #[serde(default)]
    pub asked: String,
    /// The digest of the manifest.
    pub manifest: String,
}

/// The bundle that a signature covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BundleStatus {
    /// The counter of the bundle.
    pub counter: u64,
    /// The parts of the plugin beside its component, such as `grants.yaml`.
    pub covers: Vec<String>,
}

impl PluginStatus {
    /// Parses the text of an annotation.
    ///
    /// # Errors
    /// When it is no JSON, or a field has another type.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Reads as much of a status as can be read: a field of another type counts as absent.
    ///
    /// A status survives what another version of the host, or another writer, has put into single fields.
    pub fn readable(status: Value) -> Self {
        let Value::Object(fields) = status else { return Self::default() };
        let is_readable = |(key, value): &(String, Value)| {
            let alone = Map::from_iter([(key.clone(), value.clone())]);
            serde_json::from_value::<Self>(Value::Object(alone)).is_ok()
        };
        let readable: Map<String, Value> = fields.into_iter().filter(is_readable).collect();
        serde_json::from_value(Value::Object(readable)).unwrap_or_default()
    }

    /// Reads the status among the annotations of a ConfigMap; without one all fields have their defaults.
    pub fn of(annotations: &BTreeMap<String, String>) -> Self {
        let Some(text) = annotations.get(STATUS_ANNOTATION) else { return Self::default() };
        Self::parse(text)
            .unwrap_or_else(|_| serde_json::from_str(text).map(Self::readable).unwrap_or_default())
    }

    /// Returns the text of the annotation. Its keys are in the order of the alphabet.
    pub fn to_json(&self) -> String {
        // Serializing fails for maps with other keys than strings, and there are none.
        serde_json::to_value(self).unwrap_or_default().to_string()
    }
}

impl From<&PluginReport> for PluginStatus {
    fn from(report: &PluginReport) -> Self {
        Self {
            plugin: report.plugin.to_string(),
            kind: report.kind.clone(),
            content: report.content.map(|content| content.to_string()),
            state: report.state.name().to_owned(),
            reason: report.reason.clone(),
            since: report.since.round(jiff::Unit::Second).unwrap_or(report.since).to_string(),
            serving: report.serving,
            serves: names(&report.serves),
            claim_denied: report.claim_denied,
            digest: report.digest.map(|digest| digest.to_string()),
            warnings: report.warnings.clone(),
            rollout: RolloutStatus::of(report),
            resolved: report.resolved.as_ref().map(ResolvedStatus::from),
            signed_by: report.signer.clone(),
            bundle: report.bundle.as_ref().map(BundleStatus::from),
            held: report.held.as_ref().map(HeldStatus::from),
        }
    }
}

impl RolloutStatus {
    fn of(report: &PluginReport) -> Option<Self> {
        let rollout = report.rollout.as_ref()?;
        let (decision, reason) = match &rollout.decision {
            None => (ON_TRIAL, None),
            Some(Decision::Promoted) => (PROMOTED, None),
            Some(Decision::Withdrawn(reason)) => (WITHDRAWN, Some(reason.clone())),
        };
        Some(Self {
            decision: decision.to_owned(),
            digest: report.held.as_ref().map(|held| held.digest.to_string()),
            reason,
            mode: rollout.terms.as_ref().map(|terms| terms.mode.name().to_owned()),
            shadow: rollout.shadow.as_ref().map(ShadowStatus::from),
        })
    }
}

impl From<&ReadyReport> for HeldStatus {
    fn from(held: &ReadyReport) -> Self {
        Self {
            digest: held.digest.to_string(),
            driver: held.driver.clone(),
            version: held.version.clone(),
            code: held.code.name().to_owned(),
            providers: names(&held.providers),
            policy: held.terms.as_ref().map(PolicyStatus::from),
        }
    }
}

impl From<&PolicyTerms> for PolicyStatus {
    fn from(terms: &PolicyTerms) -> Self {
        let applies_to = PolicyScope {
            classes: terms.scope.classes.clone(),
            deployments: terms.scope.deployments.clone(),
            labels: terms.scope.labels.clone(),
        };
        Self { mode: terms.mode.as_str().to_owned(), applies_to }
    }
}

impl From<&Resolved> for ResolvedStatus {
    fn from(resolved: &Resolved) -> Self {
        Self {
            reference: resolved.reference.to_string(),
            asked: resolved.asked.clone(),
            manifest: resolved.manifest.to_string(),
        }
    }
}

impl From<&BundleReport> for BundleStatus {
    fn from(bundle: &BundleReport) -> Self {
        Self { counter: bundle.counter, covers: bundle.covers.clone() }
    }
}

fn names(providers: &[ProviderName]) -> Vec<String> {
    providers.iter().map(|provider| provider.as_str().to_owned()).collect()
}
