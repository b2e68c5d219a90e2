//! The driver against a model of EC2, without sockets and without a clock.

mod classes;
mod creation;
mod failures;
mod functions;
mod grants;
mod harness;
mod initialization;
mod life;
mod listing;
mod model;
mod properties;
mod requests;
mod takeover;
mod trials;
