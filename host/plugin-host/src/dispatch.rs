//! The way of a call to its sandbox: find the generation, wait for a turn, run, keep the record.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use jiff::Timestamp;
use machinist_core::driver::Answer;
use machinist_core::driver_error::{Breakage, CallError, Refusal};
use machinist_core::id::ProviderName;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{sleep, timeout_at};
use tracing::{Instrument as _, debug_span};

use crate::ask::Ask;
use crate::digest::Digest;
use crate::effort::Effort;
use crate::generation::{Generation, is_fault};
use crate::host::Inner;
use crate::metrics::Metrics;
use crate::rollout::plan::side;
use crate::rollout::record::{Outcome, Side};
use crate::rollout::{Caller, RolloutMode};
use crate::routes::{Route, Routes};
use crate::shadow::{Behind, Held};

/// Turns for calls, as many as the pool has places.
pub(crate) struct Queue {
    turns: Semaphore,
    /// Turns that there are.
    most: usize,
    waiting: AtomicUsize,
    most_waiting: usize,
    metrics: Metrics,
}

/// The right to run.
struct Turn<'a> {
    _own: SemaphorePermit<'a>,
    _shared: SemaphorePermit<'a>,
}

impl Queue {
    pub(crate) fn new(turns: usize, most_waiting: usize, metrics: Metrics) -> Self {
        let most = turns.clamp(1, Semaphore::MAX_PERMITS);
        let turns = Semaphore::new(most);
        Self { turns, most, waiting: AtomicUsize::new(0), most_waiting, metrics }
    }

    /// A turn for a call of this generation. First its own limit, then everybody's: a busy plugin does not fill the
    /// common queue.
    async fn turn<'a>(&'a self, generation: &'a Generation, deadline: Instant) -> Result<Turn<'a>, Refusal> {
        if let (Ok(own), Ok(shared)) = (generation.permits.try_acquire(), self.turns.try_acquire()) {
            return Ok(Turn { _own: own, _shared: shared });
        }
        let busy = || Refusal::Busy { plugin: generation.prepared.plugin.to_string() };
        let _place = Place::take(&self.waiting, self.most_waiting).ok_or_else(busy)?;
        let _counted = self.metrics.waiting();
        let turn = async {
            let own = generation.permits.acquire().await.ok()?;
            let shared = self.turns.acquire().await.ok()?;
            Some(Turn { _own: own, _shared: shared })
        };
        timeout_at(deadline.into(), turn).await.ok().flatten().ok_or_else(busy)
    }

    /// A turn for a call that nobody waits for: once half of all places are free, and nobody stands in line.
    pub(crate) async fn spare_turn<'a>(&'a self, generation: &'a Generation) -> impl Sized + use<'a> {
        loop {
            let has_room =
                self.turns.available_permits() > self.most / 2 && self.waiting.load(Ordering::Relaxed) == 0;
            if has_room
                && let (Ok(own), Ok(shared)) = (generation.permits.try_acquire(), self.turns.try_acquire())
            {
                return Turn { _own: own, _shared: shared };
            }
            sleep(LOOK).await;
        }
    }
}

/// How often one that nobody waits for looks for room.
const LOOK: Duration = Duration::from_millis(100);

