//! One call of a component, from its queue to its end. It has an instance of its own, with limits on everything.
//!
//! | module | what it does |
//! | --- | --- |
//! | `call` | makes store and instance, calls the export, and drops both |
//! | `exports` | the exports of the contract, one type each |
//! | `replay` | asks a component again what a recording asked |
//! | `convert` | converts between the contract's types and those of the core |
//! | `bindings` | the contracts of `wit/` as Rust types |
//! | `engine`, `epoch` | the wasmtime engine, the thread that advances its epochs, and the tiers of code |
//! | `guest` | the host's functions that an instance may import, and its state |
//! | `limits` | limits on resources |
//! | `failure` | why a call ended without an answer |
//! | `log_ring` | the last log lines of each plugin |
//! | `memory_inspector` | shows tests the memory of an instance after its call |

pub(crate) mod bindings;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod engine;
pub(crate) mod epoch;
pub(crate) mod exports;
pub(crate) mod failure;
pub(crate) mod guest;
pub(crate) mod limits;
pub(crate) mod log_ring;
pub(crate) mod memory_inspector;
pub(crate) mod replay;
