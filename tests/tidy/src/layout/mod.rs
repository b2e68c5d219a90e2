//! Checks of files.

pub mod sizes;
