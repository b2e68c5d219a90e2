//! Machines, from creation to nothing left.

pub(crate) mod bad_input;
pub(crate) mod crash;
pub(crate) mod delete;
pub(crate) mod keyless;
pub(crate) mod lead;
pub(crate) mod life;
pub(crate) mod observe;
pub(crate) mod repair;
pub(crate) mod shapes;
