//! The generation of each provider. Built again at each change and read without a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_artifacts::ContentDigest;
use machinist_core::driver::error::Refusal;
use machinist_core::health_policy::{PolicyFact, ServingState as PolicyStanding};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{PluginName, ProviderName};

use crate::health_policy::PolicyTerms;
use crate::registry::generation::{Generation, PolicyGeneration, Served};
use crate::registry::{Eligibility, Registry, SourceState, Stage, Version};
use crate::sources::SourceId;

/// A snapshot of what serves.
#[derive(Default)]
pub(crate) struct Routes {
    serving: BTreeMap<ProviderName, Arc<Generation>>,
    /// The versions on trial, which answer a part of the calls.
    trials: BTreeMap<ProviderName, Arc<Generation>>,
    /// Why a version that serves, since there is no other, makes nothing.
    withdrawn: BTreeMap<ProviderName, Refusal>,
    pinned: BTreeMap<(ProviderName, ContentDigest), Pinned>,
    policies: BTreeMap<PluginName, Arc<PolicyGeneration>>,
    /// All policies that are declared and can be understood, whether they can be asked or not.
    policy_facts: Arc<[PolicyFact]>,
    is_loading: bool,
    /// The reasons that sources do not serve, for a refusal.
    not_serving: Vec<String>,
}

/// A version that classes may name.
struct Pinned {
    generation: Arc<Generation>,
    /// Why it makes nothing.
    withdrawn: Option<Refusal>,
}

/// The result of a query for a provider.
pub(crate) enum Route {
    Found(Arc<Generation>),
    /// Something is being loaded, and may be it.
    Perhaps(Refusal),
    Nowhere(Refusal),
}

impl Routes {
    /// `terms` are what each source of a policy declares at the moment.
    pub(crate) fn of(registry: &Registry<Served>, terms: &BTreeMap<SourceId, PolicyTerms>) -> Self {
        let mut routes = Self { is_loading: registry.is_loading(), ..Self::default() };
        for (plugin, version) in registry.serving() {
            match &version.generation {
                Served::Driver(generation) => {
                    for provider in &version.providers {
                        routes.serving.insert(provider.clone(), Arc::clone(generation));
                        if let Version { eligibility: Eligibility::Withdrawn { reason }, .. } = version {
                            routes.withdrawn.insert(provider.clone(), only_withdrawn(generation, reason));
                        }
                    }
                }
                Served::Policy(generation) => {
                    routes.policies.insert(plugin.name.clone(), Arc::clone(generation));
                }
            }
        }
        for (_, version) in registry.trials() {
            let Some(generation) = version.generation.driver() else { continue };
            for provider in &version.providers {
                // Only beside what serves: a provider that it would bring is not there yet.
                if routes.serving.contains_key(provider) {
                    routes.trials.insert(provider.clone(), Arc::clone(generation));
                }
            }
        }
        routes.policy_facts = policy_facts(registry, terms);
        for version in registry.versions() {
            let Some(generation) = version.generation.driver() else { continue };
            let digest = generation.prepared.digest;
            for provider in &version.providers {
                // Newest first: of two with one digest, the newer one's settings hold, unless that one was withdrawn.
                // Only the plugin that serves a provider answers for it.
                let is_owner = routes
                    .serving
                    .get(provider)
                    .is_some_and(|serving| serving.prepared.plugin == generation.prepared.plugin);
                if is_owner {
                    let withdrawn = match &version.eligibility {
                        Eligibility::Withdrawn { reason } => Some(pinned_withdrawn(generation, reason)),
                        Eligibility::Whole | Eligibility::Trial => None,
                    };
                    let key = (provider.clone(), digest);
                    let has_better = routes
                        .pinned
                        .get(&key)
                        .is_some_and(|known| known.withdrawn.is_none() || withdrawn.is_some());
                    if !has_better {
                        let generation = Arc::clone(generation);
                        routes.pinned.insert(key, Pinned { generation, withdrawn });
                    }
                }
            }
        }
        for (id, source) in registry.sources() {
            let Some(state) = not_ready(&source.stage) else { continue };
            routes.not_serving.push(format!("plugin {} ({id}) {state}", source.plugin));
        }
        routes
    }

    /// The policies, by name.
    pub(crate) fn policy_facts(&self) -> Arc<[PolicyFact]> {
        Arc::clone(&self.policy_facts)
    }

    /// The generation of a policy that answers.
    pub(crate) fn policy(&self, policy: &PluginName) -> Result<Arc<PolicyGeneration>, Refusal> {
        self.policies.get(policy).cloned().ok_or_else(|| Refusal::NotReady {
            plugin: policy.to_string(),
            state: "no version of it could be loaded".to_owned(),
        })
    }

    /// The version that is on trial beside the one that serves this provider.
    pub(crate) fn trial(&self, provider: &ProviderName) -> Option<&Arc<Generation>> {
        self.trials.get(&ProviderName::folded(provider.as_str()))
    }

    /// Why what answers may not make anything: it was withdrawn, and either there is no other version, or the class
    /// names this one.
    pub(crate) fn withdrawn(&self, provider: &ProviderName, pin: Option<&ContentDigest>) -> Option<&Refusal> {
        let provider = ProviderName::folded(provider.as_str());
        match pin {
            None => self.withdrawn.get(&provider),
            Some(digest) => self.pinned.get(&(provider, *digest))?.withdrawn.as_ref(),
        }
    }

