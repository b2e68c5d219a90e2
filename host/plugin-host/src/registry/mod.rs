//! Which version of which plugin serves which provider: a pure structure. Each change is an argument.
//!
//! - The versions of a plugin are the sources with its name and its role: a driver and a policy of one name are two
//!   plugins. The version with the greatest [`Age::newness`] is the newest (between equals, the greater name decides):
//!   the annotation with a version counts before the creation time. A change of a source's content does not change its
//!   place. The newest version that is Ready serves.
//! - A source keeps the last content that became Ready. When new content cannot serve, the kept one continues to serve,
//!   unless its role changes too. When the source is withdrawn, so is the version.
//! - A version on trial (a canary or a shadow) does not serve while another version does: it is called beside that one
//!   until it is promoted or withdrawn. A withdrawn version serves only when no other can, and then only existing
//!   Machines. A source with a version on trial also keeps the version before it.
//! - A provider belongs to the plugin that serves it, as long as that plugin has a version for it. A version of another
//!   plugin that names the provider is rejected, and stays so until an operator edits its source or asks again. No
//!   plugin gets a provider by being loaded sooner: see [`claims`].
//! - Where versions have counters, a version with a lower counter is displaced as soon as one with a higher counter is
//!   Ready and serves whole: see [`counters`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `catalog` | the registry with routes for calls, reports for people, and a stream of changes |
//! | `routes` | which generation answers for a provider: a snapshot, read without a lock |
//! | `generation` | a loaded version, and the counts of its calls |
//! | `claims` | which plugin owns a provider, by operators and by earlier hosts |
//! | `counters` | versions that are ordered by signed counters |
//! | `quarantine` | pauses a version whose calls break |
//! | `canary` | new versions that answer for a share of the Machines first |
//! | `report` | the report about a plugin, and its states |
//! | `status` | the report as the annotation `machinist.dev/status` |
//! | `attack_tests` | attacks of a driver on the provider of another, for its Secrets and user data |
//! | `counter_tests` | attempts to bring back a signed version that was replaced |

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use machinist_core::value::id::ProviderName;

use crate::sources::configmap::Fingerprint;
use crate::sources::{Age, Contract, PluginKey, SourceId};

pub(crate) mod canary;
pub(crate) mod catalog;
pub(crate) mod claims;
mod counters;
pub(crate) mod generation;
pub(crate) mod quarantine;
pub(crate) mod report;
pub(crate) mod routes;
mod status;

use claims::{Admission, ProviderClaim};

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod counter_tests;
#[cfg(test)]
mod tests;

/// Identifies one declaration of a source: what arrives late for an older one is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Declaration(u64);

/// Where the current declaration of a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Declared,
    /// Something else has to arrive first.
    Waiting {
        reason: String,
    },
    Fetched,
    Verified,
    Ready,
    Rejected {
        reason: String,
    },
}

/// A version as it is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) providers: Vec<ProviderName>,
    /// Of its bundle, where versions are ordered by that.
    pub(crate) counter: Option<u64>,
}

impl From<Vec<ProviderName>> for Offer {
    fn from(providers: Vec<ProviderName>) -> Self {
        Self { providers, counter: None }
    }
}

/// Something that can serve.
#[derive(Clone, Debug)]
pub(crate) struct Version<G> {
    pub(crate) number: u64,
    pub(crate) providers: Vec<ProviderName>,
    pub(crate) counter: Option<u64>,
    pub(crate) generation: G,
    pub(crate) eligibility: Eligibility,
}

/// Whether a version may serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Eligibility {
    /// As soon as it is the newest.
    Whole,
    /// Beside the one that serves.
    Trial,
    /// Only when there is no other.
    Withdrawn { reason: String },
}

impl Eligibility {
    /// The lower, the sooner.
    fn rank(&self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::Trial => 1,
            Self::Withdrawn { .. } => 2,
        }
    }
}

