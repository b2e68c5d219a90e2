//! Whose VM and whose Node it is.

pub mod conflict;
pub mod mark;
pub(crate) mod unproven;
