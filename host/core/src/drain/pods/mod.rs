//! What a drain knows of pods, their volumes and their budgets.

pub(crate) mod budget;
pub(crate) mod pod;
pub(crate) mod state;
pub(crate) mod volume;
pub(crate) mod volume_moves;