#[derive(Debug)]
pub(crate) struct SourceState<G> {
    pub(crate) plugin: PluginKey,
    age: Age,
    declaration: Declaration,
    fingerprint: Fingerprint,
    pub(crate) stage: Stage,
    pub(crate) since: Timestamp,
    /// Became Ready, and may serve.
    pub(crate) version: Option<Version<G>>,
    /// Served until `version` became Ready, and serves again if that one is withdrawn.
    pub(crate) before: Option<Version<G>>,
    /// Is loaded, and not admitted yet.
    waiting: Option<Version<G>>,
    /// When it was loaded.
    waiting_since: Timestamp,
    /// Is loaded, and was rejected for the sake of another plugin's claim.
    denied: Option<Version<G>>,
}

/// All sources, and what follows from them.
#[derive(Debug)]
pub(crate) struct Registry<G> {
    sources: BTreeMap<SourceId, SourceState<G>>,
    serving: BTreeMap<PluginKey, Version<G>>,
    claims: BTreeMap<SourceId, ProviderClaim>,
    /// More sources are about to become known.
    is_listing: bool,
    next: u64,
}

impl<G> SourceState<G> {
    /// Decides which version is newer.
    pub(crate) fn age(&self) -> &Age {
        &self.age
    }

    /// Returns the Ready versions, newest first. The earlier version counts only while the later one may not serve:
    /// otherwise its providers are free.
    fn ready(&self) -> [Option<&Version<G>>; 2] {
        let is_whole = self.version.as_ref().is_some_and(|version| version.eligibility == Eligibility::Whole);
        [self.version.as_ref(), self.before.as_ref().filter(|_| !is_whole)]
    }

    /// All that could serve, newest first.
    fn loaded(&self) -> [Option<&Version<G>>; 3] {
        let [version, before] = self.ready();
        [self.waiting.as_ref(), version, before]
    }

    /// A load is running.
    fn is_loading(&self) -> bool {
        matches!(self.stage, Stage::Declared | Stage::Fetched | Stage::Verified)
    }
}

impl<G: Clone> Registry<G> {
    pub(crate) fn new() -> Self {
        Self {
            sources: BTreeMap::new(),
            serving: BTreeMap::new(),
            claims: BTreeMap::new(),
            is_listing: false,
            next: 1,
        }
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = (&SourceId, &SourceState<G>)> {
        self.sources.iter()
    }

    pub(crate) fn serving(&self) -> impl Iterator<Item = (&PluginKey, &Version<G>)> {
        self.serving.iter()
    }

    /// Every version that could serve, newest of a plugin first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Version<G>> {
        let plugins: BTreeSet<&PluginKey> = self.sources.values().map(|source| &source.plugin).collect();
        plugins
            .into_iter()
            .flat_map(|plugin| self.newest_first(plugin))
            .flat_map(|(_, source)| source.ready())
            .flatten()
    }

    /// Returns the versions on trial beside the serving ones, by plugin.
    pub(crate) fn trials(&self) -> impl Iterator<Item = (&PluginKey, &Version<G>)> {
        self.serving.iter().filter_map(|(plugin, serving)| Some((plugin, self.trial(plugin, serving)?)))
    }

    /// The newest that is on trial, if it is newer than what serves.
    fn trial(&self, plugin: &PluginKey, serving: &Version<G>) -> Option<&Version<G>> {
        let sources = self.newest_first(plugin).into_iter();
        sources
            .flat_map(|(_, source)| source.ready())
            .flatten()
            .take_while(|version| version.number != serving.number)
            .find(|version| version.eligibility == Eligibility::Trial)
    }

    /// True when this version is on trial beside another.
    pub(crate) fn is_on_trial(&self, source: &SourceState<G>) -> bool {
        let trial = self.serving.get(&source.plugin).and_then(|serving| self.trial(&source.plugin, serving));
        trial.is_some()
            && trial.map(|trial| trial.number) == source.version.as_ref().map(|version| version.number)
    }

    /// Changes the eligibility of a version. Returns false if the version is gone or has it already.
    pub(crate) fn set_eligibility(&mut self, number: u64, eligibility: Eligibility, now: Timestamp) -> bool {
        let versions = self.sources.values_mut().filter_map(|source| source.version.as_mut());
        let Some(version) = versions.into_iter().find(|version| version.number == number) else {
            return false;
        };
        if version.eligibility == eligibility {
            return false;
        }
        version.eligibility = eligibility;
        self.resolve(now);
        true
    }

