//! The clocks of a call that is recorded or replayed.

use std::sync::Arc;
use std::time::Duration;

use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

use super::ActiveRecording;

/// The same in a recording and in its replay, whatever the system's clock can do.
const RESOLUTION: Duration = Duration::from_nanos(1);

/// Time on the wall.
pub(super) struct Wall(pub(super) Arc<ActiveRecording>);

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.wall_ns())
    }
}

/// Time since the beginning of the call.
pub(super) struct Monotonic(pub(super) Arc<ActiveRecording>);

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        u64::try_from(RESOLUTION.as_nanos()).unwrap_or(1)
    }

    fn now(&self) -> u64 {
        self.0.monotonic_ns()
    }
}
