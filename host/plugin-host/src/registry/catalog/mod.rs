//! The catalog: the registry with routes for calls, reports for people, and a stream of changes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `look` | decides what to do about a source that changed, or whose part changed |
//! | `reported` | the report of a source, and its log line |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use machinist_core::health_policy::Mode;
use machinist_core::value::id::{PluginName, ProviderName};
use tokio::sync::{broadcast, watch};

use crate::calls::output_limits as bounds;
use crate::health_policy::Terms;
use crate::loading::digest::Digest;
use crate::loading::load::Progress;
use crate::loading::signatures::Signed;
use crate::loading::signatures::counters::Counters;
use crate::metrics::{Metrics, RolloutStep};
use crate::registry::canary::decided::{Decision, Said};
use crate::registry::canary::{Cause, Verdict};
use crate::registry::claims::Claim;
use crate::registry::generation::{Generation, Served};
use crate::registry::report::{BundleReport, Gist, PluginReport};
use crate::registry::routes::Routes;
use crate::registry::{Declaration, Offer, Registry, Source, Stage, Standing};
use crate::sources::configmap::{Fingerprint, KIND_LABEL, RawConfigMap};
use crate::sources::parts::{Found, Part};
use crate::sources::remote::{Origin, Remote, Resolved};
use crate::sources::stock::Stock;
use crate::sources::{Age, Content, Declared, PluginKey, Role, SourceId};

mod look;
pub(crate) mod reported;

use look::Seen;
use reported::{held, rollout, state, tell};

/// Changes that a slow listener may lag behind; beyond, it gets all reports again.
const CHANGES: usize = 256;

/// How long it is said of a plugin that a call of it found no memory.
const STRAINED_FOR: SignedDuration = SignedDuration::from_hours(1);

const STRAINED: &str = "calls of it found no memory in the last hour: raise the memory limit of the pod or \
     --plugin-memory, or lower limits.calls_in_flight in the grants of the plugin that holds most \
     (machinist_plugin_memory_bytes)";

/// What is to be done about a source.
pub(crate) enum Order {
    /// Its content is to be loaded.
    Load(Declaration, Box<Declared<Origin>>),
    /// There is nothing to load: what is still loading is for older content.
    Stop,
}

/// Orders, by source.
pub(crate) type Orders = Vec<(SourceId, Order)>;

pub(crate) struct Shelf {
    contents: Mutex<Contents>,
    routes: ArcSwap<Routes>,
    changes: broadcast::Sender<PluginReport>,
    revision: watch::Sender<u64>,
    metrics: Metrics,
    counters: Arc<Counters>,
}

struct Contents {
    stock: Stock<Indexed>,
    registry: Registry<Served>,
    details: BTreeMap<SourceId, Details>,
    told: BTreeMap<SourceId, Gist>,
    served: BTreeMap<PluginKey, u64>,
    /// Versions on trial that were told of.
    tried: BTreeMap<PluginKey, u64>,
    /// Plugins of which calls found no memory, and until when that is said.
    strained: BTreeMap<PluginName, Timestamp>,
    /// Everything must be signed. What was loaded under another rule is loaded again when it is declared again.
    is_strict: bool,
}

/// What is kept with an index.
struct Indexed {
    fingerprint: Fingerprint,
}

/// What is known of a source's current content.
#[derive(Clone, Debug, Default)]
struct Details {
    content: Option<Fingerprint>,
    /// In the word of the label.
    kind: String,
    /// Of a policy; of one whose terms cannot be read, what is assumed.
    terms: Option<Terms>,
    /// A part that is gone after it was loaded.
    lost: Option<String>,
    warnings: Vec<String>,
    digest: Option<Digest>,
    size_bytes: Option<usize>,
    compile_ms: Option<u64>,
    from_cache: bool,
    /// What its reference was resolved to, also by older content.
    resolved: Option<Resolved>,
    /// The reference that it declares.
    remote: Option<Remote>,
    /// It had to be signed when it was declared.
    is_strict: bool,
    signed: Signed,
    /// What was decided about versions of it, before this process or beside it.
    said: Vec<Said>,
}

