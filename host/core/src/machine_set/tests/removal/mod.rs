//! Which Machines are deleted, and in which order.

pub(crate) mod choice;
pub(crate) mod keeping;
pub(crate) mod order;
