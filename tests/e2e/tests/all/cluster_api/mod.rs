//! The infrastructure provider of Cluster API on a real API server.
//!
//! | module | |
//! | --- | --- |
//! | `explain`, `tree` | the commands about machines; the tests play Cluster API's core |
//! | `played` | the tests play Cluster API's core: `played_core` |
//! | `journey`, `moves`, `deletions`, `health`, `classes` | Cluster API's own core, kubeadm bootstrap provider and clusterctl |
//! | `scene` | a lab with them |

mod classes;
mod deletions;
mod explain;
mod health;
mod journey;
mod moves;
mod played;
mod played_core;
mod scene;
mod tree;
