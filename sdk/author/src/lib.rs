//! The commands `machinist driver new` and `machinist driver build`.
//!
//! | question | module |
//! | --- | --- |
//! | what may a driver be called | [`name`] |
//! | which languages are there | [`language`] |
//! | where is the SDK | [`sdk`] |
//! | which files make a project | [`template`] |
//! | which language is a folder in | [`project`] |
//! | which tool makes the component, and what is missing | [`build`] |
//!
//! It knows nothing of the host: a project is built with the tools of its language.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod build;
pub mod language;
pub mod name;
pub mod project;
pub mod sdk;
pub mod template;
