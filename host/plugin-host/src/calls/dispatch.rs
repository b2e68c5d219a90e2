//! The way of a call to its sandbox: find the generation, wait for a turn, run, keep the record.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use jiff::Timestamp;
use machinist_core::driver::error::{CallError, GuestFailure, Limit, Refusal};
use machinist_core::driver::{ClassSpec, DriverResult, MachineIdentity, Operation, SecretValues};
use machinist_core::value::id::{PluginName, ProviderName};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout_at};
use tracing::{Instrument as _, debug_span, warn};

use crate::calls::exports::Ask;
use crate::calls::scheduling::cpu_time::Effort;
use crate::calls::scheduling::seat::{MOST_PARKED, Seat};
use crate::calls::scheduling::turnstile::{Pass, Rank, Turnstile};
use crate::calls::scheduling::urgency::Urgency;
use crate::host::Inner;
use crate::loading::digest::Digest;
use crate::metrics::Metrics;
use crate::registry::canary::plan::side;
use crate::registry::canary::record::{Outcome, Side};
use crate::registry::canary::{Caller, RolloutMode};
use crate::registry::generation::{Generation, is_fault};
use crate::registry::quarantine::LeftAlone;
use crate::registry::routes::{Route, Routes};
use crate::registry::shadow_calls::{Behind, Held};

/// A caller hears so much later of a call that broke by the fault of its driver or ran into a limit. A driver that does so
/// over and over gets a hundred calls a second from each caller instead of thousands, which others would notice; one that
/// does so once loses a moment.
const FAULT_PAUSE: Duration = Duration::from_millis(10);

/// Turns for calls, as many as the pool has places.
pub(crate) struct Queue {
    turns: Turnstile,
    /// Turns that there are.
    most: usize,
    waiting: AtomicUsize,
    most_waiting: usize,
    metrics: Metrics,
    /// Room for instances that wait for their account without a turn.
    parking: Arc<Semaphore>,
}

/// The right to run: one place of the driver's, and one of all.
type Turn = (Pass, Pass);

impl Queue {
    pub(crate) fn new(turns: usize, most_waiting: usize, metrics: Metrics) -> Self {
        let most = turns.max(1);
        let (turns, parking) = (Turnstile::new(most), Arc::new(Semaphore::new(MOST_PARKED)));
        Self { turns, most, waiting: AtomicUsize::new(0), most_waiting, metrics, parking }
    }

    /// A place in the calls in flight, first that of the driver, then everybody's: a busy plugin does not fill the
    /// common queue. `door` is waited for before, so that calls of a slow account take no place from others.
    async fn seat(
        &self,
        generation: &Generation,
        (urgency, class): (Urgency, Option<String>),
        door: impl Future<Output = Option<Pass>>,
        deadline: Instant,
    ) -> Result<Arc<Seat>, Refusal> {
        let door = async {
            let busy = || Refusal::Busy { plugin: generation.prepared.plugin.to_string() };
            let mut door = std::pin::pin!(door);
            if let Poll::Ready(door) = futures::poll!(door.as_mut()) {
                return Ok(door);
            }
            let _place = Place::take(&self.waiting, self.most_waiting).ok_or_else(busy)?;
            let _counted = self.metrics.waiting();
            // Half of the time is left for the call: one that is cut off half-way may have done something.
            let now = Instant::now();
            let patience = now + deadline.saturating_duration_since(now) / 2;
            timeout_at(patience.into(), door).await.map_err(|_| busy())
        };
        let door = door.await?;
        let turn = self.turn(generation, urgency, deadline).await?;
        let lines = (generation.permits.clone(), self.turns.clone());
        Ok(Arc::new(Seat::new((urgency, class), lines, turn, door, Arc::clone(&self.parking))))
    }

    /// A turn for a call of this generation.
    async fn turn(
        &self,
        generation: &Generation,
        urgency: Urgency,
        deadline: Instant,
    ) -> Result<Turn, Refusal> {
        if let (Some(own), Some(shared)) = (generation.permits.try_acquire(), self.turns.try_acquire()) {
            return Ok((own, shared));
        }
        let busy = || Refusal::Busy { plugin: generation.prepared.plugin.to_string() };
        let _place = Place::take(&self.waiting, self.most_waiting).ok_or_else(busy)?;
        let _counted = self.metrics.waiting();
        let turn = async {
            let own = generation.permits.acquire(Rank::New(urgency)).await;
            (own, self.turns.acquire(Rank::New(urgency)).await)
        };
        timeout_at(deadline.into(), turn).await.map_err(|_| busy())
    }

