//! Driver for the simulated cloud.
