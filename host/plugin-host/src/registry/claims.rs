//! The owners of providers, by grants of operators and by records of earlier hosts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use machinist_core::value::id::{PluginName, ProviderName};

use super::{Eligibility, Registry, SourceState};
use crate::sources::configmap::Fingerprint;
use crate::sources::status::PluginStatus;
use crate::sources::{Contract, PluginKey, SourceId};

/// A version waits so long for another plugin that a provider is recorded for, or that is older, and that is still
/// being loaded. The compiler has as much for one component.
pub(crate) const CLAIM_TIMEOUT: SignedDuration = SignedDuration::from_mins(5);

/// The remedy for a rejected claim. Waiting does not help.
const REMEDY: &str =
    "it stays rejected until its ConfigMap or grants are edited, or `machinist plugin promote` asks again";

/// The facts about a source's claim that are known without its component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderClaim {
    /// The providers that the grants name. `None`: they say nothing.
    pub(crate) granted: Option<BTreeSet<ProviderName>>,
    /// The providers that it served when a host last wrote so.
    pub(crate) recorded: BTreeSet<ProviderName>,
    /// A host has rejected this content for the sake of another plugin.
    pub(crate) is_denied: bool,
}

impl ProviderClaim {
    /// Reads the status of this plugin. An invalid status is ignored.
    pub(crate) fn of(
        annotations: &BTreeMap<String, String>,
        plugin: &PluginName,
        content: Fingerprint,
        granted: Option<BTreeSet<ProviderName>>,
    ) -> Self {
        let status = PluginStatus::of(annotations);
        if status.plugin != plugin.as_str() {
            return Self { granted, ..Self::default() };
        }
        // Hosts that wrote no `serves` wrote `serving` and `held`.
        let held = status.held.filter(|_| status.serving).unwrap_or_default().providers;
        Self {
            granted,
            recorded: status.serves.iter().chain(&held).map(|name| ProviderName::folded(name)).collect(),
            is_denied: status.claim_denied && status.content == Some(content.to_string()),
        }
    }

    /// Whether a component of this source may come to serve the provider.
    fn may_be_for(&self, provider: &ProviderName) -> bool {
        self.granted.as_ref().is_none_or(|granted| granted.contains(provider))
    }

    fn says(&self, provider: &ProviderName) -> bool {
        self.granted.as_ref().is_some_and(|granted| granted.contains(provider))
    }
}

/// The reason that a provider is not free for a version, although no plugin serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    /// Not all plugins are known yet.
    Listing,
    /// This one may have a better claim, and is being loaded.
    Loading(PluginKey),
    /// It is recorded for this one, which is not there to serve it.
    Recorded(PluginKey),
}

/// The decision about a loaded version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Admitted,
    Waits { reason: String },
    Denied { reason: String },
}

/// Returns the reason of a version whose provider belongs to another plugin.
pub(super) fn served_by(provider: &ProviderName, owner: &PluginKey) -> String {
    format!("provider {provider} is served by plugin {owner}, and the first stays; {REMEDY}")
}

/// Why a version is not admitted that another one displaces.
pub(super) fn granted_to(provider: &ProviderName, owner: &PluginKey) -> String {
    format!(
        "provider {provider} is named by the grants of plugin {owner}, and not by those of this one; {REMEDY}"
    )
}

/// Returns the reason of a version whose claim a host has rejected before.
pub(super) fn denied_before() -> String {
    format!("a provider that it claims was another plugin's when it was loaded first; {REMEDY}")
}

impl Reserved {
    fn admission(&self, provider: &ProviderName) -> Admission {
        match self {
            Self::Listing => {
                Admission::Waits { reason: "waits until all plugins of the namespace are known".to_owned() }
            }
            Self::Loading(plugin) => Admission::Waits {
                reason: format!(
                    "waits for plugin {plugin}, which may serve provider {provider} and is being loaded"
                ),
            },
            Self::Recorded(plugin) => Admission::Denied {
                reason: format!(
                    "provider {provider} is recorded for plugin {plugin}, which is not Ready; {REMEDY}"
                ),
            },
        }
    }
}

