//! The event loop: changes wake keys, keys are reconciled, and each pass says when the next one follows.
//!
//! One task owns queue, barrier, retry ledger and indexes; nothing else touches them. Passes run beside it, one at a
//! time for each key.
//!
//! | module | what it does |
//! | --- | --- |
//! | `key` | the keys that are reconciled, and the kinds that are watched |
//! | `message` | messages to the loop, and the report of a pass |
//! | `wake` | which keys a change wakes, and with which priority |
//! | `owners` | wakes sets and deployments |
//! | `index`, `relations` | which objects depend on which |
//! | `own_writes` | recognises the events of a pass's own writes |
//! | `account` | retries of Machines that share a cloud account |
//! | `places` | limits the passes that run; a pass that waits for a driver holds no place |
//! | `thaw` | wakes keys when the gate freezes or opens |
//! | `insight` | answers questions about one key |

mod account;
mod index;
mod insight;
mod key;
mod message;
mod own_writes;
mod owners;
pub(crate) mod places;
pub(crate) mod relations;
mod thaw;
mod wake;

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

use crate::driver_calls::cloud_account::CloudAccount;
use crate::driver_calls::insight::{Ask, Said};
use crate::event_loop::places::{Place, Places};
use crate::events::Events;
use crate::machine::Past;
use crate::metrics::{Metrics, Milestone};
use crate::objects::finalizers as hold;
use crate::safety::class_check;
use crate::tenant::context::Context;
use crate::tenant::world::World;
use crate::{machine, machine_deployment, machine_set};

/// Pauses up to this one, after a create in doubt, are looks for the VM that it may have made.
const LOOKS_ARE_CLOSER: SignedDuration = SignedDuration::from_secs(15);

pub(crate) use key::{Key, Kind};
pub(crate) use message::{Heard, Message, Report};

use index::Index;
use own_writes::OwnWrites;
use owners::Owners;

/// How a tenant has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All that it has asked of the API servers was answered.
    Settled,
    /// Requests may still arrive: whoever leads next must not do so before they cannot.
    Unsettled,
}

/// The loop of one tenant.
pub(crate) struct Engine {
    world: World,
    context: Arc<Context>,
    events: Events,
    metrics: Arc<Metrics>,
    inbox: mpsc::UnboundedReceiver<Message>,
    /// From those who ask about Machines: few may wait.
    questions: mpsc::Receiver<Ask>,
    /// Kinds whose first listing was told to the end. Before that the indexes do not know who uses what.
    listed: BTreeSet<Kind>,
    /// Which policies there are is known. Before that a Machine could be failed that a policy holds.
    knows_plugins: bool,
    queue: Queue<Key>,
    barrier: Barrier<Key, Kind>,
    ledger: FailureCounts<Key>,
    accounts: CloudAccounts<CloudAccount, Key>,
    index: Index,
    owners: Owners,
    own_writes: OwnWrites,
    /// Keys that are due and whose own writes are not in the caches yet.
    parked: BTreeMap<Key, Priority>,
    /// Sets and deployments whose changes are being gathered.
    gathered: BTreeSet<Key>,
    /// For passes that do not wait for a driver.
    places: Places,
    passes: JoinSet<Report>,
    running: BTreeMap<tokio::task::Id, Running>,
    /// Passes begun, which numbers them.
    begun: u64,
    /// When the backlog was counted last.
    counted: Option<Timestamp>,
    /// Machines whose drain was timed, so that it counts once.
    drained: BTreeSet<Key>,
    /// The conclusion of the last pass over each Machine, for those who ask.
    said: BTreeMap<ObjectKey, Said>,
}

/// A pass that runs.
struct Running {
    key: Key,
    priority: Priority,
    jitter: f64,
    number: u64,
}

impl Engine {
    /// A loop that does nothing before `run`.
    pub(crate) fn new(
        world: World,
        context: Arc<Context>,
        events: Events,
        metrics: Arc<Metrics>,
        inbox: mpsc::UnboundedReceiver<Message>,
        questions: mpsc::Receiver<Ask>,
    ) -> Self {
        let places = Places::new(world.settings.passes_in_flight);
        Self {
            world,
            context,
            events,
            metrics,
            inbox,
            questions,
            listed: BTreeSet::new(),
            knows_plugins: false,
            queue: Queue::new(),
            barrier: Barrier::new(),
            ledger: FailureCounts::new(),
            accounts: CloudAccounts::default(),
            index: Index::default(),
            owners: Owners::default(),
            own_writes: OwnWrites::default(),
            parked: BTreeMap::new(),
            gathered: BTreeSet::new(),
            places,
            passes: JoinSet::new(),
            running: BTreeMap::new(),
            begun: 0,
            counted: None,
            drained: BTreeSet::new(),
            said: BTreeMap::new(),
        }
    }

