//! Driver for the simulated cloud.
//!
//! | question | module |
//! | --- | --- |
//! | what does the host call | `component` |
//! | what does each call do in the cloud | `machine` |
//! | what may a class say | `spec` |
//! | what does the cloud's API look like | `cloud`, `answer` |
//! | how does a request leave the sandbox | `http` |
//! | what does a failure mean | `errors`, `trouble` |
//! | how does the cloud's word become the contract's | `map` |
//!
//! Only `component` and `http` touch the host; the rest is plain functions, tested natively against the cloud's model.

mod answer;
mod bindings;
mod cloud;
mod component;
mod errors;
mod http;
mod machine;
mod map;
mod settings;
mod spec;
mod trouble;

#[cfg(test)]
mod tests;
