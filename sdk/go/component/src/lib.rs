//! Components of Go programs: bindings from the contract, and a component from what the Go compiler gives.
//!
//! | question | module |
//! | --- | --- |
//! | what does the contract say | `contract` |
//! | which Go code is made of it | [`bindings`] |
//! | how is a component made of a folder | [`Build`] |
//! | what is served there: a driver or a policy | `look` |
//! | how does the Go compiler run | `compiler` |
//! | how does its module become a component | `encode` |

mod build;
mod compiler;
mod contract;
mod encode;
mod look;

pub mod bindings;

pub use build::{Build, Built, Error};
pub use contract::World;
