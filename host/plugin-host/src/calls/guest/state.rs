//! The data of one store: everything that one call can touch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{HostWallClock, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::limiter::Limiter;
use super::log::{LogBudget, LogListener};
use super::stdio::Tail;
use crate::calls::limits::Limits;
use crate::calls::log_ring::LogSource;
use crate::egress::Session;
use crate::recording::{CallRecording, Wire};
use crate::resources::budget::Taken;
use crate::vault::Vault;
use crate::vault::WallClock;

/// The values with which a call begins.
pub(crate) struct GuestSeed {
    pub(crate) settings: Arc<str>,
    pub(crate) vault: Vault,
    pub(crate) session: Session,
    pub(crate) deadline: Instant,
    pub(crate) recording: CallRecording,
    pub(crate) clock: WallClock,
    pub(crate) log_listener: Option<LogListener>,
    pub(crate) log_source: LogSource,
    pub(crate) memory: Taken,
}

/// One call's state. It lives exactly as long as the call.
pub(crate) struct GuestState {
    pub(super) table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    wire: Wire,
    pub(super) settings: Arc<str>,
    pub(super) vault: Vault,
    pub(super) deadline: Instant,
    pub(super) recording: CallRecording,
    pub(super) log: LogBudget,
    pub(super) log_listener: Option<LogListener>,
    pub(super) log_source: LogSource,
    pub(crate) limiter: Limiter,
    pub(crate) output: Tail,
}

impl GuestState {
    pub(crate) fn new(seed: GuestSeed, limits: &Limits) -> Self {
        let output = Tail::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        Self {
            table,
            wasi: inert_wasi(&output, seed.clock, &seed.recording),
            http: WasiHttpCtx::new(),
            wire: Wire::new(seed.session, seed.recording.clone()),
            settings: seed.settings,
            vault: seed.vault,
            deadline: seed.deadline,
            recording: seed.recording,
            log: LogBudget::default(),
            log_listener: seed.log_listener,
            log_source: seed.log_source,
            limiter: Limiter::new(limits, seed.memory),
            output,
        }
    }

    pub(crate) fn dropped_lines(&self) -> u64 {
        self.log.dropped()
    }
}

/// Random bytes of one call of the function: keys and nonces need some hundred. More at once would be work of the host
/// that nothing interrupts.
const RANDOM_BYTES: u64 = 64 << 10;

/// Clocks and randomness work. The rest is there because language runtimes import it, and opens nothing: no
/// environment, no arguments, no directory, no socket, no name lookup, an empty stdin.
fn inert_wasi(output: &Tail, clock: WallClock, recording: &CallRecording) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    builder
        .stdout(output.clone())
        .stderr(output.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(RANDOM_BYTES)
        .socket_addr_check(|_, _| Box::pin(async { false }))
        .wall_clock(Following(clock));
    recording.prepare(&mut builder);
    builder.build()
}

/// The host's clock, so that a driver and the host, which signs for it, agree about the time.
struct Following(WallClock);

impl HostWallClock for Following {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        let since = (self.0)().duration_since(Timestamp::UNIX_EPOCH);
        // The clock of a guest cannot show a time before 1970.
        Duration::try_from(since).unwrap_or_default()
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.wire, table: &mut self.table, ctx: &mut self.http }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi::p2::bindings::random::random::Host as _;

    use super::*;

    #[test]
    fn attack_random_bytes_without_end() {
        let mut wasi = inert_wasi(&Tail::default(), Arc::new(Timestamp::now), &CallRecording::off());
        assert_eq!(wasi.random().get_random_bytes(RANDOM_BYTES).unwrap().len(), 64 << 10);
        for much in [RANDOM_BYTES + 1, 32 << 20, u64::MAX] {
            assert!(wasi.random().get_random_bytes(much).is_err(), "{much}");
        }
    }
}
