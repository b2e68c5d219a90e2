//! Whose VM and Node it is.

pub(crate) mod conflict;
pub(crate) mod mark;
