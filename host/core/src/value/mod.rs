//! Values without behaviour of their own: names, durations, addresses, digests.

pub mod addresses;
pub mod digest;
pub mod duration;
pub mod error_chain;
pub mod id;
pub mod int_or_percent;
pub mod intervals;
pub mod phase;
pub mod same_vm;
pub mod selector;
