//! Processes: several, killed, cut off, slow.

pub(crate) mod conformance;
pub(crate) mod controllers;
pub(crate) mod crashes;
pub(crate) mod crowds;
pub(crate) mod faults;
pub(crate) mod freeze;
pub(crate) mod intervals;
pub(crate) mod leaders;
pub(crate) mod repeatable;
pub(crate) mod starts;
pub(crate) mod theirs;
