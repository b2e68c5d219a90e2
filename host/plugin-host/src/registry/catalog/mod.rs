//! The catalog: the registry with routes for calls, reports for people, and a stream of changes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `change` | decides what to do about a source that changed, or whose part changed |
//! | `reported` | the report of a source, and its log line |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use machinist_artifacts::ContentDigest;
use machinist_core::health_policy::Mode;
use machinist_core::value::id::{PluginName, ProviderName};
use tokio::sync::{broadcast, watch};

use crate::health_policy::PolicyTerms;
use crate::loading::load::Progress;
use crate::metrics::{Metrics, SourceStates};
use crate::output_limits as bounds;
use crate::registry::canary::decided::{Decision, VersionDecision};
use crate::registry::canary::{Cause, TrialEnd};
use crate::registry::claims::ProviderClaim;
use crate::registry::generation::{Generation, Served};
use crate::registry::report::{PluginReport, ReportSummary};
use crate::registry::routes::Routes;
use crate::registry::{Declaration, Eligibility, Offer, Registry, SourceState, Stage};
use crate::sources::configmap::{Fingerprint, RawConfigMap};
use crate::sources::keys::PluginKeys;
use crate::sources::part_store::PartStore;
use crate::sources::parts::{FoundPart, Part};
use crate::sources::remote::{Origin, Remote, Resolved};
use crate::sources::signatures::Signed;
use crate::sources::signatures::counters::Counters;
use crate::sources::status::BundleStatus;
use crate::sources::{Age, Content, Contract, Declared, PluginKey, SourceId};

mod change;
pub(crate) mod reported;

use change::Seen;
use reported::{log, ready_report, rollout, state};

/// Changes that a slow listener may lag behind; beyond, it gets all reports again.
const CHANGES: usize = 256;

/// How long it is said of a plugin that a call of it found no memory.
const NO_MEMORY_REPORTED_FOR: SignedDuration = SignedDuration::from_hours(1);

const NO_MEMORY: &str = "calls of it found no memory in the last hour: raise the memory limit of the pod or \
     --plugin-memory, or lower limits.calls_in_flight in the grants of the plugin that holds most \
     (machinist_plugin_memory_bytes)";

/// The consequence of a change for a source.
pub(crate) enum LoadAction {
    Load(Declaration, Box<Declared<Origin>>),
    /// There is nothing to load: what is still loading is for older content.
    Stop,
}

pub(crate) type LoadActions = Vec<(SourceId, LoadAction)>;

pub(crate) struct Catalog {
    state: Mutex<CatalogState>,
    routes: ArcSwap<Routes>,
    changes: broadcast::Sender<PluginReport>,
    revision: watch::Sender<u64>,
    metrics: Metrics,
    counters: Arc<Counters>,
}

struct CatalogState {
    part_store: PartStore<Indexed>,
    registry: Registry<Served>,
    details: BTreeMap<SourceId, Details>,
    last_reported: BTreeMap<SourceId, ReportSummary>,
    served: BTreeMap<PluginKey, u64>,
    /// Versions on trial that were reported.
    trials_reported: BTreeMap<PluginKey, u64>,
    /// Plugins of which calls found no memory, and until when that is said.
    short_of_memory: BTreeMap<PluginName, Timestamp>,
    /// All plugins must be signed. A version that was loaded under another rule is loaded again when it is declared
    /// again.
    is_strict: bool,
}

/// The data that is kept with an index.
struct Indexed {
    fingerprint: Fingerprint,
}

/// The details of a source's current content.
#[derive(Clone, Debug, Default)]
struct Details {
    content: Option<Fingerprint>,
    /// In the word of the label.
    kind: String,
    /// The terms of a policy; the assumed ones if they are invalid.
    terms: Option<PolicyTerms>,
    /// A part that is gone after it was loaded.
    lost: Option<String>,
    warnings: Vec<String>,
    digest: Option<ContentDigest>,
    size_bytes: Option<usize>,
    compile_ms: Option<u64>,
    from_cache: bool,
    /// The resolution of its reference, also of older content.
    resolved: Option<Resolved>,
    /// The reference that it declares.
    remote: Option<Remote>,
    /// It had to be signed when it was declared.
    is_strict: bool,
    signed: Signed,
    /// The decisions about its versions, from before this process or from outside.
    decisions: Vec<VersionDecision>,
}

