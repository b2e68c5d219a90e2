//! From API objects to the facts of a Machine.

pub(crate) mod claims;
pub(crate) mod deletion;
pub(crate) mod driver_choice;
pub(crate) mod observe;
pub(crate) mod preservation;
pub(crate) mod problems;
pub(crate) mod summary;