impl<G: Clone> Registry<G> {
    /// Records a source's claim before it is declared. Recorded providers stay recorded: a host writes no record of a
    /// version that is being loaded.
    pub(crate) fn note_claim(&mut self, id: &SourceId, mut claim: ProviderClaim) {
        if let Some(known) = self.claims.get(id) {
            claim.recorded.extend(known.recorded.iter().cloned());
        }
        self.claims.insert(id.clone(), claim);
    }

    /// An operator wants a rejected claim to be looked at again. False when there is none.
    pub(crate) fn ask_again(&mut self, id: &SourceId, now: Timestamp) -> bool {
        if let Some(claim) = self.claims.get_mut(id) {
            claim.is_denied = false;
        }
        let Some(source) = self.sources.get_mut(id) else { return false };
        let Some(version) = source.denied.take() else { return false };
        source.waiting = Some(version);
        source.waiting_since = now;
        self.resolve(now);
        true
    }

    /// Returns the loaded version that was rejected for its claim.
    pub(crate) fn denied(&self, id: &SourceId) -> Option<&super::Version<G>> {
        self.sources.get(id)?.denied.as_ref()
    }

    /// Whether what is loaded waits for another plugin.
    pub(crate) fn waits(&self, id: &SourceId) -> bool {
        self.sources.get(id).is_some_and(|source| source.waiting.is_some())
    }

    /// Sets whether more sources will be declared. Until then no plugin gets a free provider.
    pub(crate) fn list(&mut self, is_listing: bool, now: Timestamp) {
        self.is_listing = is_listing;
        if !is_listing {
            self.resolve(now);
        }
    }

    /// Waits that have an end by time alone may have reached it.
    pub(crate) fn resolve_waiting(&mut self, now: Timestamp) {
        self.resolve(now);
    }

    /// Returns the providers that a host records for the next one: those that the source serves, or served before it
    /// began to be loaded.
    pub(crate) fn record(&self, id: &SourceId) -> BTreeSet<ProviderName> {
        let Some(source) = self.sources.get(id) else { return BTreeSet::new() };
        let serving = self.serving.get(&source.plugin);
        let own = serving.filter(|serving| {
            source.loaded().into_iter().flatten().any(|version| version.number == serving.number)
        });
        match own {
            Some(version) => version.providers.iter().cloned().collect(),
            None => self.claims.get(id).map(|claim| claim.recorded.clone()).unwrap_or_default(),
        }
    }

    /// Whether the claim of this source was rejected, by this host or before it.
    pub(crate) fn is_denied(&self, id: &SourceId) -> bool {
        let is_loaded =
            |source: &SourceState<G>| source.waiting.is_some() || matches!(source.stage, super::Stage::Ready);
        self.sources.get(id).is_some_and(|source| {
            source.denied.is_some()
                || (!is_loaded(source) && self.claims.get(id).is_some_and(|claim| claim.is_denied))
        })
    }

    /// Whether grants of the plugin name the provider.
    pub(super) fn says(&self, plugin: &PluginKey, provider: &ProviderName) -> bool {
        self.of_plugin(plugin).any(|(_, claim)| claim.says(provider))
    }

    /// Whether grants of the plugin name providers at all.
    pub(super) fn says_any(&self, plugin: &PluginKey) -> bool {
        self.of_plugin(plugin).any(|(_, claim)| claim.granted.is_some())
    }

    fn of_plugin(&self, plugin: &PluginKey) -> impl Iterator<Item = (&SourceState<G>, &ProviderClaim)> {
        let sources = self.sources.iter().filter(move |(_, source)| source.plugin == *plugin);
        sources.filter_map(move |(id, source)| Some((source, self.claims.get(id)?)))
    }

