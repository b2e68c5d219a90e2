//! Processes: several, killed, cut off, slow.

pub(crate) mod conformance;
pub(crate) mod controllers;
pub(crate) mod crashes;
pub(crate) mod faults;
pub(crate) mod freeze;
pub(crate) mod intervals;
pub(crate) mod leaders;
pub(crate) mod many_machines;
pub(crate) mod mcm_crds;
pub(crate) mod repeatable;
pub(crate) mod starts;
