//! One call: a fresh store and a fresh instance, bounded in every direction, and gone afterwards.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use machinist_artifacts::ContentDigest;
use machinist_core::driver::DriverResult;
use machinist_core::driver::error::{CallError, GuestFailure, Refusal};
use machinist_core::value::id::PluginName;
use tokio::time::timeout_at;
use tracing::debug;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::calls::bindings::optional::ExportIndices;
use crate::calls::engine::BASELINE_ALLOWANCE;
use crate::calls::engine::CodeTier;
use crate::calls::epoch::Ticker;
use crate::calls::exports::{Ask, CallContext};
use crate::calls::failure::{self, CallFailure, OutOfCpu};
use crate::calls::guest::log::{LogListener, kept_levels};
use crate::calls::guest::{GuestSeed, GuestState};
use crate::calls::limits::Limits;
use crate::calls::log_ring::{LogRing, LogSource};
use crate::calls::memory_inspector::{MemoryInspector, watched};
use crate::egress::Egress;
use crate::grants::Grants;
use crate::metrics::Metrics;
use crate::output_limits::{self, TEXT_BYTES};
use crate::recording::{Archive, Beginning, CallRecording, Secrets};
use crate::resources::budget::Purse;
use crate::resources::cpu_time::CpuTime;
use crate::resources::seat::Seat;
use crate::vault::{KnownTo, KnownValues, Vault};

/// The parts that all calls share.
pub(crate) struct Sandbox {
    pub(crate) linker: Linker<GuestState>,
    /// Of the engine of baseline code, where there is one.
    pub(crate) baseline_linker: Option<Linker<GuestState>>,
    pub(crate) ticker: Ticker,
    pub(crate) egress: Egress,
    /// For calls that the contract makes without network.
    pub(crate) no_grants: Arc<Grants>,
    /// Is shown the memory of each instance.
    pub(crate) inspector: Option<Arc<dyn MemoryInspector>>,
    /// Where calls are recorded.
    pub(crate) archive: Option<Archive>,
    /// Receives each log line of a driver.
    pub(crate) log_listener: Option<LogListener>,
    /// The last log lines of each plugin.
    pub(crate) log_ring: LogRing,
    pub(crate) metrics: Metrics,
    /// Hidden in each call of a plugin, whichever call brought it.
    pub(crate) known: KnownValues,
}

/// A version of a plugin, ready to be instantiated.
pub(crate) struct Prepared {
    pub(crate) plugin: PluginName,
    pub(crate) digest: ContentDigest,
    /// Better code may take its place; a call keeps what it began with.
    pub(crate) code: ArcSwap<DriverCode>,
    pub(crate) settings: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: Limits,
    /// Pays for its calls.
    pub(crate) memory: Arc<Purse>,
}

/// A driver's code, linked.
pub(crate) struct DriverCode {
    pub(crate) tier: CodeTier,
    pub(crate) pre: InstancePre<GuestState>,
    pub(crate) exports: ExportIndices,
}

impl Sandbox {
    /// The linker of the engine that this component was compiled for.
    pub(crate) fn linker_of(&self, component: &Component) -> &Linker<GuestState> {
        let engine = component.engine();
        let baseline = self.baseline_linker.as_ref().filter(|linker| Engine::same(linker.engine(), engine));
        baseline.unwrap_or(&self.linker)
    }

    /// Makes the call, and records it if the settings or the caller ask for it. It ends at `deadline` at the latest;
    /// dropping the future ends it at once.
    pub(crate) async fn call<A: Ask>(
        &self,
        prepared: &Prepared,
        ask: A,
        deadline: Instant,
        (recording, seat): (Option<&CallRecording>, Arc<Seat>),
    ) -> DriverResult<A::Answer> {
        self.recorded(&prepared.code.load_full(), prepared, ask, deadline, (recording, Some(seat))).await
    }

