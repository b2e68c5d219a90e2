//! Machines that a set deletes: which, and in which order.

pub(crate) mod choose;
pub(crate) mod deletion_choice;
pub(crate) mod keep;
pub(crate) mod order;
pub mod ranking;
