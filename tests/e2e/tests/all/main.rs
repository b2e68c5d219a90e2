//! The host on a real control plane, end to end. Each test has a lab of its own.

mod bad_plugins;
mod crash;
mod delete;
mod egress;
mod hostile;
mod lead;
mod life;
mod mend;
mod plugins;
mod scene;
mod server;
