//! Plugins without an API server, and components for them.
//!
//! | module | |
//! | --- | --- |
//! | `sandbox` | a plugin host in this process |
//! | `swaps` | a driver that is swapped while calls are in flight |
//! | `heavy` | a component that is much work to compile |

pub mod heavy;
pub mod sandbox;
pub mod swaps;
