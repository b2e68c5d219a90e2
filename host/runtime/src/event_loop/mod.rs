//! The event loop: changes requeue keys, keys are reconciled, and each reconcile returns when the next one follows.
//!
//! One task owns queue, barrier, retry ledger and indexes; nothing else touches them. Reconciles run beside it, one at
//! a time for each key.
//!
//! | module | what it does |
//! | --- | --- |
//! | `changes` | which keys a change requeues, and with which priority |
//! | `owners` | requeues sets and deployments |
//! | `index`, `relations` | which objects depend on which, by their Node, VM, cloud account and the gate |
//! | `infra`, `identities` | requeues the kinds for Cluster API, and the credentials that they use |
//! | `own_writes` | recognises the events of a reconcile's own writes |
//! | `queries` | answers questions about one key |

mod changes;
mod identities;
mod index;
mod infra;
mod own_writes;
mod owners;
mod queries;
pub(crate) mod relations;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_core::machine::Requeue;
use machinist_core::machine_set::Freshness;
use machinist_core::scheduling::barrier::Barrier;
use machinist_core::scheduling::queue::{Due, Priority, Queue};
use machinist_core::scheduling::retry::{CloudAccounts, FailureCounts};
use machinist_core::value::id::ObjectKey;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error, info, info_span};

use crate::context::Context;
use crate::context::key::{Key, Kind};
use crate::controllers::classes::class_check;
use crate::controllers::classes::finalizers;
use crate::controllers::facts::machine::observe::RetryFacts;
use crate::controllers::state::TenantState;
use crate::controllers::{
    infra_cluster, infra_identity, infra_machine, infra_remediation, infra_template, machine,
    machine_deployment, machine_set,
};
use crate::driver_calls::call_slots::CloudAccount;
use crate::driver_calls::slots::{ReconcileSlot, ReconcileSlots};
use crate::events::EventRecorder;
use crate::machine_query::{MachineQuery, ReadyCondition};
use crate::message::{AccountSignal, Message, Report};
use crate::metrics::{Metrics, Milestone};

/// Pauses up to this one, after a create in doubt, lead to probes for the VM that it may have created.
const LONGEST_PROBE_PAUSE: SignedDuration = SignedDuration::from_secs(15);

/// The kinds that are watched for Cluster API.
const INFRA_KINDS: [Kind; 7] = [
    Kind::InfraMachine,
    Kind::InfraCluster,
    Kind::InfraTemplate,
    Kind::InfraRemediation,
    Kind::InfraIdentity,
    Kind::OwnerMachine,
    Kind::OwnerCluster,
];

use identities::IdentityIndex;
use index::Index;
use infra::InfraIndex;
use own_writes::OwnWrites;
use owners::Owners;

/// How a tenant has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownResult {
    /// All that it has asked of the API servers was answered.
    Complete,
    /// Requests may still arrive: the Lease must not be released before they cannot.
    RequestsPending,
}

/// The loop of one tenant.
pub(crate) struct Engine {
    tenant: TenantState,
    context: Arc<Context>,
    events: EventRecorder,
    metrics: Arc<Metrics>,
    inbox: mpsc::UnboundedReceiver<Message>,
    /// Queries of operators; few may wait.
    queries: mpsc::Receiver<MachineQuery>,
    /// Kinds whose first listing is complete. Before that the indexes lack dependencies.
    listed: BTreeSet<Kind>,
    /// True once the health policies are known. Before that a Machine could fail although a policy holds it.
    knows_plugins: bool,
    queue: Queue<Key>,
    barrier: Barrier<Key, Kind>,
    ledger: FailureCounts<Key>,
    accounts: CloudAccounts<CloudAccount, Key>,
    index: Index,
    owners: Owners,
    infra_index: InfraIndex,
    identities: IdentityIndex,
    own_writes: OwnWrites,
    /// Keys that are due and whose own writes are not in the caches yet.
    parked: BTreeMap<Key, Priority>,
    /// Sets and deployments that gather changes.
    gathered: BTreeSet<Key>,
    /// Slots for reconciles that do not wait for a driver.
    slots: ReconcileSlots,
    reconciles: JoinSet<Report>,
    running: BTreeMap<tokio::task::Id, Running>,
    /// The number of reconciles begun, which numbers them.
    begun: u64,
    /// When the backlog was counted last.
    counted: Option<Timestamp>,
    /// Machines whose drain was measured, so that it counts once.
    drained: BTreeSet<Key>,
    /// The conclusion of the last reconcile of each Machine, for queries.
    ready: BTreeMap<ObjectKey, ReadyCondition>,
}

