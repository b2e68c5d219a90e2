//! Which call runs next, on which thread, and who yields.

pub(crate) mod cpu_share;
pub(crate) mod cpu_time;
pub(crate) mod low_priority;
pub(crate) mod penalty;
pub(crate) mod rate;
pub(crate) mod seat;
pub(crate) mod threads;
pub(crate) mod turnstile;
pub(crate) mod urgency;