    pub(crate) fn find(&self, provider: &ProviderName, pin: Option<&ContentDigest>) -> Route {
        let provider = ProviderName::folded(provider.as_str());
        let found = match pin {
            None => self.serving.get(&provider),
            Some(digest) => self.pinned.get(&(provider.clone(), *digest)).map(|pinned| &pinned.generation),
        };
        match found {
            Some(generation) => Route::Found(Arc::clone(generation)),
            None if self.is_loading => Route::Perhaps(self.loading(&provider)),
            None => Route::Nowhere(match (pin, self.serving.get(&provider)) {
                (Some(pin), Some(serving)) => self.not_loaded(&provider, pin, serving),
                (_, None) | (None, _) => self.unknown(&provider),
            }),
        }
    }

    fn not_loaded(&self, provider: &ProviderName, pin: &ContentDigest, serving: &Generation) -> Refusal {
        let loaded = self.pinned.iter().filter(|((name, _), _)| name == provider);
        let versions = loaded.map(|((_, digest), Pinned { generation, withdrawn })| {
            let serves = if *digest == serving.prepared.digest {
                ", serves"
            } else if withdrawn.is_some() {
                ", withdrawn"
            } else {
                ""
            };
            format!("{digest} ({} {}{serves})", generation.about.name, generation.about.version)
        });
        let problems = self.not_serving.iter().cloned();
        let loaded = versions.chain(problems).collect::<Vec<_>>().join("; ");
        Refusal::NotLoaded {
            provider: provider.to_string(),
            pin: DriverDigest::from_bytes(pin.bytes()),
            loaded,
        }
    }

    fn loading(&self, provider: &ProviderName) -> Refusal {
        Refusal::Loading { provider: provider.to_string(), loading: self.not_serving.join(", ") }
    }

    fn unknown(&self, provider: &ProviderName) -> Refusal {
        let names = self.serving.keys().map(ProviderName::as_str).collect::<Vec<_>>().join(", ");
        let mut hint = if provider.is_empty() {
            // machine-controller-manager has one driver and does not read the field; here it selects the driver. The
            // only driver does not take such a class: with a second driver the class would lose it.
            let one_of = if names.is_empty() { String::new() } else { format!(" to one of {names}") };
            format!("; the MachineClass names none: set its field provider{one_of}")
        } else if names.is_empty() {
            String::new()
        } else {
            format!("; served are {names}")
        };
        for problem in &self.not_serving {
            hint.push_str("; ");
            hint.push_str(problem);
        }
        Refusal::UnknownProvider { provider: provider.to_string(), hint }
    }
}

/// A withdrawn version serves the existing Machines, and creates no VM.
fn only_withdrawn(generation: &Generation, reason: &str) -> Refusal {
    Refusal::NotReady {
        plugin: generation.prepared.plugin.to_string(),
        state: format!(
            "version {} was withdrawn ({reason}) and is the only one: it deletes Machines and makes none, until another version is \
             there or `machinist plugin promote` lets it serve",
            generation.about.version
        ),
    }
}

/// A class that pins a withdrawn version creates no VM with it either: authors of classes do not undo an operator's
/// decision.
fn pinned_withdrawn(generation: &Generation, reason: &str) -> Refusal {
    Refusal::NotReady {
        plugin: generation.prepared.plugin.to_string(),
        state: format!(
            "the class names version {}, which was withdrawn ({reason}): it deletes Machines and makes none, until the class \
             names another version or none, or `machinist plugin promote` lets this one serve",
            generation.about.version
        ),
    }
}

/// Returns the reason that a source does not serve.
fn not_ready(stage: &Stage) -> Option<&'static str> {
    match stage {
        Stage::Declared | Stage::Fetched | Stage::Verified => Some("is being loaded"),
        Stage::Waiting { .. } => Some("waits for its parts"),
        Stage::Rejected { .. } => Some("is rejected"),
        Stage::Ready => None,
    }
}

/// Returns the problem that a person has to fix.
fn cause(stage: &Stage) -> Option<&str> {
    match stage {
        Stage::Waiting { reason } => Some(reason.trim_start_matches("waits for ")),
        Stage::Rejected { reason } => Some(reason),
        Stage::Declared | Stage::Fetched | Stage::Verified | Stage::Ready => None,
    }
}

/// A serving policy counts with its own terms. A policy without a serving version counts with the terms of its newest
/// source, so that an enforcing policy pauses decisions until it can be called.
fn policy_facts(registry: &Registry<Served>, terms: &BTreeMap<SourceId, PolicyTerms>) -> Arc<[PolicyFact]> {
    let mut facts = BTreeMap::new();
    for (plugin, version) in registry.serving() {
        if let Some(generation) = version.generation.policy() {
            let standing = PolicyStanding::Serving { generation: version.number };
            facts.insert(plugin.name.clone(), fact(&plugin.name, &generation.prepared.terms, standing));
        }
    }
    let mut waiting: Vec<(&SourceId, &SourceState<Served>)> = registry.sources().collect();
    waiting.sort_by(|(one_id, one), (other_id, other)| {
        (other.age().newness(), other_id).cmp(&(one.age().newness(), one_id))
    });
    for (id, source) in waiting {
        let (Some(terms), Some(state)) = (terms.get(id), not_ready(&source.stage)) else { continue };
        facts.entry(source.plugin.name.clone()).or_insert_with(|| {
            let mut reason = format!("plugin {} ({id}) {state}", source.plugin);
            if let Some(cause) = cause(&source.stage) {
                reason = format!("{reason}: {cause}");
            }
            fact(&source.plugin.name, terms, PolicyStanding::NotServing { reason })
        });
    }
    facts.into_values().collect()
}

fn fact(policy: &PluginName, terms: &PolicyTerms, standing: PolicyStanding) -> PolicyFact {
    PolicyFact { policy: policy.clone(), mode: terms.mode, scope: terms.scope.clone(), state: standing }
}
