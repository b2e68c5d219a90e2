//! Machines that a set creates: how many, with which names, of which class.

pub(crate) mod capacity;
pub(crate) mod create;
pub(crate) mod join_failures;
pub mod names;
pub(crate) mod overshoot;
