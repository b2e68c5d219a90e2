//! What keeps an outage from becoming a disaster.

pub mod meltdown;