impl Catalog {
    pub(crate) fn new(metrics: Metrics, counters: Arc<Counters>) -> Self {
        Self {
            state: Mutex::new(CatalogState {
                part_store: PartStore::default(),
                registry: Registry::new(),
                details: BTreeMap::new(),
                last_reported: BTreeMap::new(),
                served: BTreeMap::new(),
                trials_reported: BTreeMap::new(),
                short_of_memory: BTreeMap::new(),
                is_strict: false,
            }),
            routes: ArcSwap::default(),
            changes: broadcast::Sender::new(CHANGES),
            revision: watch::Sender::new(0),
            metrics,
            counters,
        }
    }

    pub(crate) fn routes(&self) -> arc_swap::Guard<Arc<Routes>> {
        self.routes.load()
    }

    /// Changes after each change of the routes.
    pub(crate) fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<PluginReport> {
        self.changes.subscribe()
    }

    pub(crate) fn reports(&self) -> Vec<PluginReport> {
        self.state().reports(Timestamp::now())
    }

    /// From here on everything must be signed, or not.
    pub(crate) fn require_signatures(&self, strict: bool) {
        self.state().is_strict = strict;
    }

    /// Takes note of a ConfigMap. Known content needs nothing.
    pub(crate) fn declare(&self, raw: &RawConfigMap) -> LoadActions {
        if raw.is_part() { self.declare_part(raw) } else { self.declare_source(raw) }
    }

    fn declare_part(&self, raw: &RawConfigMap) -> LoadActions {
        let id = raw.source();
        let found = Part::read(raw).map_or_else(FoundPart::Wrong, FoundPart::Part);
        let now = Timestamp::now();
        let mut state = self.state();
        let mut actions = state.forget_source(&id, now);
        state.part_store.put_part(id.clone(), found);
        actions.extend(state.update_indexes_of(&id, now));
        self.publish(&mut state, now);
        actions
    }

    fn declare_source(&self, raw: &RawConfigMap) -> LoadActions {
        let (id, fingerprint) = (raw.source(), raw.fingerprint());
        let declared = raw.declared();
        let now = Timestamp::now();
        let mut state = self.state();
        // It may have been a part until it was changed.
        state.part_store.take_part(&id);
        let mut actions = state.update_indexes_of(&id, now);
        let kind = raw.labels.get(PluginKeys::KIND_LABEL).cloned().unwrap_or_default();
        let terms = raw.assumed_terms();
        let role = raw.role().or_else(|| state.registry.role(&id)).unwrap_or(Contract::Driver);
        // For known content, the status comes from this host itself.
        if state.details.get(&id).and_then(|details| details.content) != Some(fingerprint) {
            let granted = declared.as_ref().ok().and_then(|declared| declared.grants.providers().cloned());
            let claim = ProviderClaim::of(&raw.annotations, &raw.plugin_name(), fingerprint, granted);
            state.registry.note_claim(&id, claim);
        }
        let seen = Seen {
            id: id.clone(),
            plugin: PluginKey { name: raw.plugin_name(), role },
            age: raw.age(),
            fingerprint,
            kind,
            terms,
        };
        actions.extend(match declared {
            Ok(declared) => match declared.component.clone() {
                Content::Whole(component) => {
                    state.part_store.take_index(&id);
                    let fingerprint = state.under_rule(fingerprint);
                    state.load(seen, declared.with(Origin::Here(component)), fingerprint, now)
                }
                Content::Remote(remote) => {
                    state.part_store.take_index(&id);
                    state.declare_remote(seen, declared.with(remote), now)
                }
                Content::Parts(index) => {
                    state.part_store.put_index(id.clone(), declared.with(index), Indexed { fingerprint });
                    state.update_index(&id, now)
                }
            },
            Err(error) => {
                state.part_store.take_index(&id);
                let stage = Stage::Rejected { reason: bounds::reason(&error) };
                state.declare_without_load(seen, fingerprint, stage, Vec::new(), now)
            }
        });
        // Known content may have moved among the versions.
        state.registry.grow(&id, raw.age(), now);
        state.apply_decisions(&id, VersionDecision::of(&raw.annotations), now);
        self.publish(&mut state, now);
        actions
    }