    /// True when another version of its plugin could serve in its place.
    pub(crate) fn has_stand_in(&self, number: u64) -> bool {
        let holds_it = |source: &&SourceState<G>| {
            source.version.as_ref().is_some_and(|version| version.number == number)
        };
        let Some(plugin) = self.sources.values().find(holds_it).map(|source| &source.plugin) else {
            return false;
        };
        let sources = self.sources.values().filter(|source| source.plugin == *plugin);
        sources.flat_map(|source| [source.version.as_ref(), source.before.as_ref()]).flatten().any(
            |version| {
                version.number != number && !matches!(version.eligibility, Eligibility::Withdrawn { .. })
            },
        )
    }

    pub(crate) fn is_serving(&self, source: &SourceState<G>) -> bool {
        let serving = self.serving.get(&source.plugin).map(|version| version.number);
        serving.is_some() && serving == source.version.as_ref().map(|version| version.number)
    }

    /// True while a load is running: a provider may yet appear. A source that waits for an operator does not count.
    pub(crate) fn is_loading(&self) -> bool {
        self.sources.values().any(|source| source.is_loading() || source.waiting.is_some())
    }

    /// A source has this content. `None` when that is known.
    pub(crate) fn declare(
        &mut self,
        id: SourceId,
        plugin: PluginKey,
        age: impl Into<Age>,
        fingerprint: Fingerprint,
        now: Timestamp,
    ) -> Option<Declaration> {
        if self.sources.get(&id).is_some_and(|source| source.fingerprint == fingerprint) {
            return None;
        }
        let declaration = Declaration(self.take_number());
        // A version of a driver cannot serve as a policy, nor the reverse.
        let known = self.sources.remove(&id).filter(|source| source.plugin.role == plugin.role);
        let (version, before) = known.map_or((None, None), |source| (source.version, source.before));
        let source = SourceState {
            plugin,
            age: age.into(),
            declaration,
            fingerprint,
            stage: Stage::Declared,
            since: now,
            version,
            before,
            waiting: None,
            waiting_since: now,
            denied: None,
        };
        self.sources.insert(id, source);
        self.resolve(now);
        Some(declaration)
    }

    /// Changes the age of a source with known content.
    pub(crate) fn grow(&mut self, id: &SourceId, age: Age, now: Timestamp) {
        let Some(source) = self.sources.get_mut(id).filter(|source| source.age != age) else { return };
        source.age = age;
        self.resolve(now);
    }

    /// The declaration got this far. False when it is not current any more.
    pub(crate) fn reach(
        &mut self,
        id: &SourceId,
        declaration: Declaration,
        stage: Stage,
        now: Timestamp,
    ) -> bool {
        let Some(source) = self.current(id, declaration) else { return false };
        let had_a_way_to_go = source.is_loading();
        set_stage(source, stage, now);
        if had_a_way_to_go && !source.is_loading() {
            // Others may have waited for it.
            self.resolve(now);
        }
        true
    }

    /// The declaration is loaded. False when it is not current any more.
    pub(crate) fn loaded(
        &mut self,
        id: &SourceId,
        declaration: Declaration,
        offer: impl Into<Offer>,
        (generation, eligibility): (G, Eligibility),
        now: Timestamp,
    ) -> bool {
        let (number, Offer { providers, counter }) = (self.take_number(), offer.into());
        let is_denied = self.claims.get(id).is_some_and(|claim| claim.is_denied);
        let Some(source) = self.current(id, declaration) else { return false };
        let version = Version { number, providers, counter, generation, eligibility };
        if is_denied {
            source.denied = Some(version);
            set_stage(source, Stage::Rejected { reason: claims::denied_before() }, now);
        } else {
            (source.waiting, source.waiting_since) = (Some(version), now);
        }
        self.resolve(now);
        true
    }

    /// Removes a source and its versions.
    pub(crate) fn withdraw(&mut self, id: &SourceId, now: Timestamp) {
        self.claims.remove(id);
        if self.sources.remove(id).is_some() {
            self.resolve(now);
        }
    }

    pub(crate) fn is_current(&self, id: &SourceId, declaration: Declaration) -> bool {
        self.sources.get(id).is_some_and(|source| source.declaration == declaration)
    }

