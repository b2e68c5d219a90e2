//! The plugin host with real components: loading, swapping, limits, refusals.

mod attacks;
mod calls;
mod go;
mod harness;
mod limits;
mod loading;
mod memory;
mod policies;
mod recordings;
mod versions;
