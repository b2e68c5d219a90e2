//! The host on a real control plane, end to end. Each test has a lab of its own.

mod aws;
mod bad_input;
mod bad_plugins;
mod binaries;
mod commands;
mod crash;
mod delete;
mod deploy;
mod drain;
mod egress;
mod explain;
mod hostile;
mod lead;
mod life;
mod mend;
mod observe;
mod parts;
mod plugins;
mod policies;
mod push;
mod safety;
mod scene;
mod server;
mod shapes;
mod side_by_side;
mod swaps;