impl Shelf {
    pub(crate) fn new(metrics: Metrics, counters: Arc<Counters>) -> Self {
        Self {
            contents: Mutex::new(Contents {
                stock: Stock::default(),
                registry: Registry::new(),
                details: BTreeMap::new(),
                told: BTreeMap::new(),
                served: BTreeMap::new(),
                tried: BTreeMap::new(),
                strained: BTreeMap::new(),
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
        self.contents().reports(Timestamp::now())
    }

    /// From here on everything must be signed, or not.
    pub(crate) fn require_signatures(&self, strict: bool) {
        self.contents().is_strict = strict;
    }

    /// Takes note of a ConfigMap. Known content needs nothing.
    pub(crate) fn declare(&self, raw: &RawConfigMap) -> Orders {
        if raw.is_part() { self.declare_part(raw) } else { self.declare_source(raw) }
    }

    fn declare_part(&self, raw: &RawConfigMap) -> Orders {
        let id = raw.source();
        let found = Part::read(raw).map_or_else(Found::Wrong, Found::Part);
        let now = Timestamp::now();
        let mut contents = self.contents();
        let mut orders = contents.forget_source(&id, now);
        contents.stock.put_part(id.clone(), found);
        orders.extend(contents.look_at_indexes_of(&id, now));
        self.publish(&mut contents, now);
        orders
    }

    fn declare_source(&self, raw: &RawConfigMap) -> Orders {
        let (id, fingerprint) = (raw.source(), raw.fingerprint());
        let declared = raw.declared();
        let now = Timestamp::now();
        let mut contents = self.contents();
        // It may have been a part until it was changed.
        contents.stock.take_part(&id);
        let mut orders = contents.look_at_indexes_of(&id, now);
        let kind = raw.labels.get(KIND_LABEL).cloned().unwrap_or_default();
        let terms = raw.assumed_terms();
        let role = raw.role().or_else(|| contents.registry.role(&id)).unwrap_or(Role::Driver);
        // What a host writes about known content is its own word.
        if contents.details.get(&id).and_then(|details| details.content) != Some(fingerprint) {
            let granted = declared.as_ref().ok().and_then(|declared| declared.grants.providers().cloned());
            let claim = Claim::of(&raw.annotations, &raw.plugin_name(), fingerprint, granted);
            contents.registry.note_claim(&id, claim);
        }
        let seen = Seen {
            id: id.clone(),
            plugin: PluginKey { name: raw.plugin_name(), role },
            age: raw.age(),
            fingerprint,
            kind,
            terms,
        };
        orders.extend(match declared {
            Ok(declared) => match declared.component.clone() {
                Content::Whole(component) => {
                    contents.stock.take_index(&id);
                    let fingerprint = contents.under_rule(fingerprint);
                    contents.load(seen, declared.with(Origin::Here(component)), fingerprint, now)
                }
                Content::Remote(remote) => {
                    contents.stock.take_index(&id);
                    contents.look_at_remote(seen, declared.with(remote), now)
                }
                Content::Parts(index) => {
                    contents.stock.put_index(id.clone(), declared.with(index), Indexed { fingerprint });
                    contents.look_at_index(&id, now)
                }
            },
            Err(error) => {
                contents.stock.take_index(&id);
                let stage = Stage::Rejected { reason: bounds::reason(&error) };
                contents.settle(seen, fingerprint, stage, Vec::new(), now)
            }
        });
        // Known content may have moved among the versions.
        contents.registry.grow(&id, raw.age(), now);
        contents.heed(&id, Said::of(&raw.annotations), now);
        self.publish(&mut contents, now);
        orders
    }

    /// The source is there and cannot be read. What it held goes on.
    pub(crate) fn refuse(&self, id: &SourceId, reason: &str) -> Orders {
        let now = Timestamp::now();
        let mut contents = self.contents();
        let role = contents.registry.role(id).unwrap_or(Role::Driver);
        let terms = contents.details.get(id).and_then(|details| details.terms.clone());
        let plugin = PluginKey { name: PluginName::new(id.name.as_str()), role };
        let (fingerprint, kind) = (Fingerprint::of_trouble(reason), role.name().to_owned());
        let seen = Seen { id: id.clone(), plugin, age: Age::default(), fingerprint, kind, terms };
        let stage = Stage::Rejected { reason: bounds::shown(reason) };
        let orders = contents.settle(seen, fingerprint, stage, Vec::new(), now);
        self.publish(&mut contents, now);
        orders
    }

    pub(crate) fn progress(&self, id: &SourceId, declaration: Declaration, progress: &Progress) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        if !contents.registry.is_current(id, declaration) {
            return;
        }
        let details = contents.details.entry(id.clone()).or_default();
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
        contents.registry.reach(id, declaration, stage, now);
        self.publish(&mut contents, now);
    }

    pub(crate) fn reject(&self, id: &SourceId, declaration: Declaration, reason: &str) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        contents.registry.reach(id, declaration, Stage::Rejected { reason: bounds::shown(reason) }, now);
        self.publish(&mut contents, now);
    }

    pub(crate) fn loaded(
        &self,
        id: &SourceId,
        declaration: Declaration,
        providers: Vec<ProviderName>,
        generation: Served,
    ) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        let standing = contents.standing(id, &generation);
        if contents.decision(id, &generation) == Some(&Decision::Promoted) {
            contents.registry.ask_again(id, now);
        }
        let signed = contents.details.get(id).map(|details| &details.signed);
        let offer = Offer { providers, counter: signed.and_then(Signed::counter) };
        contents.registry.loaded(id, declaration, offer, (generation, standing), now);
        self.publish(&mut contents, now);
    }