    /// The same in this code of the driver.
    pub(crate) async fn call_in<A: Ask>(
        &self,
        code: &DriverCode,
        prepared: &Prepared,
        ask: A,
        deadline: Instant,
    ) -> DriverResult<A::Answer> {
        self.recorded(code, prepared, ask, deadline, (None, None)).await
    }

    async fn recorded<A: Ask>(
        &self,
        code: &DriverCode,
        prepared: &Prepared,
        ask: A,
        deadline: Instant,
        (recording, seat): (Option<&CallRecording>, Option<Arc<Seat>>),
    ) -> DriverResult<A::Answer> {
        let archive = self.archive.as_ref().filter(|archive| archive.wants(&prepared.plugin));
        let recording = match (recording, archive) {
            (Some(recording), _) => recording.clone(),
            (None, Some(_)) => CallRecording::start(),
            (None, None) => CallRecording::off(),
        };
        // Also a call that is dropped half-way is recorded.
        let kept = archive.map(|archive| archive.keep(recording.clone()));
        let answer = self.seated(code, prepared, ask, deadline, (&recording, seat)).await;
        drop(kept);
        answer
    }

    /// Makes the call in this code of the driver, with this recording.
    pub(crate) async fn call_with_recording<A: Ask>(
        &self,
        code: &DriverCode,
        prepared: &Prepared,
        ask: A,
        deadline: Instant,
        recording: &CallRecording,
    ) -> DriverResult<A::Answer> {
        self.seated(code, prepared, ask, deadline, (recording, None)).await
    }

