//! The infrastructure provider of Cluster API on a real API server.
//!
//! | module | |
//! | --- | --- |
//! | `explain`, `tree` | the commands about machines; the tests play Cluster API's core |
//! | `played` | the tests play Cluster API's core: `played_core` |
//! | `journey`, `moves`, `deletions`, `health`, `classes` | Cluster API's own core, kubeadm bootstrap provider and clusterctl |
//! | `autoscaler`, `identities` | the same, with cluster-autoscaler's calls, and with credentials of another namespace |
//! | `kills` | the host is killed again and again beside them |
//! | `resilience` | the checks of Cluster API's own end-to-end tests: owners, finalizers, rest, migration |
//! | `ec2` | the scenes of these on EC2 |
//! | `scene` | a lab with them |
//!
//! Bad input has a test in the smallest place that shows it: `core` is `host/core/src/infra_machine/tests`,
//! `lives` is `host/runtime/tests/life/cluster_api`.
//!
//! | input | tests |
//! | --- | --- |
//! | a machine or a template that names no driver, two, or a VM | `played` |
//! | a driver that is not there | lives `waits` |
//! | a failure domain that the driver does not honour, or honours wrongly | core; lives `waits`, `functions` |
//! | a provider id that a user wrote | lives `bad_input`; a change of it `played` |
//! | two objects with one key | core; lives `waits` |
//! | bootstrap data without `value`, missing, too large, changed in the middle of a create | lives `waits`, `bootstrap_data` |
//! | bootstrap data that is deleted before its Machine | lives `lifecycle`; `deletions` |
//! | a paused Cluster, and one that is deleted while it is paused | lives `moves`, `bad_input`; `moves` |
//! | a namespace that is deleted as a whole | lives `identities`; `deletions` |
//! | credentials that are deleted, or taken away by force, while machines run | lives `identities`; `deletions` |
//! | finalizers and owners that somebody takes off | lives `finalizers`; `resilience` |
//! | addresses that core's schema refuses; a VM that others removed | core; lives `lifecycle`; `health` |

mod autoscaler;
mod classes;
mod deletions;
mod ec2;
mod explain;
mod health;
mod identities;
mod journey;
mod kills;
mod moves;
mod played;
mod played_core;
mod resilience;
mod scene;
mod tree;

pub(crate) use journey::workload_cluster_on;