    /// More sources are about to become known, or all are.
    pub(crate) fn list(&self, is_listing: bool) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        contents.registry.list(is_listing, now);
        self.publish(&mut contents, now);
    }

    /// Whether what was loaded waits for the claim of another plugin.
    pub(crate) fn waits(&self, id: &SourceId) -> bool {
        self.contents().registry.waits(id)
    }

    /// A wait for the claim of another plugin may be over.
    pub(crate) fn look_again(&self) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        contents.registry.look_again(now);
        self.publish(&mut contents, now);
    }

    /// The trial of this version is over. Nothing happens when it has ended otherwise meanwhile.
    pub(crate) fn end_trial(&self, generation: &Arc<Generation>, verdict: &Verdict) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        let Some((plugin, number, Standing::Trial)) = contents.find(generation) else { return };
        let (standing, step) = match verdict {
            Verdict::Promote(_) => (Standing::Whole, RolloutStep::Promoted),
            Verdict::Withdraw(cause) => {
                (Standing::Withdrawn { reason: cause.to_string() }, RolloutStep::Withdrawn)
            }
        };
        if contents.registry.stand(number, standing, now) {
            self.metrics.rolled(&plugin, step);
            self.publish(&mut contents, now);
        }
    }

    /// This version, which serves, is left alone again and again: another serves in its place, if there is one.
    pub(crate) fn fall_back(&self, generation: &Arc<Generation>) {
        let now = Timestamp::now();
        let mut contents = self.contents();
        let Some((plugin, number, Standing::Whole)) = contents.find(generation) else { return };
        let standing = Standing::Withdrawn { reason: Cause::Quarantined.to_string() };
        if contents.registry.has_stand_in(number) && contents.registry.stand(number, standing, now) {
            self.metrics.rolled(&plugin, RolloutStep::Withdrawn);
            self.publish(&mut contents, now);
        }
    }

    /// The ConfigMap is gone, be it a plugin or a part.
    pub(crate) fn withdraw(&self, id: &SourceId) -> Orders {
        let now = Timestamp::now();
        let mut contents = self.contents();
        let mut orders = contents.forget_source(id, now);
        contents.stock.take_part(id);
        orders.extend(contents.look_at_indexes_of(id, now));
        self.publish(&mut contents, now);
        orders
    }

    /// A call of this plugin found no memory. Returns until when that is said, unless it is said already.
    pub(crate) fn strain(&self, plugin: &PluginName, now: Timestamp) -> Option<Timestamp> {
        let mut contents = self.contents();
        contents.strained.retain(|_, until| *until > now);
        if contents.strained.contains_key(plugin) {
            return None;
        }
        let until = now.saturating_add(STRAINED_FOR).unwrap_or(now);
        contents.strained.insert(plugin.clone(), until);
        self.publish(&mut contents, now);
        Some(until)
    }

    /// Looks whether something has changed that the registry is not told: a quarantine that began or ended, better code.
    pub(crate) fn refresh(&self) {
        self.publish(&mut self.contents(), Timestamp::now());
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        // Whoever panicked here was between two consistent states: the registry's methods do not stop half way.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, contents: &mut Contents, now: Timestamp) {
        self.routes.store(Arc::new(Routes::of(&contents.registry, &contents.declared_terms())));
        self.count_swaps(contents);
        self.count_trials(contents);
        for (plugin, counter) in contents.registry.counters() {
            self.counters.note(&plugin, counter);
        }
        let reports = contents.reports(now);
        self.metrics.show_states(&reports);
        for report in reports {
            let gist = report.gist();
            if contents.told.get(&report.source) == Some(&gist) {
                continue;
            }
            contents.told.insert(report.source.clone(), gist);
            tell(&report);
            // Nobody may be listening.
            let _heard = self.changes.send(report);
        }
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn count_swaps(&self, contents: &mut Contents) {
        let serving: BTreeMap<PluginKey, u64> =
            contents.registry.serving().map(|(plugin, version)| (plugin.clone(), version.number)).collect();
        for (plugin, number) in &serving {
            if contents.served.get(plugin).is_some_and(|before| before != number) {
                self.metrics.swapped(&plugin.name);
            }
        }
        contents.served = serving;
    }

    fn count_trials(&self, contents: &mut Contents) {
        let tried: BTreeMap<PluginKey, u64> =
            contents.registry.trials().map(|(plugin, version)| (plugin.clone(), version.number)).collect();
        for (plugin, number) in &tried {
            if contents.tried.get(plugin) != Some(number) {
                self.metrics.rolled(&plugin.name, RolloutStep::Started);
            }
        }
        contents.tried = tried;
    }
}

