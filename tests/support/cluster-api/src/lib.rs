//! Cluster API's own programs beside a [`control_plane::ControlPlane`]: core, kubeadm bootstrap provider, clusterctl.
//!
//! `go build` makes them from the Go module beside this crate ([`programs`]). [`install`] applies their definitions and
//! rights; [`Managers`] runs core and bootstrap provider under accounts of their own, with their webhooks; and
//! [`Clusterctl`] runs commands as a user does. Managers end when they are dropped, and with the thread that started
//! them.
//!
//! | module | what it does |
//! | --- | --- |
//! | `programs` | builds the programs |
//! | `install` | applies the definitions and rights |
//! | `manager` | the managers of core and kubeadm bootstrap provider as processes |
//! | `webhooks` | webhooks that an API server reaches by an address instead of a Service |
//! | `clusterctl` | `clusterctl` as a user types it |
//! | `repository` | the repository that `clusterctl` installs Machinist from |

mod clusterctl;
mod install;
mod manager;
mod programs;
pub mod repository;
mod webhooks;

pub use clusterctl::Clusterctl;
pub use install::{install, make_movable};
pub use manager::{Manager, Managers, Migration};
pub use programs::{CLUSTER_API_VERSION, Programs, programs};
