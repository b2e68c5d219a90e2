//! Driver for the simulated cloud.
//!
//! | topic | module |
//! | --- | --- |
//! | the calls of the host | `component` |
//! | the work of each call in the cloud | `machine` |
//! | the fields of a class | `spec` |
//! | the cloud's API and its objects | `cloud`, `answer` |
//! | the address of the cloud | `settings` |
//! | the cloud's error codes | `errors` |
//! | from the cloud's objects to the contract's types | `map` |
//!
//! The modules are plain functions over the call's host. Their tests run natively, with the SDK's mock host and the
//! cloud's model.

mod answer;
mod cloud;
mod component;
mod errors;
mod machine;
mod map;
mod settings;
mod spec;

/// Public for `tests/fuzz`, which calls it natively.
#[doc(hidden)]
pub use component::SimDriver;

#[cfg(test)]
mod tests;