    /// The source exists and cannot be read. Its version continues to serve.
    pub(crate) fn refuse(&self, id: &SourceId, reason: &str) -> LoadActions {
        let now = Timestamp::now();
        let mut state = self.state();
        let role = state.registry.role(id).unwrap_or(Contract::Driver);
        let terms = state.details.get(id).and_then(|details| details.terms.clone());
        let plugin = PluginKey { name: PluginName::new(id.name.as_str()), role };
        let (fingerprint, kind) = (Fingerprint::of_error(reason), role.label().to_owned());
        let seen = Seen { id: id.clone(), plugin, age: Age::default(), fingerprint, kind, terms };
        let stage = Stage::Rejected { reason: bounds::shown(reason) };
        let actions = state.declare_without_load(seen, fingerprint, stage, Vec::new(), now);
        self.publish(&mut state, now);
        actions
    }

    pub(crate) fn progress(&self, id: &SourceId, declaration: Declaration, progress: &Progress) {
        let now = Timestamp::now();
        let mut state = self.state();
        if !state.registry.is_current(id, declaration) {
            return;
        }
        let details = state.details.entry(id.clone()).or_default();
        let stage = match progress {
            Progress::Resolved { manifest } => {
                details.resolved = details.remote.as_ref().map(|remote| remote.resolved(*manifest));
                Stage::Declared
            }
            Progress::Signed(signed) => {
                details.signed = Signed::clone(signed);
                Stage::Fetched
            }
            Progress::Fetched { digest, size_bytes } => {
                details.digest = Some(*digest);
                details.size_bytes = Some(*size_bytes);
                Stage::Fetched
            }
            Progress::Verified => Stage::Verified,
            Progress::Compiled { took } => {
                details.compile_ms = took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
                details.from_cache = took.is_none();
                Stage::Verified
            }
        };
        state.registry.reach(id, declaration, stage, now);
        self.publish(&mut state, now);
    }

    pub(crate) fn reject(&self, id: &SourceId, declaration: Declaration, reason: &str) {
        let now = Timestamp::now();
        let mut state = self.state();
        state.registry.reach(id, declaration, Stage::Rejected { reason: bounds::shown(reason) }, now);
        self.publish(&mut state, now);
    }

    pub(crate) fn loaded(
        &self,
        id: &SourceId,
        declaration: Declaration,
        providers: Vec<ProviderName>,
        generation: Served,
    ) {
        let now = Timestamp::now();
        let mut state = self.state();
        let eligibility = state.eligibility(id, &generation);
        if state.decision(id, &generation) == Some(&Decision::Promoted) {
            state.registry.ask_again(id, now);
        }
        let signed = state.details.get(id).map(|details| &details.signed);
        let offer = Offer { providers, counter: signed.and_then(Signed::counter) };
        state.registry.loaded(id, declaration, offer, (generation, eligibility), now);
        self.publish(&mut state, now);
    }

    /// More sources are about to become known, or all are.
    pub(crate) fn list(&self, is_listing: bool) {
        let now = Timestamp::now();
        let mut state = self.state();
        state.registry.list(is_listing, now);
        self.publish(&mut state, now);
    }

    /// Whether what was loaded waits for the claim of another plugin.
    pub(crate) fn waits(&self, id: &SourceId) -> bool {
        self.state().registry.waits(id)
    }

    /// A wait for the claim of another plugin may be over.
    pub(crate) fn resolve_waiting(&self) {
        let now = Timestamp::now();
        let mut state = self.state();
        state.registry.resolve_waiting(now);
        self.publish(&mut state, now);
    }

    /// The trial of this version is over. Nothing happens when it has ended otherwise meanwhile.
    pub(crate) fn end_trial(&self, generation: &Arc<Generation>, end: &TrialEnd) {
        let now = Timestamp::now();
        let mut state = self.state();
        let Some((plugin, number, Eligibility::Trial)) = state.find(generation) else { return };
        let (eligibility, step) = match end {
            TrialEnd::Promote(_) => (Eligibility::Whole, "promoted"),
            TrialEnd::Withdraw(cause) => (Eligibility::Withdrawn { reason: cause.to_string() }, "withdrawn"),
        };
        if state.registry.set_eligibility(number, eligibility, now) {
            self.metrics.rolled(&plugin, step);
            self.publish(&mut state, now);
        }
    }