struct Running {
    key: Key,
    priority: Priority,
    jitter: f64,
    number: u64,
}

impl Engine {
    /// A loop that does nothing before `run`.
    pub(crate) fn new(
        tenant: TenantState,
        context: Arc<Context>,
        events: EventRecorder,
        metrics: Arc<Metrics>,
        inbox: mpsc::UnboundedReceiver<Message>,
        queries: mpsc::Receiver<MachineQuery>,
    ) -> Self {
        let slots = ReconcileSlots::new(tenant.settings.concurrent_reconciles);
        Self {
            tenant,
            context,
            events,
            metrics,
            inbox,
            queries,
            listed: BTreeSet::new(),
            knows_plugins: false,
            queue: Queue::new(),
            barrier: Barrier::new(),
            ledger: FailureCounts::new(),
            accounts: CloudAccounts::default(),
            index: Index::default(),
            owners: Owners::default(),
            infra_index: InfraIndex::default(),
            identities: IdentityIndex::default(),
            own_writes: OwnWrites::default(),
            parked: BTreeMap::new(),
            gathered: BTreeSet::new(),
            slots,
            reconciles: JoinSet::new(),
            running: BTreeMap::new(),
            begun: 0,
            counted: None,
            drained: BTreeSet::new(),
            ready: BTreeMap::new(),
        }
    }

