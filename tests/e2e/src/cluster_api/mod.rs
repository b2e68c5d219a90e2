//! Management clusters with Cluster API's own programs, and workload clusters in them.
//!
//! | module | |
//! | --- | --- |
//! | `graph` | all objects of a workload cluster: owners, finalizers, versions |
//! | `management` | core, bootstrap provider and the kinds of `deploy/clusterctl` on a lab's control plane |
//! | `objects` | the objects of a workload cluster, as a user writes them |
//! | `workload` | a workload cluster: what a user does with it, and what is seen of it |

mod graph;
mod management;
pub mod objects;
mod workload;

pub use graph::{Graph, rests};
pub use management::{Elsewhere, Management, credentials, install_folders, install_provider, plane_options};
pub use workload::{Workload, WorkloadView};