    /// This version, which serves, is left alone again and again: another serves in its place, if there is one.
    pub(crate) fn fall_back(&self, generation: &Arc<Generation>) {
        let now = Timestamp::now();
        let mut state = self.state();
        let Some((plugin, number, Eligibility::Whole)) = state.find(generation) else { return };
        let eligibility = Eligibility::Withdrawn { reason: Cause::Quarantined.to_string() };
        if state.registry.has_stand_in(number) && state.registry.set_eligibility(number, eligibility, now) {
            self.metrics.rolled(&plugin, "withdrawn");
            self.publish(&mut state, now);
        }
    }

    /// The ConfigMap is gone, be it a plugin or a part.
    pub(crate) fn withdraw(&self, id: &SourceId) -> LoadActions {
        let now = Timestamp::now();
        let mut state = self.state();
        let mut actions = state.forget_source(id, now);
        state.part_store.take_part(id);
        actions.extend(state.update_indexes_of(id, now));
        self.publish(&mut state, now);
        actions
    }

    /// A call of this plugin found no memory. Returns until when that is said, unless it is said already.
    pub(crate) fn report_memory_shortage(&self, plugin: &PluginName, now: Timestamp) -> Option<Timestamp> {
        let mut state = self.state();
        state.short_of_memory.retain(|_, until| *until > now);
        if state.short_of_memory.contains_key(plugin) {
            return None;
        }
        let until = now.saturating_add(NO_MEMORY_REPORTED_FOR).unwrap_or(now);
        state.short_of_memory.insert(plugin.clone(), until);
        self.publish(&mut state, now);
        Some(until)
    }

    /// Publishes changes that the registry does not know: a quarantine that began or ended, better code.
    pub(crate) fn refresh(&self) {
        self.publish(&mut self.state(), Timestamp::now());
    }

    fn state(&self) -> MutexGuard<'_, CatalogState> {
        // A panic happened between two consistent states: the registry's methods do not stop half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &mut CatalogState, now: Timestamp) {
        self.routes.store(Arc::new(Routes::of(&state.registry, &state.declared_terms())));
        self.count_swaps(state);
        self.count_trials(state);
        for (plugin, counter) in state.registry.counters() {
            self.counters.note(&plugin, counter);
        }
        let reports = state.reports(now);
        self.metrics.show_states(reports.iter().map(|report| SourceStates {
            plugin: &report.plugin,
            source: report.source.to_string(),
            state: report.state.name(),
            tier: report.held.as_ref().map(|held| held.code.name()),
        }));
        for report in reports {
            let summary = report.summary();
            if state.last_reported.get(&report.source) == Some(&summary) {
                continue;
            }
            state.last_reported.insert(report.source.clone(), summary);
            log(&report);
            // Nobody may be listening.
            let _heard = self.changes.send(report);
        }
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn count_swaps(&self, state: &mut CatalogState) {
        let serving: BTreeMap<PluginKey, u64> =
            state.registry.serving().map(|(plugin, version)| (plugin.clone(), version.number)).collect();
        for (plugin, number) in &serving {
            if state.served.get(plugin).is_some_and(|before| before != number) {
                self.metrics.swapped(&plugin.name);
            }
        }
        state.served = serving;
    }

    fn count_trials(&self, state: &mut CatalogState) {
        let trials_reported: BTreeMap<PluginKey, u64> =
            state.registry.trials().map(|(plugin, version)| (plugin.clone(), version.number)).collect();
        for (plugin, number) in &trials_reported {
            if state.trials_reported.get(plugin) != Some(number) {
                self.metrics.rolled(&plugin.name, "started");
            }
        }
        state.trials_reported = trials_reported;
    }
}

impl CatalogState {
    /// A content that is loaded under this rule about signatures.
    fn under_rule(&self, content: Fingerprint) -> Fingerprint {
        if self.is_strict { content.and("signed") } else { content }
    }

    /// Whether what was loaded may serve, by what its operator wants and by what was decided before.
    fn eligibility(&self, id: &SourceId, generation: &Served) -> Eligibility {
        match self.decision(id, generation) {
            Some(Decision::Withdrawn(reason)) => Eligibility::Withdrawn { reason: reason.clone() },
            Some(Decision::Promoted) => Eligibility::Whole,
            None if generation.trial().is_some() => Eligibility::Trial,
            None => Eligibility::Whole,
        }
    }

    fn decision(&self, id: &SourceId, generation: &Served) -> Option<&Decision> {
        let details = self.details.get(id)?;
        let digest = generation.digest();
        let found =
            details.decisions.iter().find(|decision| decision.is_about(&digest, details.content.as_ref()));
        found.map(|decision| &decision.decision)
    }

