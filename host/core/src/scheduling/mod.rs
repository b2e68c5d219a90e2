//! When something is done: queue, retries, barriers, the gate, leases.

pub mod barrier;
pub mod call_room;
pub mod clock_skew;
pub mod gate;
pub mod lease;
pub mod looks;
pub mod queue;
pub mod request_rate;
pub mod retry;
