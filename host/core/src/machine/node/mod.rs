//! The Node of a Machine: what it carries, its health, the wish to preserve it.

pub mod health;
pub mod preservation;
pub mod sync;
