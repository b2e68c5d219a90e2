//! The infrastructure provider of Cluster API on a real API server.
//!
//! | module | |
//! | --- | --- |
//! | `played` | the tests play Cluster API's core: `played_core` |
//! | `journey`, `moves`, `deletions`, `health`, `classes` | Cluster API's own core, kubeadm bootstrap provider and clusterctl |
//! | `kills` | the host is killed again and again beside them |
//! | `resilience` | the checks of Cluster API's own end-to-end tests: owners, finalizers, rest, migration |
//! | `ec2` | the scenes of these on EC2 |
//! | `scene` | a lab with them |

mod classes;
mod deletions;
mod ec2;
mod health;
mod journey;
mod kills;
mod moves;
mod played;
mod played_core;
mod resilience;
mod scene;