    /// Somebody has decided something about a version of this source.
    fn apply_decisions(&mut self, id: &SourceId, decisions: Vec<VersionDecision>, now: Timestamp) {
        let Some(details) = self.details.get_mut(id) else { return };
        if details.decisions == decisions {
            return;
        }
        details.decisions = decisions;
        let denied = self.registry.denied(id).map(|version| version.generation.clone());
        if denied.is_some_and(|denied| self.decision(id, &denied) == Some(&Decision::Promoted)) {
            self.registry.ask_again(id, now);
        }
        let source = self.registry.sources().find(|(source, _)| *source == id);
        let Some(version) = source.and_then(|(_, source)| source.version.clone()) else { return };
        if self.decision(id, &version.generation).is_some() {
            let eligibility = self.eligibility(id, &version.generation);
            self.registry.set_eligibility(version.number, eligibility, now);
        }
    }

    /// Returns the plugin, the number and the eligibility of a source's version.
    fn find(&self, generation: &Arc<Generation>) -> Option<(PluginName, u64, Eligibility)> {
        self.registry.sources().find_map(|(_, source)| {
            let held = source.version.as_ref()?;
            let is_it = held.generation.driver().is_some_and(|held| Arc::ptr_eq(held, generation));
            is_it.then(|| (source.plugin.name.clone(), held.number, held.eligibility.clone()))
        })
    }

    /// By plugin, then source.
    fn reports(&self, now: Timestamp) -> Vec<PluginReport> {
        let mut reports: Vec<_> =
            self.registry.sources().map(|(id, source)| self.report(id, source, now)).collect();
        reports.sort_by(|a, b| (&a.plugin, &a.source).cmp(&(&b.plugin, &b.source)));
        reports
    }

    /// The terms of each source, by what it declares at the moment.
    fn declared_terms(&self) -> BTreeMap<SourceId, PolicyTerms> {
        let terms = |(id, details): (&SourceId, &Details)| Some((id.clone(), details.terms.clone()?));
        self.details.iter().filter_map(terms).collect()
    }

    /// Returns the effect on Machines of an enforcing policy that cannot be called.
    fn holds(&self, source: &SourceState<Served>, terms: Option<&PolicyTerms>) -> Option<String> {
        let waits_for_its_operator = matches!(source.stage, Stage::Rejected { .. } | Stage::Waiting { .. });
        let is_to_decide = terms.is_some_and(|terms| terms.mode == Mode::Enforce);
        let is_served = self.registry.serving().any(|(plugin, _)| *plugin == source.plugin);
        (waits_for_its_operator && is_to_decide && !is_served)
            .then(|| "no Machine that it may be about is failed until it can be asked or is gone".to_owned())
    }

    /// All that is said about a source, wherever it is said: nothing in it is longer or commands more than [`bounds`]
    /// lets pass.
    fn report(&self, id: &SourceId, source: &SourceState<Served>, now: Timestamp) -> PluginReport {
        let details = self.details.get(id).cloned().unwrap_or_default();
        let (state, reason) = state(source, self.registry.is_on_trial(source), now);
        let holds = self.holds(source, details.terms.as_ref());
        let is_short_of_memory =
            self.short_of_memory.get(&source.plugin.name).is_some_and(|until| *until > now);
        let short_of_memory = is_short_of_memory.then(|| NO_MEMORY.to_owned());
        let warnings = details.warnings.into_iter().chain(details.lost).chain(holds).chain(short_of_memory);
        PluginReport {
            plugin: source.plugin.name.clone(),
            kind: details.kind,
            source: id.clone(),
            content: details.content,
            state,
            reason: reason.as_deref().map(bounds::shown),
            since: source.since,
            warnings: warnings.take(bounds::ITEMS).map(|warning| bounds::shown(&warning)).collect(),
            digest: details.digest,
            size_bytes: details.size_bytes,
            compile_ms: details.compile_ms,
            from_cache: details.from_cache,
            resolved: details.resolved,
            bundle: details.signed.bundle.as_ref().map(BundleStatus::of),
            signer: details.signed.signer,
            serving: self.registry.is_serving(source),
            serves: self.registry.record(id).into_iter().collect(),
            claim_denied: self.registry.is_denied(id),
            rollout: source.version.as_ref().and_then(rollout),
            held: source.version.as_ref().map(ready_report),
        }
    }
}
