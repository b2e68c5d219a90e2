//! Writes Events in the background: several objects at a time, in order for each of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::Client;
use machinist_core::driver::write_error::ActError;
use machinist_core::events::dialect::Dialects;
use machinist_core::events::name::event_name;
use machinist_core::events::outbox::Outbox;
use machinist_core::machine::Severity;
use tokio::sync::{Notify, watch};
use tracing::{debug, warn};

use crate::client::errors::{act_error, is_not_served};
use crate::context::clock::Clock;
use crate::metrics::{LostEvent, Metrics};

use super::About;
use super::request::{EventRequest, NewEvent, write};

/// Events that wait to be written: some for each of a thousand objects that change together. Beyond that they are
/// dropped: Events inform, they are not a record.
const BACKLOG: usize = 10_000;

/// Requests at the same time, beside those of reconciles: enough for the Events of 200 new Machines within two seconds
/// at a server that takes 50 ms for each, and a fifth of the mutating requests that an API server serves at once by
/// default.
const AT_A_TIME: usize = 40;

/// The time for one of them. Others of the same object wait behind it.
const REQUEST: Duration = Duration::from_secs(10);

/// How often an Event is tried that the server refuses for now, or that broke on its way. Its name makes a repetition
/// harmless.
const TRIES: usize = 3;

/// The longest pause between two tries, whatever the server asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Writes Events in the background.
#[derive(Clone)]
pub(crate) struct EventWriter {
    shared: Arc<WriterState>,
}

struct WriterState {
    author: Author,
    written: AtomicU32,
    outbox: Mutex<Outbox<ObjectLane, EventRequest>>,
    more: Notify,
    dialects: Mutex<Dialects>,
    /// Reasons why Events were lost that were logged already.
    logged: Mutex<BTreeSet<LostEvent>>,
    /// The change to the core group was logged.
    dialect_logged: AtomicBool,
}

/// An object whose Events stay in order: namespace, kind and name.
type ObjectLane = (String, String, String);

/// How a letter has ended that was not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivered {
    NewEvent,
    /// Another process leads, and writes its own.
    NotOurs,
}

/// The account that writes Events, and for how long.
pub(crate) struct Author {
    /// The cluster of the Events.
    pub client: Client,
    pub instance: String,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    /// Only a leader writes.
    pub leads: watch::Receiver<bool>,
}

impl EventWriter {
    /// A writer, and the task that must run for it.
    pub(crate) fn new(author: Author) -> (Self, impl Future<Output = ()> + Send) {
        let instance = super::clip(&author.instance, 128);
        let shared = Arc::new(WriterState {
            author: Author { instance, ..author },
            written: AtomicU32::new(0),
            outbox: Mutex::new(Outbox::new(BACKLOG)),
            more: Notify::new(),
            dialects: Mutex::default(),
            logged: Mutex::default(),
            dialect_logged: AtomicBool::new(false),
        });
        (Self { shared: shared.clone() }, shared.deliver_all())
    }

    /// Queues an Event that happened at `at`, or drops it if too many wait. Returns its name.
    pub(crate) fn write(
        &self,
        about: About,
        reason: String,
        message: &str,
        severity: Severity,
        at: Timestamp,
    ) -> String {
        // Unique enough and sorted by time, as other writers of Events do it. Several may be written at one time.
        let number = i128::from(self.shared.written.fetch_add(1, Ordering::Relaxed) % 1_000);
        let name = event_name(&about.name, at.as_nanosecond() + number);
        let lane = lane(&about);
        let written = NewEvent {
            name: name.clone(),
            about,
            reason,
            note: super::clip(message, super::NOTE_BYTES),
            severity,
            at,
            instance: self.shared.author.instance.clone(),
        };
        self.shared.post(lane, EventRequest::New(Box::new(written)));
        name
    }

    /// An Event about this object has happened again: so often by now.
    pub(crate) fn count(&self, about: &About, name: String, count: i32, now: Timestamp) {
        let namespace = about.namespace.clone();
        self.shared.post(lane(about), EventRequest::Count { namespace, name, count, at: now });
    }
}