    /// A turn for a call that nobody waits for: once half of all places are free, and nobody stands in line.
    pub(crate) async fn spare_turn(&self, generation: &Generation) -> Turn {
        loop {
            let has_room = self.turns.free() > self.most / 2 && self.waiting.load(Ordering::Relaxed) == 0;
            if has_room
                && let (Some(own), Some(shared)) =
                    (generation.permits.try_acquire(), self.turns.try_acquire())
            {
                return (own, shared);
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
    /// computes for longer than a tick. A driver of which no call has ended well begins on those threads; one whose
    /// last call broke or computed for long is left to patient threads from the beginning. Dropping the future ends the
    /// call.
    ///
    /// To wake another thread and to be woken by it takes longer than a call that asks nobody.
    pub(crate) async fn dispatch<A: Ask>(
        self: &Arc<Self>,
        target: Target,
        ask: A,
    ) -> DriverResult<A::Answer> {
        let started = Instant::now();
        let longest = A::OPERATION.deadline().unsigned_abs();
        let patience = started + longest.min(self.settings.patience);
        let chosen = self.route(&target, A::OPERATION, patience).await?;
        let deadline = started + longest.min(chosen.generation.prepared.limits.deadline);
        let (inner, generation) = (Arc::clone(self), Arc::clone(&chosen.generation));
        let call = async move { inner.run(&chosen, ask, deadline).await };
        let call = self.calls.track_future(call.in_current_span());
        // As a task of the guests' threads would be: what unwinds here is the call and not its caller.
        let mut call = AssertUnwindSafe(call).catch_unwind().boxed();
        let manners = &generation.manners;
        let (account, is_greedy) = self.company.enter(&generation.prepared.plugin, started);
        let (effort, gives_way) = (Effort::of(account), is_greedy || manners.is_rude(started));
        let is_known = manners.is_known();
        let begun = poll_fn(|context| {
            if gives_way || !is_known {
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
        let broke = matches!(&ended, Ok(Ok(Err(CallError::Broken(broken)))) if is_fault(&broken.breakage));
        let exceeded = broke || effort.has_exceeded();
        if exceeded || effort.is_long() {
            manners.note(Instant::now());
        } else if let Ok(Ok(Ok(_) | Err(CallError::Guest(_)))) = &ended {
            manners.note_good();
        }
        if exceeded {
            sleep(FAULT_PAUSE).await;
        }
        match ended {
            Ok(Ok(answer)) => answer,
            // It was under way, and may have sent something.
            Err(ended) if ended.is_cancelled() => {
                Err(GuestFailure::CutOff { detail: Refusal::ShuttingDown.to_string() }.into())
            }
            Ok(Err(_)) | Err(_) => Err(GuestFailure::Trap {
                detail: "the host failed during the call; its log says how".to_owned(),
            }
            .into()),
        }
    }

    async fn run<A: Ask>(
        self: Arc<Self>,
        chosen: &Chosen,
        ask: A,
        deadline: Instant,
    ) -> DriverResult<A::Answer> {
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
        let (urgency, class) = (Urgency::of(A::OPERATION), chosen.class.clone());
        let door = async {
            match &class {
                Some(class) => self.sandbox.egress.door(plugin, class, urgency).await,
                None => None,
            }
        };
        let seat = match self.frequency.take(plugin, per_minute, Instant::now()) {
            Ok(()) => self.queue.seat(generation, (urgency, class.clone()), door, deadline).await,
            Err(refusal) => Err(refusal),
        };
        let (answer, took) = match seat {
            Ok(seat) => {
                let _running = (generation.counts.enter(), self.metrics.in_flight(plugin));
                let started = Instant::now();
                let held = chosen.behind.as_ref().and_then(|behind| self.hold(behind, &ask));
                let tape = held.as_ref().map(Held::tape);
                let call = self.sandbox.call(&generation.prepared, ask, deadline, (tape, seat));
                let answer = call.instrument(span).await;
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
        if error.is_some_and(is_of_memory) {
            self.found_no_memory(plugin);
        }
        let for_class = (function, chosen.class.as_deref());
        match generation.ended(for_class, error, &self.settings.quarantine, Timestamp::now()) {
            None => {}
            Some(LeftAlone::Class(until)) => {
                warn!(%plugin, class = chosen.class, %until, "calls for this class broke one after the other, and none is made");
            }
            Some(LeftAlone::Plugin(until)) => {
                self.quarantined(until);
                // Once may be bad luck. A version that breaks again after a pause gives way, if there is one that can serve.
                if generation.quarantines() > 1 {
                    self.shelf.fall_back(generation);
                }
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
    async fn route(
        &self,
        target: &Target,
        operation: Operation,
        patience: Instant,
    ) -> Result<Chosen, Refusal> {
        let mut revision = None;
        loop {
            if self.is_closing.load(Ordering::Acquire) {
                return Err(Refusal::ShuttingDown);
            }
            let routes = Arc::clone(&self.shelf.routes());
            let refusal = match routes.find(&target.provider, target.pin.as_ref()) {
                Route::Found(generation) => {
                    return match routes.withdrawn(&target.provider, target.pin.as_ref()) {
                        Some(refusal) if makes(operation) => Err(refusal.clone()),
                        Some(_) | None => Chosen::of(generation, &routes, target)?.if_for(target),
                    };
                }
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
    /// The plugins that may get the Secrets of the request; `None` for whichever serves.
    pub(crate) plugins: Option<BTreeSet<PluginName>>,
}

impl Target {
    /// How a class chooses its driver, and for whom it is asked.
    pub(crate) fn of(
        class: &ClassSpec,
        machine: Option<&MachineIdentity>,
        secrets: Option<&SecretValues>,
    ) -> Self {
        Self {
            provider: class.provider.clone(),
            pin: class.driver_digest.map(Digest::from),
            caller: Caller {
                class: Some(class.name.to_string()),
                machine: machine.map(|machine| machine.uid.to_string()),
            },
            plugins: secrets.and_then(|secrets| secrets.plugins.clone()),
        }
    }
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
    /// The class on behalf of which it is called.
    class: Option<String>,
}

impl Chosen {
    /// Itself, unless the Secrets of the request are for other plugins. Which plugin serves is settled here and nowhere
    /// earlier: another one may have taken over since the request was made.
    fn if_for(self, target: &Target) -> Result<Self, Refusal> {
        let plugin = &self.generation.prepared.plugin;
        match target.plugins.as_ref().filter(|plugins| !plugins.contains(plugin)) {
            Some(_) => Err(Refusal::SecretsOfOthers { plugin: plugin.to_string() }),
            None => Ok(self),
        }
    }

    /// Of what serves and what is on trial. A class that names its version gets that one, and one that is left alone is not tried.
    fn of(serving: Arc<Generation>, routes: &Routes, target: &Target) -> Result<Self, Refusal> {
        let class = target.caller.class.clone();
        let candidate = if target.pin.is_none() { routes.trial(&target.provider) } else { None };
        let Some((candidate, trial)) = candidate.and_then(|it| Some((it, it.trial.as_ref()?))) else {
            return Ok(Self {
                generation: available(serving, class.as_deref())?,
                trial: None,
                behind: None,
                class,
            });
        };
        if trial.terms.mode == RolloutMode::Shadow {
            let is_shadowed = side(&trial.terms, &target.caller) == Side::New;
            let behind = is_shadowed.then(|| Behind { candidate: Arc::clone(candidate) });
            return Ok(Self {
                generation: available(serving, class.as_deref())?,
                trial: None,
                behind,
                class,
            });
        }
        let side = match side(&trial.terms, &target.caller) {
            Side::New if left_alone(candidate, class.as_deref()).is_none() => Side::New,
            Side::New | Side::Stable => Side::Stable,
        };
        let generation = match side {
            Side::New => Arc::clone(candidate),
            Side::Stable => available(serving, class.as_deref())?,
        };
        let lot = target.caller.lot().to_owned();
        Ok(Self {
            generation,
            trial: Some(Counted { candidate: Arc::clone(candidate), side, lot }),
            behind: None,
            class,
        })
    }
}

/// True for what makes or changes a VM. A version that was withdrawn is trusted with the rest.
fn makes(operation: Operation) -> bool {
    match operation {
        Operation::Create | Operation::Initialize | Operation::Reboot => true,
        Operation::Delete
        | Operation::DeleteById
        | Operation::GetStatus
        | Operation::List
        | Operation::GetVolumeIds
        | Operation::ValidateClass
        | Operation::Describe => false,
    }
}

/// True where the memory that all plugins share was used up.
fn is_of_memory(error: &CallError) -> bool {
    match error {
        CallError::Refused(refusal) => matches!(refusal, Refusal::NoMemory { .. }),
        CallError::Broken(broken) => {
            matches!(broken.breakage, GuestFailure::Limit { limit: Limit::MemoryBudget, .. })
        }
        CallError::Guest(_) => false,
    }
}

fn available(generation: Arc<Generation>, class: Option<&str>) -> Result<Arc<Generation>, Refusal> {
    match left_alone(&generation, class) {
        None => Ok(generation),
        Some(state) => Err(Refusal::NotReady { plugin: generation.prepared.plugin.to_string(), state }),
    }
}

/// Why a version is not called for this class now.
fn left_alone(generation: &Generation, class: Option<&str>) -> Option<String> {
    let now = Timestamp::now();
    if let Some(until) = generation.quarantined_until(now) {
        return Some(format!("quarantined until {until}, since its calls broke one after the other"));
    }
    let until = generation.held_until(class?, now)?;
    let class = class.unwrap_or_default();
    Some(format!(
        "left alone for class {class} until {until}, since its calls for that class broke one after the other"
    ))
}
