//! Whole lives of Machines: the runtime and the core as they are, on `kube::Client` over a tower service, under paused
//! time. API server and cloud are in memory; no socket is opened and no real second is waited for.
//!
//! Each test brings a `Stage`, starts hosts on it, and looks at what users see, at the VMs, and at every request.

mod autoscaler;
mod cluster_api;
mod deletions;
mod drains;
mod drivers;
mod events;
mod fixture;
mod hosts;
mod lives;
mod nodes;
mod owners;
mod policies;
mod safety;
