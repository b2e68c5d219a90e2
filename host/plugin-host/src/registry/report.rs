//! The report about a plugin: for Events, the ConfigMap's status annotation and `machinist plugin list`.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_artifacts::ContentDigest;
use machinist_core::value::id::{PluginName, ProviderName};

use crate::calls::engine::CodeTier;
use crate::health_policy::PolicyTerms;
use crate::registry::canary::decided::Decision;
use crate::registry::canary::{Figures, ShadowReport};
use crate::sources::SourceId;
use crate::sources::configmap::Fingerprint;
use crate::sources::release::Release;
use crate::sources::remote::Resolved;
use crate::sources::status::BundleStatus;

/// One source: what it declares, and what of it serves. The two differ while its newest content is loading or rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginReport {
    /// Which plugin it is a version of.
    pub plugin: PluginName,
    /// The kind of plugin, as the label names it.
    pub kind: String,
    /// Where it comes from.
    pub source: SourceId,
    /// Which content of the source this is about.
    pub content: Option<Fingerprint>,
    /// Where the source's content is on its way.
    pub state: PluginState,
    /// Why, when it is Rejected or Quarantined; what it waits for, when it is Declared and waits.
    pub reason: Option<String>,
    /// When it got into this state.
    pub since: Timestamp,
    /// Oddities of the declaration that do no harm.
    pub warnings: Vec<String>,
    /// ContentDigest of the source's content, once it is unpacked.
    pub digest: Option<ContentDigest>,
    pub size_bytes: Option<usize>,
    /// How long the compiler took; `None` when its code came from the cache, or is not there.
    pub compile_ms: Option<u64>,
    /// Its code came from the cache.
    pub from_cache: bool,
    /// The resolution of its reference to a registry.
    pub resolved: Option<Resolved>,
    /// The key by which it is signed, where that was checked.
    pub signer: Option<String>,
    /// The parts that its signature covers beside the component, where it is that of a bundle.
    pub bundle: Option<BundleStatus>,
    /// True when this source answers the plugin's calls.
    pub serving: bool,
    /// Which providers are its own over a restart of the host: those that it serves, or served before it was loaded
    /// again.
    pub serves: Vec<ProviderName>,
    /// True when its content was rejected for the sake of another plugin's claim to a provider.
    pub claim_denied: bool,
    /// How what it holds comes to serve, unless at once.
    pub rollout: Option<ReleaseReport>,
    /// The version that became Ready last.
    pub held: Option<ReadyReport>,
}

/// A version that became Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyReport {
    /// ContentDigest of its component.
    pub digest: ContentDigest,
    /// The name that it gives itself.
    pub driver: String,
    pub version: String,
    /// The providers that it serves; empty for a policy.
    pub providers: Vec<ProviderName>,
    /// The operator's settings of a policy.
    pub terms: Option<PolicyTerms>,
    /// The tier of the code that its calls begin in.
    pub code: CodeTier,
    /// Counts up over all plugins; a change is a swap.
    pub generation: u64,
    pub calls_total: u64,
    pub calls_broken: u64,
    /// Calls that are running.
    pub calls_in_flight: usize,
}

/// A version on its way to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseReport {
    /// The terms of its release, unless it was to serve at once.
    pub terms: Option<Arc<Release>>,
    pub decision: Option<Decision>,
    /// How its calls, and those of the version that serves, have ended since the trial began. Of this process.
    pub figures: Figures,
    /// The differences of a shadow. Of this process.
    pub shadow: Option<ShadowReport>,
}

/// The part of a report that decides whether it is sent again: counters do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportSummary {
    plugin: PluginName,
    content: Option<Fingerprint>,
    state: PluginState,
    reason: Option<String>,
    serving: bool,
    serves: Vec<ProviderName>,
    claim_denied: bool,
    digest: Option<ContentDigest>,
    generation: Option<u64>,
    code: Option<CodeTier>,
    warnings: Vec<String>,
    resolved: Option<Resolved>,
    signer: Option<String>,
    bundle: Option<BundleStatus>,
    decision: Option<Decision>,
    shadow: Option<(usize, u64, u64)>,
}

impl PluginReport {
    pub(crate) fn summary(&self) -> ReportSummary {
        ReportSummary {
            plugin: self.plugin.clone(),
            content: self.content,
            state: self.state,
            reason: self.reason.clone(),
            serving: self.serving,
            serves: self.serves.clone(),
            claim_denied: self.claim_denied,
            digest: self.digest,
            generation: self.held.as_ref().map(|held| held.generation),
            code: self.held.as_ref().map(|held| held.code),
            warnings: self.warnings.clone(),
            resolved: self.resolved.clone(),
            signer: self.signer.clone(),
            bundle: self.bundle.clone(),
            decision: self.rollout.as_ref().and_then(|rollout| rollout.decision.clone()),
            shadow: self.rollout.as_ref().and_then(|rollout| Some(rollout.shadow.as_ref()?.summary())),
        }
    }
}

/// Where a source is on its way, or where that way ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginState {
    Declared,
    /// Its component is unpacked and has the right digest.
    Fetched,
    /// The component's outside fits this host; it is being compiled.
    Verified,
    /// Compiled and described. The newest Ready version of a plugin serves.
    Ready,
    /// Ready, and answers a part of the calls beside the version that serves.
    Trial,
    /// Ready, and answers no call: it broke, failed or was slow, and another version serves. The reason says which.
    Withdrawn,
    /// Something is wrong with it; the reason says what.
    Rejected,
    /// It broke again and again, and is not called until then.
    Quarantined {
        /// The end of it.
        until: Timestamp,
    },
}

impl PluginState {
    /// The state's name, for metrics and Events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "Declared",
            Self::Fetched => "Fetched",
            Self::Verified => "Verified",
            Self::Ready => "Ready",
            Self::Trial => "Trial",
            Self::Withdrawn => "Withdrawn",
            Self::Rejected => "Rejected",
            Self::Quarantined { .. } => "Quarantined",
        }
    }
}

impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quarantined { until } => write!(f, "Quarantined until {until}"),
            Self::Declared
            | Self::Fetched
            | Self::Verified
            | Self::Ready
            | Self::Trial
            | Self::Withdrawn
            | Self::Rejected => f.write_str(self.name()),
        }
    }
}

/// When a plugin that breaks is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantineRule {
    /// So many broken calls of one function in a row …
    pub broken_calls: usize,
    pub window: SignedDuration,
    /// How long the first time; each time without a good call in between doubles it.
    pub first: SignedDuration,
    /// And no longer than this.
    pub longest: SignedDuration,
}

impl Default for QuarantineRule {
    fn default() -> Self {
        Self {
            // More than the retries of one unlucky machine within the window.
            broken_calls: 10,
            window: SignedDuration::from_mins(1),
            first: SignedDuration::from_secs(15),
            longest: SignedDuration::from_mins(5),
        }
    }
}
