//! The same stories on each cloud.
//!
//! | module | content |
//! | --- | --- |
//! | `life` | Machines become VMs and Nodes, and leave nothing behind |
//! | `kills` | a host that is killed at ten moments of creates and at ten of deletions |
//! | `scene` | a lab with a cloud and its driver |
//! | `hcloud` | Hetzner Cloud |

mod hcloud;
mod kills;
mod life;
mod scene;