fn lane(about: &About) -> ObjectLane {
    (about.namespace.clone(), about.kind.clone(), about.name.clone())
}

impl WriterState {
    fn post(&self, lane: ObjectLane, request: EventRequest) {
        if lock(&self.outbox).push(lane, request).is_err() {
            self.lost(LostEvent::Backlog, &format!("{BACKLOG} wait already"));
        }
        self.more.notify_one();
    }

    async fn deliver_all(self: Arc<Self>) {
        let mut on_their_way = FuturesUnordered::new();
        loop {
            while on_their_way.len() < AT_A_TIME {
                let Some((lane, request)) = lock(&self.outbox).take() else { break };
                let this = &self;
                on_their_way.push(async move { (lane, this.deliver(request).await) });
            }
            tokio::select! {
                biased;
                Some((lane, delivered)) = on_their_way.next() => {
                    lock(&self.outbox).sent(lane);
                    match delivered {
                        Ok(Delivered::NewEvent) => self.author.metrics.events.written(),
                        Ok(Delivered::NotOurs) => debug!("event dropped: this process does not lead"),
                        Err((why, error)) => self.lost(why, &error),
                    }
                }
                () = self.more.notified() => {}
            }
        }
    }

    async fn deliver(&self, request: EventRequest) -> Result<Delivered, (LostEvent, String)> {
        let mut tries = 1;
        loop {
            if !*self.author.leads.borrow() {
                return Ok(Delivered::NotOurs);
            }
            let error = match tokio::time::timeout(REQUEST, self.send(&request)).await {
                Ok(Ok(())) => return Ok(Delivered::NewEvent),
                Ok(Err(error)) => error,
                Err(_) => return Err((LostEvent::QueryError, format!("no answer within {REQUEST:?}"))),
            };
            let pause = match &error {
                ActError::Throttled { after } => after.unwrap_or_default().unsigned_abs(),
                ActError::Ambiguous { .. } | ActError::Unreachable { .. } => Duration::ZERO,
                // This process has written it, at a try before.
                ActError::Conflict => return Ok(Delivered::NewEvent),
                ActError::Gone
                | ActError::Denied { .. }
                | ActError::Invalid { .. }
                | ActError::Forbidden { .. } => {
                    return Err((LostEvent::Refused, error.to_string()));
                }
            };
            if tries == TRIES {
                return Err((LostEvent::QueryError, error.to_string()));
            }
            tries += 1;
            tokio::time::sleep(pause.clamp(Duration::from_secs(1), LONGEST_PAUSE)).await;
        }
    }

    /// Through the API group that takes Events, with another try through the other one where the first is forbidden or
    /// not served.
    async fn send(&self, request: &EventRequest) -> Result<(), ActError> {
        let mut dialect = lock(&self.dialects).choose(self.author.clock.now());
        loop {
            let Err(error) = write(&self.author.client, dialect, request).await else { return Ok(()) };
            let why = act_error(&error);
            // A counted Event may have expired.
            let is_refused = match &why {
                ActError::Denied { .. } => true,
                ActError::Gone => matches!(request, EventRequest::New(_)) && is_not_served(&error),
                ActError::Conflict
                | ActError::Throttled { .. }
                | ActError::Invalid { .. }
                | ActError::Unreachable { .. }
                | ActError::Ambiguous { .. }
                | ActError::Forbidden { .. } => false,
            };
            let other = is_refused.then(|| lock(&self.dialects).refused(dialect, self.author.clock.now()));
            let Some(other) = other.flatten() else { return Err(why) };
            if !self.dialect_logged.swap(true, Ordering::Relaxed) {
                warn!(
                    error = %error,
                    "Events of events.k8s.io are forbidden or not served: they are written as v1 Events"
                );
            }
            dialect = other;
        }
    }

    /// The first of each reason is logged for operators. The others are counted.
    fn lost(&self, why: LostEvent, error: &str) {
        self.author.metrics.events.lost(why);
        let reason = why.name();
        if lock(&self.logged).insert(why) {
            warn!(reason, error, "Event lost; further ones are counted by machinist_events_lost_total");
        } else {
            debug!(reason, error, "event lost");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