    /// Returns the role of the source, if it is known.
    pub(crate) fn role(&self, id: &SourceId) -> Option<Contract> {
        self.sources.get(id).map(|source| source.plugin.role)
    }

    /// Which content is declared.
    pub(crate) fn fingerprint(&self, id: &SourceId) -> Option<Fingerprint> {
        self.sources.get(id).map(|source| source.fingerprint)
    }

    fn current(&mut self, id: &SourceId, declaration: Declaration) -> Option<&mut SourceState<G>> {
        self.sources.get_mut(id).filter(|source| source.declaration == declaration)
    }

    fn take_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn newest_first(&self, plugin: &PluginKey) -> Vec<(&SourceId, &SourceState<G>)> {
        let mut versions: Vec<_> =
            self.sources.iter().filter(|(_, source)| source.plugin == *plugin).collect();
        versions.sort_by(|(a_id, a), (b_id, b)| (b.age.newness(), b_id).cmp(&(a.age.newness(), a_id)));
        versions
    }

    /// Returns the rank of a plugin among those that claim the same provider: the age of its oldest source.
    fn place(&self, plugin: &PluginKey) -> Option<((u8, Option<Timestamp>), &SourceId)> {
        let sources = self.sources.iter().filter(|(_, source)| source.plugin == *plugin);
        sources.map(|(id, source)| (source.age.seniority(), id)).min()
    }

    /// Returns the plugins whose grants name providers, then the others, both in the order of their oldest sources.
    fn plugins(&self) -> Vec<PluginKey> {
        let mut oldest: BTreeMap<&PluginKey, ((u8, Option<Timestamp>), &SourceId)> = BTreeMap::new();
        for (id, source) in &self.sources {
            let place = (source.age.seniority(), id);
            oldest.entry(&source.plugin).and_modify(|known| *known = (*known).min(place)).or_insert(place);
        }
        let mut plugins: Vec<_> = oldest.into_iter().collect();
        plugins.sort_by_key(|&(plugin, place)| (!self.says_any(plugin), place));
        plugins.into_iter().map(|(plugin, _)| plugin.clone()).collect()
    }

    /// Chooses the serving versions, again as long as a higher counter displaces versions: each time fewer are left.
    fn resolve(&mut self, now: Timestamp) {
        self.resolve_once(now);
        while self.displace_lower(now) {
            self.resolve_once(now);
        }
    }

    fn resolve_once(&mut self, now: Timestamp) {
        let plugins = self.plugins();
        self.serving.retain(|plugin, _| plugins.contains(plugin));
        let mut owners = self.kept_providers();
        let displaced = self.displaced(&owners);
        owners.retain(|provider, _| !displaced.contains_key(provider));
        // A plugin that loses a provider may free it for an earlier plugin of the order. Each round but the last
        // completes one plugin.
        for _ in 0..=plugins.len() {
            let mut has_changed = false;
            for plugin in &plugins {
                let choice = self.choose(plugin, &owners, now);
                let before = self.serving.get(plugin).map(|version| version.number);
                if before == choice.as_ref().map(|version| version.number) {
                    // The same version, perhaps with another eligibility.
                    self.serving.extend(choice.map(|version| (plugin.clone(), version)));
                    continue;
                }
                has_changed = true;
                owners.retain(|_, owner| owner != plugin);
                match choice {
                    Some(version) => {
                        owners.extend(version.providers.iter().map(|name| (name.clone(), plugin.clone())));
                        self.serving.insert(plugin.clone(), version);
                    }
                    None => drop(self.serving.remove(plugin)),
                }
            }
            if !has_changed {
                break;
            }
        }
        self.apply_admissions(&owners, &displaced, now);
    }

    /// Each provider stays with the plugin that serves it, if any version of that plugin still names it.
    fn kept_providers(&self) -> BTreeMap<ProviderName, PluginKey> {
        let mut owners = BTreeMap::new();
        for (plugin, version) in &self.serving {
            for provider in &version.providers {
                let names_it = |version: &Version<G>| version.providers.contains(provider);
                let is_kept = self
                    .newest_first(plugin)
                    .iter()
                    .any(|(_, source)| source.loaded().into_iter().flatten().any(names_it));
                if is_kept {
                    owners.insert(provider.clone(), plugin.clone());
                }
            }
        }
        owners
    }