    /// Runs until `stop`, then lets running reconciles end for at most `grace`. Reconciles begin only while `leads` is
    /// true, the caches are complete and the API servers were probed.
    pub(crate) async fn run(
        mut self,
        mut leads: watch::Receiver<bool>,
        stop: CancellationToken,
        grace: SignedDuration,
    ) -> ShutdownResult {
        let mut logged_start = false;
        let mut gate_state = self.context.gate_state.clone();
        let mut current = *gate_state.borrow_and_update();
        loop {
            let may_work = *leads.borrow_and_update() && self.is_listed() && current.is_known;
            if may_work && !logged_start {
                logged_start = true;
                info!(machines = self.tenant.machines.len(), "caches are complete, controllers start");
            }
            if may_work {
                self.start_reconciles();
            }
            self.show_backlog();
            let clock = self.context.clock.clone();
            let next_due = may_work.then(|| self.next_due()).flatten().map(|due| clock.instant(due));
            let is_full = self.slots.are_full();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(done) = self.reconciles.join_next_with_id(), if !self.reconciles.is_empty() => self.reconcile_ended(done),
                message = self.inbox.recv() => match message {
                    Some(message) => self.handle_message(message),
                    None => break,
                },
                changed = leads.changed() => if changed.is_err() { break },
                changed = gate_state.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let before = std::mem::replace(&mut current, *gate_state.borrow_and_update());
                    self.gate_changed(before.gate, current.gate);
                }
                // After everything that changes something: queries must not delay the work.
                Some(MachineQuery { object, answer }) = self.queries.recv() => {
                    // Nobody waits for it any more where this fails.
                    let _ = answer.send(self.explain(&object));
                }
                () = sleep_until(next_due), if next_due.is_some() && !is_full => {}
                () = self.slots.released(), if is_full => {}
            }
        }
        self.finish(grace).await
    }

    fn is_listed(&self) -> bool {
        let controllers = self.tenant.settings.controllers;
        let are_listed = |kinds: [Kind; 2]| kinds.iter().all(|kind| self.listed.contains(kind));
        are_listed([Kind::Machine, Kind::Class])
            && (!controllers.machines || (self.knows_plugins && self.listed.contains(&Kind::Secret)))
            && (!controllers.know_owners() || are_listed([Kind::Set, Kind::Deployment]))
            && (self.tenant.nodes.is_none() || self.listed.contains(&Kind::Node))
            && (!self.tenant.settings.cluster_api.is_served()
                || INFRA_KINDS.iter().all(|kind| self.listed.contains(kind)))
    }

    fn next_due(&self) -> Option<Timestamp> {
        match (self.queue.next_due(), self.barrier.next_expiry()) {
            (Some(due), Some(expiry)) => Some(due.min(expiry)),
            (due, expiry) => due.or(expiry),
        }
    }

    fn start_reconciles(&mut self) {
        let now = self.context.clock.now();
        for key in self.barrier.expire(now) {
            self.unpark(key, now);
        }
        while let Some(slot) = self.slots.take() {
            let Some(due) = self.queue.pop_due(now) else { break };
            if self.barrier.blocked(&due.key).is_some() {
                self.queue.done(&due.key, now);
                self.parked.insert(due.key, due.priority);
                continue;
            }
            self.start_reconcile(due, slot, now);
        }
    }

    fn start_reconcile(
        &mut self,
        Due { key, priority, waited }: Due<Key>,
        slot: ReconcileSlot,
        now: Timestamp,
    ) {
        let tenant = self.tenant.clone();
        let context = self.context.clone();
        let retry_facts = RetryFacts {
            failures: self.ledger.attempts(&key),
            account_answers: self.has_answering_account(&key, now),
        };
        let jitter = context.jitter();
        let users = self.users(&key);
        let named_by = match &key {
            Key::Secret(secret) => self.index.classes_of_secret(secret),
            _ => Vec::new(),
        };
        let conflicts = self.conflicts(&key);
        let members = self.members(&key);
        let owner_tree = self.owner_tree(&key);
        let contested_by = self.contested_by(&key);
        let infra_machines = self.machines_of_infra_cluster(&key);
        let identity_users = self.identity_users(&key);
        let is_unreadable = self.tenant.is_unreadable(&key);
        let freshness = if self.barrier.is_in_doubt(&key) { Freshness::InDoubt } else { Freshness::Current };
        let span = info_span!("pass", controller = key.controller(), object = %key.object());
        let subject = key.clone();
        let reconcile = async move {
            if is_unreadable {
                // An old copy of the object causes no effects. Its fix requeues it.
                return Report::only(Requeue::Resync);
            }
            match &subject {
                Key::Class(object) => {
                    let report = finalizers::class(&tenant, &context, object, users).await;
                    class_check::check(&tenant, &context, object, report).await
                }
                Key::Machine(object) => {
                    machine::run(&tenant, &context, object, retry_facts, &conflicts, jitter).await
                }
                Key::Secret(object) => finalizers::secret(&tenant, &context, object, users, &named_by).await,
                Key::Set(object) => machine_set::run(&tenant, &context, object, &members, freshness).await,
                Key::Deployment(object) => {
                    machine_deployment::run(&tenant, &context, object, &owner_tree).await
                }
                Key::InfraMachine(object) => {
                    infra_machine::run(&tenant, &context, object, retry_facts, contested_by).await
                }
                Key::InfraCluster(object) => {
                    infra_cluster::run(&tenant, &context, object, &infra_machines).await
                }
                Key::InfraIdentity(object) => {
                    infra_identity::identity(&tenant, &context, object, &identity_users).await
                }
                Key::InfraSecret(object) => infra_identity::secret(&context, object, &identity_users).await,
                Key::InfraTemplate(object) => infra_template::run(&tenant, &context, object).await,
                Key::InfraRemediation(object) => {
                    infra_remediation::run(&tenant, &context, object, contested_by).await
                }
            }
        };
        self.gathered.remove(&key);
        self.own_writes.begin(&key);
        self.begun += 1;
        self.metrics.queue.began(self.begun, self.queue_name(&key), waited, now);
        let handle = self.reconciles.spawn(slot.run(reconcile.instrument(span)));
        self.running.insert(handle.id(), Running { key, priority, jitter, number: self.begun });
    }

    fn reconcile_ended(&mut self, done: Result<(tokio::task::Id, Report), tokio::task::JoinError>) {
        let now = self.context.clock.now();
        let (id, report) = match done {
            Ok((id, report)) => (id, report),
            Err(failure) => {
                // A bug of ours: counted, logged, and retried later, without effect on others. Its writes are unknown.
                self.metrics.reconcile_panicked();
                error!(error = %failure, "pass ended in a panic");
                let wake = Requeue::Retry {
                    policy: machinist_core::scheduling::retry::RetryPolicy::LONG,
                    hint: None,
                };
                (failure.id(), Report { is_unclear: true, ..Report::only(wake) })
            }
        };
        let Some(Running { key, priority, jitter, number }) = self.running.remove(&id) else { return };
        self.metrics.reconcile_ended(number, key.controller(), now);
        for (kind, version) in &report.wrote {
            self.barrier.wrote(key.clone(), *kind, version, now);
        }
        for (set, version) in &report.wrote_sets {
            self.barrier.wrote(Key::Set(set.clone()), Kind::Set, version, now);
        }
        if let Some((kind, version)) = &report.listed {
            self.barrier.looked(key.clone(), *kind, version, now);
        }
        if report.is_unclear {
            self.barrier.lost(key.clone(), now);
        }
        let own = key.kind();
        let wrote = report.wrote.iter().filter(|(kind, _)| *kind == own).map(|(_, version)| version);
        if let Some(priority) = self.own_writes.end(&key, wrote) {
            self.queue.push(key.clone(), now, priority);
        }
        self.queue.done(&key, now);
        self.wake_machines(report.wakes);
        if let Some(seen) = &report.credentials {
            self.credentials_seen(&key, seen);
        }
        self.remember(&key, report.ready);
        // Only a leader reports Events.
        if *self.context.leads.borrow() {
            self.events.record_all(&key, report.events, now);
        }
        for (pool, milestone) in report.milestones {
            let is_first = !matches!(milestone, Milestone::Drained(_)) || self.drained.insert(key.clone());
            if is_first {
                self.metrics.reached(pool, milestone, now);
            }
        }
        self.requeue(key.clone(), report.wake, report.cloud, (priority, jitter), now);
        // A user that came during the reconcile has requeued the Secret.
        let is_unused = matches!(key, Key::InfraSecret(_))
            && report.wake == Requeue::Gone
            && self.identity_users(&key).count == 0;
        if is_unused || !self.tenant.has(&key) {
            // The object was deleted during the reconcile: entries added since then would never be removed.
            self.forget(&key);
        } else if report.ended.is_some() && report.ended == self.tenant.uid(&key) {
            // The end of its Node usually requeues it before its own end is seen: a reconcile would repeat every
            // request.
            self.barrier.leaves(key, now);
        }
    }

    /// `priority` and `jitter` are those of the reconcile that has ended.
    fn requeue(
        &mut self,
        key: Key,
        wake: Requeue,
        signal: Option<AccountSignal>,
        (priority, jitter): (Priority, f64),
        now: Timestamp,
    ) {
        self.accounts.came(&key);
        if signal == Some(AccountSignal::Answered) {
            self.account_answers(&key, now);
        }
        let after = match wake {
            Requeue::Retry { policy, hint } => {
                self.metrics.queue.retried(self.queue_name(&key));
                let delay = self.ledger.failed(key.clone(), policy, hint, jitter);
                if signal == Some(AccountSignal::Unavailable) {
                    self.account_fails(&key, (policy, hint), (delay, jitter), now)
                } else {
                    delay
                }
            }
            Requeue::Resync => {
                self.succeeded(&key);
                let spread = self.tenant.settings.resync.as_secs_f64() * jitter;
                let spread = SignedDuration::try_from_secs_f64(spread).unwrap_or_default();
                self.tenant.settings.resync.saturating_add(spread)
            }
            Requeue::Now => SignedDuration::ZERO,
            Requeue::After(after) => {
                self.succeeded(&key);
                after
            }
            Requeue::Check(after) => {
                // Shorter pauses are looks for what a create may have made: no answer makes them more useful.
                if after > LONGEST_PROBE_PAUSE && self.ledger.attempts(&key) > 0 {
                    self.account_is_awaited(&key, now);
                }
                after
            }
            Requeue::Gone => return,
        };
        let due = now.checked_add(after).unwrap_or(Timestamp::MAX);
        // What goes on at once is the same work; what waits has no hurry.
        let priority = if wake == Requeue::Now { priority } else { Priority::Resync };
        self.queue.push(key, due, priority);
    }

    fn succeeded(&mut self, key: &Key) {
        self.ledger.succeeded(key);
        self.accounts.forget(key);
    }

    fn wake(&mut self, key: Key, priority: Priority) {
        self.wake_at(key, self.context.clock.now(), priority);
    }

    fn wake_at(&mut self, key: Key, due: Timestamp, priority: Priority) {
        if !self.tenant.settings.controllers.run(&key) {
            return;
        }
        if let Some(parked) = self.parked.get_mut(&key) {
            *parked = (*parked).max(priority);
            return;
        }
        self.metrics.queue.added(self.queue_name(&key));
        self.queue.push(key, due, priority);
    }

    fn unpark(&mut self, key: Key, now: Timestamp) {
        if let Some(priority) = self.parked.remove(&key) {
            self.queue.push(key, now, priority);
        }
    }

    fn seen(&mut self, kind: Kind, resource_version: &str) {
        let now = self.context.clock.now();
        for key in self.barrier.seen(&kind, resource_version) {
            self.unpark(key, now);
        }
    }

    fn forget(&mut self, key: &Key) {
        self.forget_credentials(key);
        self.queue.remove(key);
        self.parked.remove(key);
        self.gathered.remove(key);
        self.barrier.forget(key);
        self.ledger.forget(key);
        self.accounts.forget(key);
        self.events.forget(key);
        self.own_writes.forget(key);
        self.drained.remove(key);
        if let Key::InfraMachine(machine) = key {
            self.tenant.infra.vms.forget(machine);
            self.metrics.machine_queries().calls.forget(machine);
        }
        if let Key::Machine(machine) = key {
            self.metrics.machine_queries().calls.forget(machine);
            self.ready.remove(machine);
            self.tenant.policies.forget(machine);
            self.tenant.vms.forget(machine);
            if let Some(drains) = &self.tenant.drains {
                drains.forget(machine);
            }
        }
    }

    /// Ends: no reconcile begins any more; running ones may end within `grace`.
    async fn finish(mut self, grace: SignedDuration) -> ShutdownResult {
        info!(passes = self.reconciles.len(), "waiting for running passes");
        let end = tokio::time::sleep(grace.unsigned_abs());
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                done = self.reconciles.join_next_with_id() => match done {
                    Some(done) => self.reconcile_ended(done),
                    None if self.barrier.may_land() => return ShutdownResult::RequestsPending,
                    None => return ShutdownResult::Complete,
                },
                () = &mut end => {
                    // An abort here equals a crash: the next process probes and continues.
                    self.reconciles.abort_all();
                    return ShutdownResult::RequestsPending;
                }
            }
        }
    }
}

async fn sleep_until(instant: Option<tokio::time::Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
