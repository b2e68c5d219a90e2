//! Dispatches a call: finds the generation, waits for a permit, runs the call, records its end.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use jiff::Timestamp;
use machinist_artifacts::ContentDigest;
use machinist_core::driver::error::{CallError, GuestFailure, Limit, Refusal};
use machinist_core::driver::{ClassSpec, DriverResult, MachineIdentity, SecretValues};
use machinist_core::value::id::{PluginName, ProviderName};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout_at};
use tracing::{Instrument as _, debug_span, warn};

use super::shadow_calls::{Behind, ShadowedCall};
use crate::calls::exports::Ask;
use crate::host::HostState;
use crate::metrics::Metrics;
use crate::registry::canary::Caller;
use crate::registry::canary::plan::side;
use crate::registry::canary::record::{CallOutcome, TrialSide};
use crate::registry::generation::{Generation, is_fault};
use crate::registry::quarantine::QuarantinePause;
use crate::registry::routes::{Route, Routes};
use crate::resources::cpu_share::Priority;
use crate::resources::cpu_time::CpuTime;
use crate::resources::priority_semaphore::{Permit, PrioritySemaphore, Rank};
use crate::resources::seat::{MOST_PARKED, Seat};
use crate::resources::urgency::Urgency;
use crate::sources::of_core;
use crate::sources::release::ReleaseMode;

/// The queue of calls. As many run as the pool has places.
pub(crate) struct Queue {
    permits: PrioritySemaphore,
    most: usize,
    waiting: AtomicUsize,
    most_waiting: usize,
    metrics: Metrics,
    /// Permits for instances that wait for their cloud account without a place.
    parking: Arc<Semaphore>,
}

/// The permits of a running call: one of the driver's and one of all.
type RunPermit = (Permit, Permit);

impl Queue {
    pub(crate) fn new(most_running: usize, most_waiting: usize, metrics: Metrics) -> Self {
        let most = most_running.max(1);
        let (permits, parking) = (PrioritySemaphore::new(most), Arc::new(Semaphore::new(MOST_PARKED)));
        Self { permits, most, waiting: AtomicUsize::new(0), most_waiting, metrics, parking }
    }

    /// Waits for a place among the calls in flight, first that of the driver, then a common one: a busy plugin does not
    /// fill the common queue. `door` comes before, so that calls of a slow account take no place from others.
    async fn seat(
        &self,
        generation: &Generation,
        (urgency, class): (Urgency, Option<String>),
        door: impl Future<Output = Option<Permit>>,
        deadline: Instant,
    ) -> Result<Arc<Seat>, Refusal> {
        let door = async {
            let busy = || Refusal::Busy { plugin: generation.prepared.plugin.to_string() };
            let mut door = std::pin::pin!(door);
            if let Poll::Ready(door) = futures::poll!(door.as_mut()) {
                return Ok(door);
            }
            let _place = QueuedCall::take(&self.waiting, self.most_waiting).ok_or_else(busy)?;
            let _counted = self.metrics.waiting();
            // Half of the time is left for the call: a call that is cut off may have changed something.
            let now = Instant::now();
            let wait_until = now + deadline.saturating_duration_since(now) / 2;
            timeout_at(wait_until.into(), door).await.map_err(|_| busy())
        };
        let door = door.await?;
        let permit = self.permit(generation, urgency, deadline).await?;
        let queues = (generation.permits.clone(), self.permits.clone());
        Ok(Arc::new(Seat::new((urgency, class), queues, permit, door, Arc::clone(&self.parking))))
    }

    /// Waits for a permit for a call of this generation.
    async fn permit(
        &self,
        generation: &Generation,
        urgency: Urgency,
        deadline: Instant,
    ) -> Result<RunPermit, Refusal> {
        if let (Some(own), Some(shared)) = (generation.permits.try_acquire(), self.permits.try_acquire()) {
            return Ok((own, shared));
        }
        let busy = || Refusal::Busy { plugin: generation.prepared.plugin.to_string() };
        let _place = QueuedCall::take(&self.waiting, self.most_waiting).ok_or_else(busy)?;
        let _counted = self.metrics.waiting();
        let permit = async {
            let own = generation.permits.acquire(Rank::New(urgency)).await;
            (own, self.permits.acquire(Rank::New(urgency)).await)
        };
        timeout_at(deadline.into(), permit).await.map_err(|_| busy())
    }

    /// Waits for a permit for a background call: until half of all places are free and no call is queued.
    pub(crate) async fn spare_permit(&self, generation: &Generation) -> RunPermit {
        loop {
            let has_room = self.permits.free() > self.most / 2 && self.waiting.load(Ordering::Relaxed) == 0;
            if has_room
                && let (Some(own), Some(shared)) =
                    (generation.permits.try_acquire(), self.permits.try_acquire())
            {
                return (own, shared);
            }
            sleep(SPARE_CHECK).await;
        }
    }
}

/// How often a background call checks for a spare place.
const SPARE_CHECK: Duration = Duration::from_millis(100);

