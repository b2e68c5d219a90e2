//! One call of a component, from its turn to its end: an instance of its own, bounded in every direction.

pub(crate) mod bindings;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod dispatch;
pub(crate) mod engine;
pub(crate) mod epoch;
pub(crate) mod exports;
pub(crate) mod failure;
pub(crate) mod guest;
pub mod limits;
pub(crate) mod log_ring;
pub(crate) mod memory_inspector;
pub(crate) mod output_limits;
pub(crate) mod scheduling;
