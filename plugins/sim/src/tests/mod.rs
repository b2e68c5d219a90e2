//! The driver against the cloud's model, without sockets and with a clock of its own.

mod classes;
mod life;
mod trials;
mod world;