impl Contents {
    /// A content that is loaded under this rule about signatures.
    fn under_rule(&self, content: Fingerprint) -> Fingerprint {
        if self.is_strict { content.and("signed") } else { content }
    }

    /// Whether what was loaded may serve, by what its operator wants and by what was decided before.
    fn standing(&self, id: &SourceId, generation: &Served) -> Standing {
        match self.decision(id, generation) {
            Some(Decision::Withdrawn(reason)) => Standing::Withdrawn { reason: reason.clone() },
            Some(Decision::Promoted) => Standing::Whole,
            None if generation.trial().is_some() => Standing::Trial,
            None => Standing::Whole,
        }
    }

    fn decision(&self, id: &SourceId, generation: &Served) -> Option<&Decision> {
        let details = self.details.get(id)?;
        let digest = generation.digest();
        let said = details.said.iter().find(|said| said.is_about(&digest, details.content.as_ref()));
        said.map(|said| &said.decision)
    }

    /// Somebody has decided something about a version of this source.
    fn heed(&mut self, id: &SourceId, said: Vec<Said>, now: Timestamp) {
        let Some(details) = self.details.get_mut(id) else { return };
        if details.said == said {
            return;
        }
        details.said = said;
        let denied = self.registry.denied(id).map(|version| version.generation.clone());
        if denied.is_some_and(|denied| self.decision(id, &denied) == Some(&Decision::Promoted)) {
            self.registry.ask_again(id, now);
        }
        let source = self.registry.sources().find(|(source, _)| *source == id);
        let Some(held) = source.and_then(|(_, source)| source.held.clone()) else { return };
        if self.decision(id, &held.generation).is_some() {
            let standing = self.standing(id, &held.generation);
            self.registry.stand(held.number, standing, now);
        }
    }

    /// The plugin, the number and the standing of a version that a source holds.
    fn find(&self, generation: &Arc<Generation>) -> Option<(PluginName, u64, Standing)> {
        self.registry.sources().find_map(|(_, source)| {
            let held = source.held.as_ref()?;
            let is_it = held.generation.driver().is_some_and(|held| Arc::ptr_eq(held, generation));
            is_it.then(|| (source.plugin.name.clone(), held.number, held.standing.clone()))
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
    fn declared_terms(&self) -> BTreeMap<SourceId, Terms> {
        let terms = |(id, details): (&SourceId, &Details)| Some((id.clone(), details.terms.clone()?));
        self.details.iter().filter_map(terms).collect()
    }

    /// What follows for Machines from a policy that is to decide and cannot be asked.
    fn holds(&self, source: &Source<Served>, terms: Option<&Terms>) -> Option<String> {
        let waits_for_its_operator = matches!(source.stage, Stage::Rejected { .. } | Stage::Waiting { .. });
        let is_to_decide = terms.is_some_and(|terms| terms.mode == Mode::Enforce);
        let is_served = self.registry.serving().any(|(plugin, _)| *plugin == source.plugin);
        (waits_for_its_operator && is_to_decide && !is_served)
            .then(|| "no Machine that it may be about is failed until it can be asked or is gone".to_owned())
    }

    /// All that is said about a source, wherever it is said: nothing in it is longer or commands more than [`bounds`]
    /// lets pass.
    fn report(&self, id: &SourceId, source: &Source<Served>, now: Timestamp) -> PluginReport {
        let details = self.details.get(id).cloned().unwrap_or_default();
        let (state, reason) = state(source, self.registry.is_on_trial(source), now);
        let holds = self.holds(source, details.terms.as_ref());
        let is_strained = self.strained.get(&source.plugin.name).is_some_and(|until| *until > now);
        let strained = is_strained.then(|| STRAINED.to_owned());
        let warnings = details.warnings.into_iter().chain(details.lost).chain(holds).chain(strained);
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
            bundle: details.signed.bundle.as_ref().map(BundleReport::of),
            signer: details.signed.signer,
            serving: self.registry.is_serving(source),
            serves: self.registry.record(id).into_iter().collect(),
            claim_denied: self.registry.is_denied(id),
            rollout: source.held.as_ref().and_then(rollout),
            held: source.held.as_ref().map(held),
        }
    }
}