    /// The same for a call that holds a place.
    async fn seated<A: Ask>(
        &self,
        code: &DriverCode,
        prepared: &Prepared,
        mut ask: A,
        deadline: Instant,
        (recording, seat): (&CallRecording, Option<Arc<Seat>>),
    ) -> DriverResult<A::Answer> {
        let memory = match prepared.memory.start(Instant::now(), deadline).await {
            Ok(memory) => memory,
            Err(full) => {
                let (plugin, detail) = (prepared.plugin.to_string(), full.to_string());
                return Err(Refusal::NoMemory { plugin, detail }.into());
            }
        };
        let secrets = ask.take_secrets();
        let grants = if secrets.is_some() { &prepared.grants } else { &self.no_grants };
        let plugin = &prepared.plugin;
        // A replay has no secrets, only values in their place.
        let known = if recording.is_replay() { KnownTo::alone() } else { self.known.to(plugin) };
        let vault = Vault::knowing(secrets.unwrap_or_default(), Arc::clone(grants), known);
        let account = prepared.memory.account().clone();
        let (grants, deadline_of_all) = (Arc::clone(grants), deadline.into());
        let session = self.egress.seated(plugin, grants, vault.clone(), deadline_of_all, (seat, account));
        let allowed = deadline.saturating_duration_since(Instant::now());
        let deadline_ms = u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX);
        let deadline_ms = recording.deadline_ms().unwrap_or(deadline_ms);
        recording.begin(&vault, || Beginning {
            plugin: prepared.plugin.to_string(),
            digest: prepared.digest.to_string(),
            operation: A::OPERATION.name(),
            subject: ask.subject(),
            limits: prepared.limits.taken(deadline_ms),
            settings: Arc::clone(&prepared.settings),
            secrets: Secrets::of(&vault),
            levels: kept_levels(),
        });
        let settings = Arc::clone(&prepared.settings);
        let seed = GuestSeed {
            settings,
            vault: vault.clone(),
            session: session.clone(),
            deadline,
            recording: recording.clone(),
            clock: self.egress.clock(),
            log_listener: self.log_listener.clone(),
            log_source: LogSource {
                log_ring: self.log_ring.clone(),
                plugin: prepared.plugin.clone(),
                digest: prepared.digest,
                call: format!("{} {}", A::OPERATION.name(), ask.subject()).trim_end().into(),
            },
            memory,
        };
        let cpu_time = CpuTime::current();
        cpu_time.limit(match code.tier {
            CodeTier::Baseline | CodeTier::Quick => prepared.limits.cpu.saturating_mul(BASELINE_ALLOWANCE),
            CodeTier::Optimised => prepared.limits.cpu,
        });
        let mut store = Self::store(code, seed, &prepared.limits, cpu_time.clone());
        let answer = {
            let _running = self.ticker.running();
            let asked = async {
                let instance = code.pre.instantiate_async(&mut store).await?;
                let exports = &code.exports.load(&mut store, &instance)?;
                let store = &mut store;
                ask.ask(CallContext { exports, store, vault: &vault, deadline_ms, recording }).await
            };
            // A tick interrupts a guest that computes too long; host work beyond the limit ends the call here.
            let asked = async {
                tokio::select! {
                    biased;
                    answer = asked => answer,
                    () = cpu_time.over() => Err(OutOfCpu.into()),
                }
            };
            let asked = recording.bounded(async { timeout_at(deadline.into(), asked).await.ok() });
            let mut asked = Box::pin(asked);
            let asked = poll_fn(|context| {
                cpu_time.poll(|| match asked.as_mut().poll(context) {
                    Poll::Pending if cpu_time.is_over() => Poll::Ready(Some(Err(OutOfCpu.into()))),
                    polled => polled,
                })
            });
            match &self.inspector {
                None => asked.await,
                Some(inspector) => watched(&**inspector, &prepared.plugin, A::OPERATION, asked).await,
            }
        };
        let state = store.data();
        prepared.memory.note(state.limiter.used_bytes());
        let output = state.output.text(&vault);
        report(state, cpu_time.spent(), &output);
        self.metrics.dropped_lines(&prepared.plugin, state.dropped_lines());
        if state.dropped_lines() > 0 {
            CpuTime::current().note_excess();
        }
        let answer = match answer {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => Err(explain(&error, &output, prepared, &vault)),
            // The limit, not what was left of it after waiting: retries of one call say the same.
            None => {
                let limit = A::OPERATION.deadline().unsigned_abs().min(prepared.limits.deadline);
                Err(failure::past_deadline(limit).into())
            }
        };
        let answer = answer.map_err(|error| error.having_sent(session.sent()));
        recording.ended(answer.as_ref().err());
        answer
    }

    fn store(code: &DriverCode, seed: GuestSeed, limits: &Limits, cpu_time: CpuTime) -> Store<GuestState> {
        let mut store = Store::new(code.pre.engine(), GuestState::new(seed, limits));
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(usize::try_from(limits.copied_bytes).unwrap_or(usize::MAX));
        // Each handle of the host's takes one of the component's own, and lending takes another for a moment.
        store.set_max_component_handles(limits.handles.saturating_mul(2));
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if cpu_time.is_over() {
                return Err(OutOfCpu.into());
            }
            // Others get their turn, and the deadline on the wall is looked at.
            Ok(UpdateDeadline::Yield(1))
        });
        store
    }
}

fn explain(error: &wasmtime::Error, output: &str, prepared: &Prepared, vault: &Vault) -> CallError {
    match failure::classify(error, output, &prepared.limits) {
        CallFailure::NoRoom => Refusal::Busy { plugin: prepared.plugin.to_string() }.into(),
        CallFailure::Broken(GuestFailure::Trap { detail }) => {
            GuestFailure::Trap { detail: output_limits::text(&vault.scrub_text(&detail), TEXT_BYTES) }.into()
        }
        CallFailure::Broken(
            other
            @ (GuestFailure::Limit { .. } | GuestFailure::Contract { .. } | GuestFailure::CutOff { .. }),
        ) => other.into(),
    }
}

fn report(state: &GuestState, cpu: Duration, output: &str) {
    let (memory_bytes, cpu_ms) = (state.limiter.memory_bytes(), cpu.as_millis());
    debug!(memory_bytes, cpu_ms, dropped_lines = state.dropped_lines(), output, "instance ended");
}
