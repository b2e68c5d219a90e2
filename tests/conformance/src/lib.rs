//! Conformance kit: runs any driver, from its `.wasm` alone, on the real plugin host against a cloud behind a proxy
//! that injects faults.
//!
//! | question | module |
//! | --- | --- |
//! | what has to be known of a driver | [`profile`] |
//! | what does every driver do right | `checks` |
//! | which cloud is it, and what is really there | `cloud` |
//! | what befalls requests on their way | `proxy` |
//! | what runs the driver | `stage` |
//! | what can a check do | `case` |
//! | which checks run, and how | [`run`] |
//! | what is said about it | [`report`] |
//!
//! [`run::run`] is `machinist driver test`.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod case;
mod checks;
mod cloud;
pub mod profile;
mod proxy;
pub mod report;
pub mod run;
mod stage;

pub use case::Stop;
pub use profile::Profile;
pub use report::Report;
pub use run::{Listing, Options, Selection, list, run};
pub use stage::CompileSettings;
