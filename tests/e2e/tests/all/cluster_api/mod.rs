//! The infrastructure provider of Cluster API on a real API server.
//!
//! | module | |
//! | --- | --- |
//! | `played` | the tests play Cluster API's core: `played_core` |
//! | `journey`, `moves`, `deletions`, `health` | Cluster API's own core, kubeadm bootstrap provider and clusterctl |
//! | `scene` | a lab with them |

mod deletions;
mod health;
mod journey;
mod moves;
mod played;
mod played_core;
mod scene;
