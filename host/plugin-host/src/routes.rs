//! Which generation answers for a provider. Made anew at each change and read without a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_core::driver_error::Refusal;
use machinist_core::id::ProviderName;

use crate::digest::Digest;
use crate::generation::Generation;
use crate::registry::{Registry, Stage};

/// A snapshot of what serves.
#[derive(Default)]
pub(crate) struct Routes {
    serving: BTreeMap<ProviderName, Arc<Generation>>,
    pinned: BTreeMap<(ProviderName, Digest), Arc<Generation>>,
    is_loading: bool,
    /// What an operator wants to know when a provider is not served.
    not_serving: Vec<String>,
}

/// What a provider's name leads to.
pub(crate) enum Route {
    Found(Arc<Generation>),
    /// Something is being loaded, and may be it.
    Perhaps(Refusal),
    Nowhere(Refusal),
}

impl Routes {
    pub(crate) fn of(registry: &Registry<Arc<Generation>>) -> Self {
        let mut routes = Self { is_loading: registry.is_loading(), ..Self::default() };
        for (_, version) in registry.serving() {
            for provider in &version.providers {
                routes.serving.insert(provider.clone(), Arc::clone(&version.generation));
            }
        }
        for version in registry.versions() {
            let digest = version.generation.prepared.digest;
            for provider in &version.providers {
                // Newest first: of two with one digest, the newer one's settings hold. Only the plugin that serves a
                // provider answers for it.
                let is_owner = routes
                    .serving
                    .get(provider)
                    .is_some_and(|serving| serving.prepared.plugin == version.generation.prepared.plugin);
                if is_owner {
                    routes
                        .pinned
                        .entry((provider.clone(), digest))
                        .or_insert_with(|| Arc::clone(&version.generation));
                }
            }
        }
        for (id, source) in registry.sources() {
            let state = match &source.stage {
                Stage::Declared | Stage::Fetched | Stage::Verified => "is being loaded",
                Stage::Waiting { .. } => "waits for its parts",
                Stage::Rejected { .. } => "is rejected",
                Stage::Ready => continue,
            };
            routes.not_serving.push(format!("plugin {} ({id}) {state}", source.plugin));
        }
        routes
    }

    pub(crate) fn find(&self, provider: &ProviderName, pin: Option<&Digest>) -> Route {
        let provider = ProviderName::folded(provider.as_str());
        let found = match pin {
            None => self.serving.get(&provider),
            Some(digest) => self.pinned.get(&(provider.clone(), *digest)),
        };
        match found {
            Some(generation) => Route::Found(Arc::clone(generation)),
            None if self.is_loading => Route::Perhaps(self.not_ready()),
            None => Route::Nowhere(match (pin, self.serving.get(&provider)) {
                (Some(pin), Some(serving)) => self.not_loaded(&provider, pin, serving),
                (_, None) | (None, _) => self.unknown(&provider),
            }),
        }
    }

    fn not_loaded(&self, provider: &ProviderName, pin: &Digest, serving: &Generation) -> Refusal {
        let loaded = self.pinned.iter().filter(|((name, _), _)| name == provider);
        let versions = loaded.map(|((_, digest), generation)| {
            let serves = if *digest == serving.prepared.digest { ", serves" } else { "" };
            format!("{digest} ({} {}{serves})", generation.about.name, generation.about.version)
        });
        let problems = self.not_serving.iter().cloned();
        let loaded = versions.chain(problems).collect::<Vec<_>>().join("; ");
        Refusal::NotLoaded { provider: provider.to_string(), pin: (*pin).into(), loaded }
    }

    fn not_ready(&self) -> Refusal {
        Refusal::NotReady { plugin: "for this provider".to_owned(), state: self.not_serving.join(", ") }
    }

    fn unknown(&self, provider: &ProviderName) -> Refusal {
        let mut hint = String::new();
        if !self.serving.is_empty() {
            let names: Vec<&str> = self.serving.keys().map(ProviderName::as_str).collect();
            hint = format!("; served are {}", names.join(", "));
        }
        for problem in &self.not_serving {
            hint.push_str("; ");
            hint.push_str(problem);
        }
        Refusal::UnknownProvider { provider: provider.to_string(), hint }
    }
}
