//! The driver against the cloud's model, without sockets and with a simulated clock.

mod classes;
mod functions;
mod harness;
mod life;
mod trials;
