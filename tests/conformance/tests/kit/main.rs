//! The kit on real components: the drivers of this repository pass, and each broken driver fails its check and no
//! other.
//!
//! | module | content |
//! | --- | --- |
//! | `sim` | the driver of the simulated cloud, and components that are no drivers |
//! | `aws` | the driver of EC2 against moto |
//! | `azure` | the driver of Azure against a cloud that Microsoft's models type |
//! | `gcp` | the driver of Google Compute Engine against a cloud that Google's discovery document types |
//! | `hcloud` | the driver of Hetzner Cloud, in Go, against a cloud with the types of the published API |
//! | `lxd` | the driver of LXD, in TypeScript, against Debian's LXD |
//! | `openstack` | the driver of OpenStack, in Go, against the released services |
//! | `languages` | one driver in four languages passes the same checks |
//! | `projects` | new projects of `machinist driver new` pass without an edit |
//! | `faulty` | each check fails a driver that has its fault |
//! | `harness` | a run of the kit, and its report |

mod aws;
mod azure;
mod faulty;
mod gcp;
mod harness;
mod hcloud;
mod languages;
mod lxd;
mod openstack;
mod projects;
mod sim;
