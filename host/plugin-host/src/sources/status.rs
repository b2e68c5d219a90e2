//! The annotation `machinist.dev/status`: the state of a plugin, as JSON on its ConfigMap.
//!
//! The host that leads writes it from a [`PluginReport`](crate::PluginReport). The next host reads it when it starts,
//! and so do `machinist plugin`, `machinist explain` and people. [`PluginStatus`] is the only type of this format.

use std::collections::{BTreeMap, BTreeSet};

use machinist_artifacts::Bundle;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::sources::keys::PluginKeys;

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

/// How the calls of a shadow compare with those that counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ShadowStatus {
    pub functions: BTreeMap<String, CallCounts>,
    /// The latest example of each kind of difference.
    pub examples: Vec<DifferenceExample>,
}

/// How the calls of a function compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CallCounts {
    pub same: u64,
    /// Other requests or another answer.
    pub differs: u64,
    /// Reads that neither the recording nor the cloud has answered: `shadow-reads` of the grants do not list them. They
    /// are compared with nothing.
    pub unread: u64,
    pub broken: u64,
    /// Not asked: no room, or the call that counted broke itself.
    pub left_out: u64,
}

/// An example of a kind of difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DifferenceExample {
    pub function: String,
    /// The Machine or class of the call.
    pub subject: String,
    /// How often the difference was seen.
    pub seen: u64,
    /// The difference. The only text of a status with several lines.
    pub text: String,
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

impl BundleStatus {
    pub(crate) fn of(bundle: &Bundle) -> Self {
        Self { counter: bundle.counter, covers: bundle.covers() }
    }
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
        let Some(text) = annotations.get(PluginKeys::STATUS_ANNOTATION) else { return Self::default() };
        Self::parse(text)
            .unwrap_or_else(|_| serde_json::from_str(text).map(Self::readable).unwrap_or_default())
    }

    /// Returns the text of the annotation. Its keys are in the order of the alphabet.
    pub fn to_json(&self) -> String {
        // Serializing fails for maps with other keys than strings, and there are none.
        serde_json::to_value(self).unwrap_or_default().to_string()
    }
}

/// Returns the text, or its first characters and an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    format!("{} …", text.chars().take(most).collect::<String>())
}
