//! The driver against the cloud's model, without sockets and with a simulated clock.

mod classes;
mod life;
mod trials;
mod world;