    /// Runs until `stop`, then lets running passes end for at most `grace`. Passes begin only while `leads` is true, the
    /// caches are complete and the API servers were asked.
    pub(crate) async fn run(
        mut self,
        mut leads: watch::Receiver<bool>,
        stop: CancellationToken,
        grace: SignedDuration,
    ) -> Ended {
        let mut told_synced = false;
        let mut hold = self.context.hold.clone();
        let mut shown = *hold.borrow_and_update();
        loop {
            let may_work = *leads.borrow_and_update() && self.is_listed() && shown.is_known;
            if may_work && !told_synced {
                told_synced = true;
                info!(machines = self.world.machines.len(), "caches are complete, controllers start");
            }
            if may_work {
                self.start_passes();
            }
            self.show_backlog();
            let clock = self.context.clock.clone();
            let next_due = may_work.then(|| self.next_due()).flatten().map(|due| clock.instant(due));
            let is_full = self.places.are_taken();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(done) = self.passes.join_next_with_id(), if !self.passes.is_empty() => self.ended(done),
                message = self.inbox.recv() => match message {
                    Some(message) => self.told(message),
                    None => break,
                },
                changed = leads.changed() => if changed.is_err() { break },
                changed = hold.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let before = std::mem::replace(&mut shown, *hold.borrow_and_update());
                    self.gate_changed(before.gate, shown.gate);
                }
                // Behind all that changes something: whoever asks must not delay the work.
                Some(Ask { machine, answer }) = self.questions.recv() => {
                    // Nobody waits for it any more where this fails.
                    let _ = answer.send(self.explain(&machine));
                }
                () = sleep_until(next_due), if next_due.is_some() && !is_full => {}
                () = self.places.given_away(), if is_full => {}
            }
        }
        self.finish(grace).await
    }

    fn is_listed(&self) -> bool {
        let controllers = self.world.settings.controllers;
        let are_listed = |kinds: [Kind; 2]| kinds.iter().all(|kind| self.listed.contains(kind));
        are_listed([Kind::Machine, Kind::Class])
            && (!controllers.machines || (self.knows_plugins && self.listed.contains(&Kind::Secret)))
            && (!controllers.know_owners() || are_listed([Kind::Set, Kind::Deployment]))
            && (self.world.nodes.is_none() || self.listed.contains(&Kind::Node))
    }

    fn next_due(&self) -> Option<Timestamp> {
        match (self.queue.next_due(), self.barrier.next_expiry()) {
            (Some(due), Some(expiry)) => Some(due.min(expiry)),
            (due, expiry) => due.or(expiry),
        }
    }

    fn start_passes(&mut self) {
        let now = self.context.clock.now();
        for key in self.barrier.expire(now) {
            self.unpark(key, now);
        }
        while let Some(place) = self.places.take() {
            let Some(due) = self.queue.pop_due(now) else { break };
            if self.barrier.blocked(&due.key).is_some() {
                self.queue.done(&due.key, now);
                self.parked.insert(due.key, due.priority);
                continue;
            }
            self.start_pass(due, place, now);
        }
    }

    fn start_pass(&mut self, Due { key, priority, waited }: Due<Key>, place: Place, now: Timestamp) {
        let world = self.world.clone();
        let context = self.context.clone();
        let past = Past {
            failures: self.ledger.attempts(&key),
            account_answers: self.has_answering_account(&key, now),
        };
        let jitter = context.jitter();
        let users = self.index.users(&key);
        let named_by = match &key {
            Key::Secret(secret) => self.index.classes_of_secret(secret),
            Key::Machine(_) | Key::Class(_) | Key::Set(_) | Key::Deployment(_) => Vec::new(),
        };
        let rivals = self.rivals(&key);
        let members = self.members(&key);
        let family = self.family(&key);
        let is_unreadable = self.world.is_unreadable(&key);
        let freshness = if self.barrier.is_in_doubt(&key) { Freshness::InDoubt } else { Freshness::Current };
        let span = info_span!("pass", controller = key.controller(), object = %key.object());
        let subject = key.clone();
        let pass = async move {
            if is_unreadable {
                // Nothing is done by a copy of what the object was. Its mending wakes it.
                return Report::only(Requeue::Resync);
            }
            match &subject {
                Key::Class(object) => {
                    let report = hold::class(&world, &context, object, users).await;
                    class_check::check(&world, &context, object, report).await
                }
                Key::Machine(object) => machine::run(&world, &context, object, past, &rivals, jitter).await,
                Key::Secret(object) => hold::secret(&world, &context, object, users, &named_by).await,
                Key::Set(object) => machine_set::run(&world, &context, object, &members, freshness).await,
                Key::Deployment(object) => machine_deployment::run(&world, &context, object, &family).await,
            }
        };
        self.gathered.remove(&key);
        self.own_writes.begin(&key);
        self.begun += 1;
        self.metrics.pass_began(self.begun, self.part(&key), waited, now);
        let handle = self.passes.spawn(place.run(pass.instrument(span)));
        self.running.insert(handle.id(), Running { key, priority, jitter, number: self.begun });
    }

    fn ended(&mut self, done: Result<(tokio::task::Id, Report), tokio::task::JoinError>) {
        let now = self.context.clock.now();
        let (id, report) = match done {
            Ok((id, report)) => (id, report),
            Err(failure) => {
                // A bug of ours: counted, logged, tried again later, and nobody else notices. Nobody knows what it has
                // written.
                self.metrics.pass_panicked();
                error!(error = %failure, "pass ended in a panic");
                let wake = Requeue::Retry {
                    policy: machinist_core::scheduling::retry::RetryPolicy::LONG,
                    hint: None,
                };
                (failure.id(), Report { is_unclear: true, ..Report::only(wake) })
            }
        };
        let Some(Running { key, priority, jitter, number }) = self.running.remove(&id) else { return };
        self.metrics.pass_ended(number, key.controller(), now);
        for (kind, version) in &report.wrote {
            self.barrier.wrote(key.clone(), *kind, version, now);
        }
        for (set, version) in &report.wrote_sets {
            self.barrier.wrote(Key::Set(set.clone()), Kind::Set, version, now);
        }
        if let Some((kind, version)) = &report.looked {
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
        self.remember(&key, report.said);
        // Who leads no more has nothing to tell.
        if *self.context.leads.borrow() {
            self.events.tell_all(&key, report.news, now);
        }
        for (pool, milestone) in report.milestones {
            let is_first = !matches!(milestone, Milestone::Drained(_)) || self.drained.insert(key.clone());
            if is_first {
                self.metrics.reached(pool, milestone, now);
            }
        }
        self.come_back(key.clone(), report.wake, report.cloud, (priority, jitter), now);
        if !self.world.has(&key) {
            // The news of its end came while the pass ran: nothing may be kept that nobody would take away.
            self.forget(&key);
        } else if report.ended.is_some() && report.ended == self.world.uid(&key) {
            // Its Node's end wakes it as a rule before its own is seen: a pass would ask again for all that is done.
            self.barrier.leaves(key, now);
        }
    }

    /// `priority` and `jitter` are those of the pass that has ended.
    fn come_back(
        &mut self,
        key: Key,
        wake: Requeue,
        heard: Option<Heard>,
        (priority, jitter): (Priority, f64),
        now: Timestamp,
    ) {
        self.accounts.came(&key);
        if heard == Some(Heard::Answer) {
            self.account_answers(&key, now);
        }
        let after = match wake {
            Requeue::Retry { policy, hint } => {
                self.metrics.retried(self.part(&key));
                let delay = self.ledger.failed(key.clone(), policy, hint, jitter);
                if heard == Some(Heard::Trouble) {
                    self.account_fails(&key, (policy, hint), (delay, jitter), now)
                } else {
                    delay
                }
            }
            Requeue::Resync => {
                self.succeeded(&key);
                let spread = self.world.settings.resync.as_secs_f64() * jitter;
                let spread = SignedDuration::try_from_secs_f64(spread).unwrap_or_default();
                self.world.settings.resync.saturating_add(spread)
            }
            Requeue::Now => SignedDuration::ZERO,
            Requeue::After(after) => {
                self.succeeded(&key);
                after
            }
            Requeue::Look(after) => {
                // Shorter pauses are looks for what a create may have made: no answer makes them more useful.
                if after > LOOKS_ARE_CLOSER && self.ledger.attempts(&key) > 0 {
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
        if !self.world.settings.controllers.run(&key) {
            return;
        }
        if let Some(parked) = self.parked.get_mut(&key) {
            *parked = (*parked).max(priority);
            return;
        }
        self.metrics.added(self.part(&key));
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
        self.queue.remove(key);
        self.parked.remove(key);
        self.gathered.remove(key);
        self.barrier.forget(key);
        self.ledger.forget(key);
        self.accounts.forget(key);
        self.events.forget(key);
        self.own_writes.forget(key);
        self.drained.remove(key);
        if let Key::Machine(machine) = key {
            self.metrics.insight().calls.forget(machine);
            self.said.remove(machine);
            self.world.policies.forget(machine);
            self.world.call_rooms.forget(machine);
            self.world.orders.forget(machine);
            self.world.looks().forget(machine);
            if let Some(drains) = &self.world.drains {
                drains.forget(machine);
            }
        }
    }

    /// No pass begins any more; those that run may end what they are at.
    async fn finish(mut self, grace: SignedDuration) -> Ended {
        info!(passes = self.passes.len(), "waiting for running passes");
        let end = tokio::time::sleep(grace.unsigned_abs());
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                done = self.passes.join_next_with_id() => match done {
                    Some(done) => self.ended(done),
                    None if self.barrier.may_land() => return Ended::Unsettled,
                    None => return Ended::Settled,
                },
                () = &mut end => {
                    // What is cut off here is what a crash would cut off: the next process looks and goes on.
                    self.passes.abort_all();
                    return Ended::Unsettled;
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
