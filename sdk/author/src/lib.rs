//! The commands `machinist driver new` and `machinist driver build`.
//!
//! | topic | module |
//! | --- | --- |
//! | names of drivers | [`name`] |
//! | languages with an SDK | [`language`] |
//! | the location of the SDK | [`sdk`] |
//! | the files of a new project | [`template`] |
//! | the language of a folder | [`project`] |
//! | from a project to a component, and missing tools | [`build`] |
//!
//! The crate does not depend on the host: the tools of its language build a project.

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
