//! Clients of the API servers: configuration, limits, errors.

pub mod clusters;
pub(crate) mod counting;
pub(crate) mod errors;
pub mod field_manager;
pub(crate) mod pacing;
pub(crate) mod server_clock;
