//! Driver for the simulated cloud.
//!
//! | question | module |
//! | --- | --- |
//! | what does the host call | `component` |
//! | what does each call do in the cloud | `machine` |
//! | what may a class say | `spec` |
//! | what does the cloud's API look like | `cloud`, `answer` |
//! | where is the cloud | `settings` |
//! | what does a failure mean | `errors` |
//! | how does the cloud's word become the contract's | `map` |
//!
//! All of it is plain functions over the host that a call gets, tested natively with the SDK's mock host and the cloud's model.

mod answer;
mod cloud;
mod component;
mod errors;
mod machine;
mod map;
mod settings;
mod spec;

/// For `tests/fuzz`, which calls it natively.
#[doc(hidden)]
pub use component::SimDriver;

#[cfg(test)]
mod tests;
