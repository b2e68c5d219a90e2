//! The same stories on each cloud.
//!
//! | module | content |
//! | --- | --- |
//! | `life` | Machines become VMs and Nodes, and leave nothing behind |
//! | `kills` | a host that is killed at ten moments of creates and at ten of deletions |
//! | `recordings` | calls that a host recorded: the driver does the same again |
//! | `scene` | a lab with a cloud and its driver |
//! | `azure` | Azure |
//! | `gcp` | Google Compute Engine |
//! | `hcloud` | Hetzner Cloud |
//! | `lxd` | LXD, whose containers boot and join |
//! | `openstack` | OpenStack |

mod azure;
mod gcp;
mod hcloud;
mod kills;
mod life;
mod lxd;
mod openstack;
mod recordings;
mod scene;
