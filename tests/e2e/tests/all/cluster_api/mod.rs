//! The infrastructure provider of Cluster API on a real API server.
//!
//! | module | |
//! | --- | --- |
//! | `played` | the tests play Cluster API's core: `played_core` |
//! | `journey` | Cluster API's own core, kubeadm bootstrap provider and clusterctl |

mod journey;
mod played;
mod played_core;
