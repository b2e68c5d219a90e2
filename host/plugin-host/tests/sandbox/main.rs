//! The plugin host with real components: loading, swapping, limits, refusals.

mod artifacts;
mod attacks;
mod cache;
mod calls;
mod directory;
mod go;
mod limits;
mod memory;
mod parts;
mod policies;
mod rejection;
mod rollout;
mod shadows;
mod swap;
mod tapes;
mod tiers;
mod world;