    /// Returns the providers whose owners have silent grants, and lose them to a loaded plugin whose grants name the
    /// provider.
    pub(super) fn displaced(
        &self,
        owners: &BTreeMap<ProviderName, PluginKey>,
    ) -> BTreeMap<ProviderName, PluginKey> {
        let is_displaced = |(provider, owner): &(&ProviderName, &PluginKey)| {
            !self.says(owner, provider)
                && self.sources.iter().any(|(id, source)| {
                    source.plugin != **owner
                        && self.claims.get(id).is_some_and(|claim| claim.says(provider))
                        && source.loaded().into_iter().flatten().any(|version| {
                            version.eligibility == Eligibility::Whole && version.providers.contains(provider)
                        })
                })
        };
        let displaced = owners.iter().filter(is_displaced);
        displaced.map(|(provider, owner)| (provider.clone(), owner.clone())).collect()
    }

    /// Whether a version of the plugin, which has been loaded since `since`, may have what it claims.
    pub(super) fn admission(
        &self,
        plugin: &PluginKey,
        providers: &[ProviderName],
        since: Timestamp,
        owners: &BTreeMap<ProviderName, PluginKey>,
        now: Timestamp,
    ) -> Admission {
        let taken = providers.iter().find_map(|provider| {
            let owner = owners.get(provider).filter(|owner| *owner != plugin)?;
            Some(Admission::Denied { reason: served_by(provider, owner) })
        });
        if let Some(taken) = taken {
            return taken;
        }
        let free = providers.iter().filter(|provider| !owners.contains_key(*provider));
        let mut waits = Admission::Admitted;
        for provider in free {
            let Some(reserved) = self.reserved(plugin, provider, since, now) else { continue };
            match reserved.admission(provider) {
                Admission::Admitted => {}
                Admission::Waits { reason } => waits = Admission::Waits { reason },
                denied @ Admission::Denied { .. } => return denied,
            }
        }
        waits
    }

    fn reserved(
        &self,
        plugin: &PluginKey,
        provider: &ProviderName,
        since: Timestamp,
        now: Timestamp,
    ) -> Option<Reserved> {
        if self.is_listing {
            return Some(Reserved::Listing);
        }
        let may_wait = now < since.saturating_add(CLAIM_TIMEOUT).unwrap_or(Timestamp::MAX);
        let (own_says, own_place) = (self.says(plugin, provider), self.place(plugin));
        let own_record = self.of_plugin(plugin).any(|(_, claim)| claim.recorded.contains(provider));
        let silent = ProviderClaim::default();
        let mut found = None;
        for (id, source) in &self.sources {
            let claim = self.claims.get(id).unwrap_or(&silent);
            let is_out = source.plugin == *plugin
                || source.plugin.role != Contract::Driver
                || self.is_denied(id)
                || !claim.may_be_for(provider)
                || (own_says && !claim.says(provider));
            if is_out {
                continue;
            }
            let loaded = || source.loaded().into_iter().flatten();
            let names_it = loaded().any(|version| version.providers.contains(provider));
            let (is_loaded, is_coming) = (loaded().next().is_some(), source.is_loading());
            let says_more = claim.says(provider) && !own_says;
            let is_older = self.place(&source.plugin) < own_place;
            if claim.recorded.contains(provider) {
                let is_obsolete = is_loaded && !names_it && !is_coming;
                let is_ours_first = own_record && !is_older;
                if is_obsolete || is_ours_first {
                    continue;
                }
                if !(may_wait && (is_coming || names_it)) {
                    return Some(Reserved::Recorded(source.plugin.clone()));
                }
                found = Some(Reserved::Loading(source.plugin.clone()));
            } else if may_wait && is_coming && (says_more || (!is_loaded && !own_record && is_older)) {
                found = Some(Reserved::Loading(source.plugin.clone()));
            }
        }
        found
    }
}
