//! The data of one store of a policy: a log, and a WASI whose time does not move.

use std::convert::Infallible;
use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng, TryRng};
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Result};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView};

use crate::calls::bindings::driver::machinist::host::log as wit;
use crate::calls::bindings::policy::machinist::policy::types;
use crate::calls::guest::limiter::Limiter;
use crate::calls::guest::log::{self, LogBudget};
use crate::calls::guest::stdio::Tail;
use crate::calls::limits::Limits;
use crate::calls::log_ring::LogSource;
use crate::output_limits::fields_text;
use crate::resources::budget::Taken;

/// The same in every call of every host: a policy that draws from it draws the same.
const SEED: u64 = 0x6d61_6368_696e_6973;

/// The value of the monotonic clock. Not 0: Go's runtime takes such a clock for broken, and ends before the first call.
const SINCE_START: Duration = Duration::from_nanos(1);

/// One call's state. It lives exactly as long as the call.
pub(crate) struct PolicyState {
    table: ResourceTable,
    wasi: WasiCtx,
    log: LogBudget,
    log_source: LogSource,
    pub(crate) limiter: Limiter,
    pub(crate) output: Tail,
}

impl PolicyState {
    pub(crate) fn new(now: Timestamp, limits: &Limits, log_source: LogSource, memory: Taken) -> Self {
        let output = Tail::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        Self {
            table,
            wasi: still_wasi(now, &output),
            log: LogBudget::default(),
            log_source,
            limiter: Limiter::new(limits, memory),
            output,
        }
    }

    pub(crate) fn dropped_lines(&self) -> u64 {
        self.log.dropped()
    }
}

/// The imports of language runtimes, all inert: no environment, no file, no socket, no name lookup. The clock shows
/// `now`, and random numbers are always the same.
fn still_wasi(now: Timestamp, output: &Tail) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    builder
        .stdout(output.clone())
        .stderr(output.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .socket_addr_check(|_, _| Box::pin(async { false }))
        .wall_clock(FixedClock(since_1970(now)))
        .monotonic_clock(FixedClock(SINCE_START))
        .secure_random(Seeded::new())
        .insecure_random(Seeded::new())
        .insecure_random_seed(u128::from(SEED));
    builder.build()
}

fn since_1970(now: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(now.as_millisecond()).unwrap_or(0))
}

/// A clock that does not move.
struct FixedClock(Duration);

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for FixedClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Randomness that is always the same.
struct Seeded(StdRng);

impl Seeded {
    fn new() -> Self {
        Self(StdRng::seed_from_u64(SEED))
    }
}

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl WasiView for PolicyState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl wit::Host for PolicyState {
    fn enabled(&mut self, level: wit::Level) -> Result<bool> {
        Ok(log::is_enabled(level))
    }

    fn emit(&mut self, level: wit::Level, message: String, fields: Vec<(String, String)>) -> Result<()> {
        let field_bytes: usize = fields.iter().map(|(key, value)| key.len() + value.len()).sum();
        if log::is_enabled(level) && self.log.take(message.len() + field_bytes) {
            let fields = fields_text(&fields);
            log::emit(level, &message, &fields);
            self.log_source.keep(log::name(level), &message, &fields);
        }
        Ok(())
    }
}

impl types::Host for PolicyState {}

pub(crate) fn linker(engine: &Engine) -> Result<Linker<PolicyState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wit::add_to_linker::<_, HasSelf<PolicyState>>(&mut linker, |state| state)?;
    types::add_to_linker::<_, HasSelf<PolicyState>>(&mut linker, |state| state)?;
    Ok(linker)
}
