//! Components of Go programs: bindings from the contract, and a component from the Go compiler's module.
//!
//! | topic | module |
//! | --- | --- |
//! | the contract's files | `contract` |
//! | the Go code generated from them | [`bindings`] |
//! | from a folder to a component | `build`: [`Build`] |
//! | the served driver or policy | `look` |
//! | the Go compiler | `compiler` |
//! | from a module to a component | `encode` |

mod build;
mod compiler;
mod contract;
mod encode;
mod look;

pub mod bindings;

pub use build::{Build, Built, Error};
pub use contract::{Optional, World};