    fn choose(
        &self,
        plugin: &PluginKey,
        owners: &BTreeMap<ProviderName, PluginKey>,
        now: Timestamp,
    ) -> Option<Version<G>> {
        self.newest_first(plugin)
            .into_iter()
            .flat_map(|(_, source)| source.loaded().map(|version| Some((version?, source.waiting_since))))
            .flatten()
            .filter(|(version, since)| {
                self.admission(plugin, &version.providers, *since, owners, now) == Admission::Admitted
            })
            .map(|(version, _)| version)
            // The first of the lowest.
            .min_by_key(|version| version.eligibility.rank())
            .filter(|version| self.may_serve(plugin, version))
            .cloned()
    }

    /// A version that is on trial or withdrawn does not begin to serve while a better one is being loaded, as after a
    /// start of the host.
    fn may_serve(&self, plugin: &PluginKey, version: &Version<G>) -> bool {
        let serves = self.serving.get(plugin).is_some_and(|serving| serving.number == version.number);
        let holds_it = |source: &SourceState<G>| {
            source.loaded().into_iter().flatten().any(|loaded| loaded.number == version.number)
        };
        let another_is_coming = || {
            let mut others = self.sources.values().filter(|source| source.plugin == *plugin);
            others.any(|source| source.is_loading() && !holds_it(source))
        };
        version.eligibility == Eligibility::Whole || serves || !another_is_coming()
    }

    /// Decides about loaded versions: Ready, waiting for another plugin, or rejected.
    fn apply_admissions(
        &mut self,
        owners: &BTreeMap<ProviderName, PluginKey>,
        displaced: &BTreeMap<ProviderName, PluginKey>,
        now: Timestamp,
    ) {
        let admissions: Vec<(SourceId, Admission)> = self
            .sources
            .iter()
            .filter_map(|(id, source)| {
                let version = source.waiting.as_ref()?;
                let (plugin, since) = (&source.plugin, source.waiting_since);
                Some((id.clone(), self.admission(plugin, &version.providers, since, owners, now)))
            })
            .collect();
        for (id, admission) in admissions {
            let Some(source) = self.sources.get_mut(&id) else { continue };
            match admission {
                Admission::Denied { reason } => {
                    source.denied = source.waiting.take();
                    set_stage(source, Stage::Rejected { reason }, now);
                }
                Admission::Waits { reason } => set_stage(source, Stage::Waiting { reason }, now),
                Admission::Admitted => {
                    let replaced = std::mem::replace(&mut source.version, source.waiting.take());
                    let served = |version: &Version<G>| version.eligibility == Eligibility::Whole;
                    if source.plugin.role == Contract::Driver && replaced.as_ref().is_some_and(served) {
                        source.before = replaced;
                    }
                    set_stage(source, Stage::Ready, now);
                }
            }
        }
        self.let_go(owners, displaced, now);
    }

    /// Rejects versions whose provider another plugin's grants name, and removes records of providers that other
    /// plugins serve.
    fn let_go(
        &mut self,
        owners: &BTreeMap<ProviderName, PluginKey>,
        displaced: &BTreeMap<ProviderName, PluginKey>,
        now: Timestamp,
    ) {
        for source in self.sources.values_mut() {
            let lost = displaced.iter().find_map(|(provider, before)| {
                let owner = owners.get(provider).filter(|owner| *owner != before)?;
                let version = source.version.as_ref().filter(|_| source.plugin == *before)?;
                version.providers.contains(provider).then(|| claims::granted_to(provider, owner))
            });
            if let Some(reason) = lost {
                source.denied = source.version.take();
                source.before = None;
                set_stage(source, Stage::Rejected { reason }, now);
            }
        }
        for (id, claim) in &mut self.claims {
            let Some(plugin) = self.sources.get(id).map(|source| &source.plugin) else { continue };
            claim.recorded.retain(|provider| owners.get(provider).is_none_or(|owner| owner == plugin));
        }
    }
}

fn set_stage<G>(source: &mut SourceState<G>, stage: Stage, now: Timestamp) {
    if source.stage != stage {
        source.stage = stage;
        source.since = now;
    }
}
