//! The plugin host with real components: loading, swapping, limits, refusals.

mod attacks;
mod calls;
mod fixture;
mod go;
mod limits;
mod loading;
mod memory;
mod policies;
mod recordings;
mod versions;