/// A place among those who wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(waiting);
        (before < most).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    /// Makes a call: begun on the caller's thread, and gone on with on the threads of the guests if it has to wait or
    /// computes for longer than a tick. A driver whose last call broke or computed for long is left to patient threads from
    /// the beginning. Dropping the future ends the call.
    ///
    /// To wake another thread and to be woken by it takes longer than a call that asks nobody.
    pub(crate) async fn dispatch<A: Ask>(self: &Arc<Self>, target: Target, ask: A) -> Answer<A::Answer> {
        let started = Instant::now();
        let longest = A::OPERATION.deadline().unsigned_abs();
        let chosen = self.route(&target, started + longest.min(self.settings.patience)).await?;
        let deadline = started + longest.min(chosen.generation.prepared.limits.deadline);
        let (inner, generation) = (Arc::clone(self), Arc::clone(&chosen.generation));
        let call = async move { inner.run(&chosen, ask, deadline).await };
        let call = self.calls.track_future(call.in_current_span());
        // As a task of the guests' threads would be: what unwinds here is the call and not its caller.
        let mut call = AssertUnwindSafe(call).catch_unwind().boxed();
        let manners = &generation.manners;
        let (account, is_greedy) = self.company.enter(&generation.prepared.plugin, started);
        let (effort, gives_way) = (Effort::of(account), is_greedy || manners.is_rude(started));
        let begun = poll_fn(|context| {
            if gives_way {
                return Poll::Ready(Poll::Pending);
            }
            // Timers, connections and tasks of the call belong to the guests' threads from the beginning.
            let _at_home = self.guests.usual.enter();
            Poll::Ready(effort.poll(|| call.as_mut().poll(context)))
        });
        let ended = match begun.await {
            Poll::Ready(ended) => Ok(ended),
            Poll::Pending => self.guests.run(call, &effort, (manners, gives_way)).await,
        };
        let broke = matches!(&ended, Ok(Ok(Err(CallError::Broken(breakage)))) if is_fault(breakage));
        if broke || effort.is_long() {
            manners.note(Instant::now());
        }
        match ended {
            Ok(Ok(answer)) => answer,
            Err(ended) if ended.is_cancelled() => Err(Refusal::ShuttingDown.into()),
            Ok(Err(_)) | Err(_) => {
                Err(Breakage::Trap { detail: "the host failed during the call; its log says how".to_owned() }
                    .into())
            }
        }
    }

    async fn run<A: Ask>(self: Arc<Self>, chosen: &Chosen, ask: A, deadline: Instant) -> Answer<A::Answer> {
        let generation = &chosen.generation;
        let plugin = &generation.prepared.plugin;
        let span = debug_span!(
            "driver_call",
            %plugin,
            version = %generation.about.version,
            operation = A::OPERATION.name(),
            subject = ask.subject(),
        );
        let per_minute = generation.prepared.limits.calls_per_minute;
        let turn = match self.frequency.take(plugin, per_minute, Instant::now()) {
            Ok(()) => self.queue.turn(generation, deadline).await,
            Err(refusal) => Err(refusal),
        };
        let (answer, took) = match turn {
            Ok(_turn) => {
                let _running = (generation.counts.enter(), self.metrics.in_flight(plugin));
                let started = Instant::now();
                let held = chosen.behind.as_ref().and_then(|behind| self.hold(behind, &ask));
                let tape = held.as_ref().map(Held::tape);
                let answer =
                    self.sandbox.call(&generation.prepared, ask, deadline, tape).instrument(span).await;
                let took = started.elapsed();
                if let Some(held) = held {
                    self.shadow(held, &answer);
                }
                (answer, took)
            }
            Err(refusal) => (Err(refusal.into()), Duration::ZERO),
        };
        let error = answer.as_ref().err();
        let function = A::OPERATION.name();
        self.metrics.ended((plugin, &generation.source), function, took, error);
        if let Some(until) = generation.ended(function, error, &self.settings.quarantine, Timestamp::now()) {
            self.quarantined(until);
            // Once may be bad luck. A version that breaks again after a pause gives way, if there is one that can serve.
            if generation.quarantines() > 1 {
                self.shelf.fall_back(generation);
            }
        }
        self.note(chosen, function, took, error);
        answer
    }

    /// A call while a version is on trial counts for its trial, whichever version answered.
    fn note(&self, chosen: &Chosen, function: &'static str, took: Duration, error: Option<&CallError>) {
        let Some(Counted { candidate, side, lot }) = &chosen.trial else { return };
        let (Some(trial), Some(outcome)) = (&candidate.trial, Outcome::of(error, took)) else { return };
        self.metrics.tried(&candidate.prepared.plugin, *side, outcome);
        if let Some(verdict) = trial.note((*side, lot), function, outcome, Timestamp::now()) {
            self.shelf.end_trial(candidate, &verdict);
        }
    }

    /// The generation that answers. While nothing serves the provider and something is being loaded, waits for that.
    async fn route(&self, target: &Target, patience: Instant) -> Result<Chosen, Refusal> {
        let mut revision = None;
        loop {
            if self.is_closing.load(Ordering::Acquire) {
                return Err(Refusal::ShuttingDown);
            }
            let routes = Arc::clone(&self.shelf.routes());
            let refusal = match routes.find(&target.provider, target.pin.as_ref()) {
                Route::Found(generation) => return Chosen::of(generation, &routes, target),
                Route::Nowhere(refusal) => return Err(refusal),
                Route::Perhaps(refusal) => refusal,
            };
            // Subscribed before the second look, so that no change is missed in between.
            let Some(revision) = &mut revision else {
                revision = Some(self.shelf.revision());
                continue;
            };
            if timeout_at(patience.into(), revision.changed()).await.is_err() {
                return Err(refusal);
            }
        }
    }
}

/// Where a call goes, and for whom.
pub(crate) struct Target {
    pub(crate) provider: ProviderName,
    pub(crate) pin: Option<Digest>,
    pub(crate) caller: Caller,
}

/// For whose trial a call counts.
struct Counted {
    candidate: Arc<Generation>,
    side: Side,
    lot: String,
}

/// What answers a call.
struct Chosen {
    generation: Arc<Generation>,
    /// The version that is on trial meanwhile.
    trial: Option<Counted>,
    /// The version that is asked afterwards, and answers nobody.
    behind: Option<Behind>,
}

impl Chosen {
    /// Of what serves and what is on trial. A class that names its version gets that one, and one that is left alone is not tried.
    fn of(serving: Arc<Generation>, routes: &Routes, target: &Target) -> Result<Self, Refusal> {
        let candidate = if target.pin.is_none() { routes.trial(&target.provider) } else { None };
        let Some((candidate, trial)) = candidate.and_then(|it| Some((it, it.trial.as_ref()?))) else {
            return Ok(Self { generation: available(serving)?, trial: None, behind: None });
        };
        if trial.terms.mode == RolloutMode::Shadow {
            let is_shadowed = side(&trial.terms, &target.caller) == Side::New;
            let behind = is_shadowed.then(|| Behind { candidate: Arc::clone(candidate) });
            return Ok(Self { generation: available(serving)?, trial: None, behind });
        }
        let side = match side(&trial.terms, &target.caller) {
            Side::New if candidate.quarantined_until(Timestamp::now()).is_none() => Side::New,
            Side::New | Side::Stable => Side::Stable,
        };
        let generation = match side {
            Side::New => Arc::clone(candidate),
            Side::Stable => available(serving)?,
        };
        let lot = target.caller.lot().to_owned();
        Ok(Self {
            generation,
            trial: Some(Counted { candidate: Arc::clone(candidate), side, lot }),
            behind: None,
        })
    }
}

fn available(generation: Arc<Generation>) -> Result<Arc<Generation>, Refusal> {
    match generation.quarantined_until(Timestamp::now()) {
        None => Ok(generation),
        Some(until) => Err(Refusal::NotReady {
            plugin: generation.prepared.plugin.to_string(),
            state: format!("quarantined until {until}, since its calls broke one after the other"),
        }),
    }
}
