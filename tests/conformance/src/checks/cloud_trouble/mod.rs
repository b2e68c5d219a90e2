//! Clouds that lag, refuse, throttle, or lose answers.

pub(crate) mod lag;
pub(crate) mod lost;
pub(crate) mod malformed;
pub(crate) mod outage;
pub(crate) mod refusal;
pub(crate) mod throttle;
