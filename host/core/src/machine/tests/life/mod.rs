//! A Machine with its Node.

pub(crate) mod health;
pub(crate) mod join;
pub(crate) mod looks;
pub(crate) mod policies;
pub(crate) mod preservation;
pub(crate) mod replacing;
