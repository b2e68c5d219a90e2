//! From a Machine to its VM.

pub(crate) mod create;
pub(crate) mod failed;
pub(crate) mod unresolved;