/// A place in the queue.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(waiting);
        (before < most).then_some(place)
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HostState {
    /// Makes a call. It begins on the caller's thread, and continues on guest threads if it has to wait or computes for
    /// longer than a tick. A driver without a good call begins on guest threads; a driver with a penalty begins at low
    /// priority. Dropping the future ends the call.
    ///
    /// Waking another thread and being woken by it takes longer than a call that sends no request.
    pub(crate) async fn dispatch<A: Ask>(
        self: &Arc<Self>,
        target: Target,
        ask: A,
    ) -> DriverResult<A::Answer> {
        let started = Instant::now();
        let longest = A::OPERATION.deadline().unsigned_abs();
        let loaded_by = started + longest.min(self.settings.load_timeout);
        let chosen = self.route(&target, A::CHANGES_VMS, loaded_by).await?;
        let deadline = started + longest.min(chosen.generation.prepared.limits.deadline);
        let (inner, generation) = (Arc::clone(self), Arc::clone(&chosen.generation));
        let call = async move { inner.run(&chosen, ask, deadline).await };
        let call = self.calls.track_future(call.in_current_span());
        // As in a task of the guest threads: a panic ends the call and not its caller.
        let mut call = AssertUnwindSafe(call).catch_unwind().boxed();
        let penalty = &generation.penalty;
        let (account, share) = self.cpu_shares.enter(&generation.prepared.plugin, started);
        let (cpu_time, priority) =
            (CpuTime::of(account), if penalty.is_active(started) { Priority::Low } else { share });
        if priority == Priority::Low {
            self.metrics.low_priority_call(&generation.prepared.plugin);
        }
        let is_known = penalty.is_known();
        let begun = poll_fn(|context| {
            if priority == Priority::Low || !is_known {
                return Poll::Ready(Poll::Pending);
            }
            // Timers, connections and tasks of the call belong to the guest threads from the beginning.
            let _entered = self.guests.normal.enter();
            Poll::Ready(cpu_time.poll(|| call.as_mut().poll(context)))
        });
        let ended = match begun.await {
            Poll::Ready(ended) => Ok(ended),
            Poll::Pending => self.guests.run(call, &cpu_time, (penalty, priority)).await,
        };
        let broke = matches!(&ended, Ok(Ok(Err(CallError::Broken(broken)))) if is_fault(&broken.failure));
        if broke || cpu_time.has_exceeded() || cpu_time.is_long() {
            penalty.impose(Instant::now());
        } else if let Ok(Ok(Ok(_) | Err(CallError::Guest(_)))) = &ended {
            penalty.note_good();
        }
        match ended {
            Ok(Ok(answer)) => answer,
            // The call was running, and may have sent something.
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
        let seat = match self.call_rates.take(plugin, per_minute, Instant::now()) {
            Ok(()) => self.queue.seat(generation, (urgency, class.clone()), door, deadline).await,
            Err(refusal) => Err(refusal),
        };
        let (answer, took) = match seat {
            Ok(seat) => {
                let _running = (generation.counts.enter(), self.metrics.in_flight(plugin));
                let started = Instant::now();
                let shadowed = chosen.behind.as_ref().and_then(|behind| self.prepare_shadow(behind, &ask));
                let recording = shadowed.as_ref().map(ShadowedCall::recording);
                let call = self.sandbox.call(&generation.prepared, ask, deadline, (recording, seat));
                let answer = call.instrument(span).await;
                let took = started.elapsed();
                if let Some(shadowed) = shadowed {
                    self.shadow(shadowed, &answer);
                }
                (answer, took)
            }
            Err(refusal) => (Err(refusal.into()), Duration::ZERO),
        };
        let error = answer.as_ref().err();
        let function = A::OPERATION.name();
        self.metrics.ended((plugin, generation.source.to_string()), function, took, error);
        if error.is_some_and(is_of_memory) {
            self.found_no_memory(plugin);
        }
        let for_class = (function, chosen.class.as_deref());
        match generation.ended(for_class, error, &self.settings.quarantine, Timestamp::now()) {
            None => {}
            Some(QuarantinePause::Class(until)) => {
                warn!(%plugin, class = chosen.class, %until, "calls for this class broke one after the other: the host makes none until then");
            }
            Some(QuarantinePause::Plugin(until)) => {
                self.quarantined(until);
                // One quarantine may be bad luck. After the second, another version serves, if there is one.
                if generation.quarantines() > 1 {
                    self.catalog.fall_back(generation);
                }
            }
        }
        self.note(chosen, function, took, error);
        answer
    }

    /// Counts a call for the version that is on trial, whichever version answered.
    fn note(&self, chosen: &Chosen, function: &'static str, took: Duration, error: Option<&CallError>) {
        let Some(Counted { candidate, side, lot }) = &chosen.trial else { return };
        let (Some(trial), Some(outcome)) = (&candidate.trial, CallOutcome::of(error, took)) else { return };
        self.metrics.trial_call(&candidate.prepared.plugin, side.name(), outcome.name());
        if let Some(end) = trial.note((*side, lot), function, outcome, Timestamp::now()) {
            self.catalog.end_trial(candidate, &end);
        }
    }

    /// Returns the generation that answers. While no version serves the provider and one is being loaded, waits for it.
    async fn route(&self, target: &Target, changes_vms: bool, loaded_by: Instant) -> Result<Chosen, Refusal> {
        let mut revision = None;
        loop {
            if self.is_closing.load(Ordering::Acquire) {
                return Err(Refusal::ShuttingDown);
            }
            let routes = Arc::clone(&self.catalog.routes());
            let refusal = match routes.find(&target.provider, target.pin.as_ref()) {
                Route::Found(generation) => {
                    return match routes.withdrawn(&target.provider, target.pin.as_ref()) {
                        Some(refusal) if changes_vms => Err(refusal.clone()),
                        Some(_) | None => Chosen::of(generation, &routes, target)?.if_for(target),
                    };
                }
                Route::Nowhere(refusal) => return Err(refusal),
                Route::Perhaps(refusal) => refusal,
            };
            // Subscribed before the second query, so that no change is missed in between.
            let Some(revision) = &mut revision else {
                revision = Some(self.catalog.revision());
                continue;
            };
            if timeout_at(loaded_by.into(), revision.changed()).await.is_err() {
                return Err(refusal);
            }
        }
    }
}

/// The provider of a call, and its caller.
pub(crate) struct Target {
    pub(crate) provider: ProviderName,
    pub(crate) pin: Option<ContentDigest>,
    pub(crate) caller: Caller,
    /// The plugins that may get the Secrets of the request; `None`: any plugin that serves.
    pub(crate) plugins: Option<BTreeSet<PluginName>>,
}

impl Target {
    /// Returns the target of a class.
    pub(crate) fn of(
        class: &ClassSpec,
        machine: Option<&MachineIdentity>,
        secrets: Option<&SecretValues>,
    ) -> Self {
        Self {
            provider: class.provider.clone(),
            pin: class.driver_digest.map(of_core),
            caller: Caller {
                class: Some(class.name.to_string()),
                machine: machine.map(|machine| machine.uid.to_string()),
            },
            plugins: secrets.and_then(|secrets| secrets.plugins.clone()),
        }
    }
}

/// The trial for which a call counts.
struct Counted {
    candidate: Arc<Generation>,
    side: TrialSide,
    lot: String,
}

/// The versions that answer a call.
struct Chosen {
    generation: Arc<Generation>,
    /// The trial that is running.
    trial: Option<Counted>,
    /// The shadow, which is called afterwards. Its answer is only compared.
    behind: Option<Behind>,
    /// The class for which the call is made.
    class: Option<String>,
}

impl Chosen {
    /// Refuses the call if the Secrets of the request are for other plugins. The check is here, and not earlier, since
    /// another plugin may have taken over since the request was created.
    fn if_for(self, target: &Target) -> Result<Self, Refusal> {
        let plugin = &self.generation.prepared.plugin;
        match target.plugins.as_ref().filter(|plugins| !plugins.contains(plugin)) {
            Some(_) => Err(Refusal::SecretsOfOthers { plugin: plugin.to_string() }),
            None => Ok(self),
        }
    }

    /// Chooses between the serving version and the one on trial. A class that pins its version gets that one. A version
    /// that is quarantined for the class is not tried.
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
        if trial.terms.mode == ReleaseMode::Shadow {
            let is_shadowed = side(&trial.terms, &target.caller) == TrialSide::New;
            let behind = is_shadowed.then(|| Behind { candidate: Arc::clone(candidate) });
            return Ok(Self {
                generation: available(serving, class.as_deref())?,
                trial: None,
                behind,
                class,
            });
        }
        let side = match side(&trial.terms, &target.caller) {
            TrialSide::New if quarantine(candidate, class.as_deref()).is_none() => TrialSide::New,
            TrialSide::New | TrialSide::Stable => TrialSide::Stable,
        };
        let generation = match side {
            TrialSide::New => Arc::clone(candidate),
            TrialSide::Stable => available(serving, class.as_deref())?,
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

/// True if the memory that all plugins share was used up.
fn is_of_memory(error: &CallError) -> bool {
    match error {
        CallError::Refused(refusal) => matches!(refusal, Refusal::NoMemory { .. }),
        CallError::Broken(broken) => {
            matches!(broken.failure, GuestFailure::Limit { limit: Limit::MemoryBudget, .. })
        }
        CallError::Guest(_) => false,
    }
}

fn available(generation: Arc<Generation>, class: Option<&str>) -> Result<Arc<Generation>, Refusal> {
    match quarantine(&generation, class) {
        None => Ok(generation),
        Some(state) => Err(Refusal::NotReady { plugin: generation.prepared.plugin.to_string(), state }),
    }
}

/// Returns why the version is not called for this class.
fn quarantine(generation: &Generation, class: Option<&str>) -> Option<String> {
    let now = Timestamp::now();
    if let Some(until) = generation.quarantined_until(now) {
        return Some(format!("quarantined until {until}, since its calls broke one after the other"));
    }
    let until = generation.class_quarantined_until(class?, now)?;
    let class = class.unwrap_or_default();
    Some(format!(
        "left alone for class {class} until {until}, since its calls for that class broke one after the other"
    ))
}
