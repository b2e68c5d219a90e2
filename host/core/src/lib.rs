//! Decisions of Machinist: facts in, effects out.
//!
//! This crate has no clock, no randomness, no IO and no async: all of these are arguments. It knows nothing of
//! Kubernetes' client, of WebAssembly or of a cloud. You can replay each decision: call the function with the same
//! arguments.
//!
//! | module | decides |
//! | --- | --- |
//! | [`machine`] | one Machine: creation, its life with a Node, deletion, ownership |
//! | [`infra_machine`] | one VM of a Machine of Cluster API |
//! | [`infra_template`] | the resources of a Node of such machines |
//! | [`infra_cluster`] | what the machines of a cluster of Cluster API share |
//! | [`machine_set`] | how many Machines a set keeps, which it creates and which it deletes |
//! | [`machine_deployment`] | rollouts, their sets and their status |
//! | [`drain`] | which pods are evicted next |
//! | [`autoscaler`] | MachineDeployments as node groups of cluster-autoscaler |
//! | [`safety`] | when the host freezes, which VMs are orphans, which zones are silent |
//! | [`health_policy`] | which opinion of a health policy counts |
//! | [`disruption`] | when a deployment may take Machines away: requests, budgets, windows, ages |
//! | [`scheduling`] | queue, retry table, barrier, gate, leases |
//! | [`driver`] | the vocabulary of driver calls: requests, answers, errors |
//! | [`events`] | which text is the same Event, and in which order Events are written |
//! | [`value`] | names, durations, addresses, digests |

pub mod autoscaler;
pub mod disruption;
pub mod drain;
pub mod driver;
pub mod events;
pub mod health_policy;
pub mod infra_cluster;
pub mod infra_machine;
pub mod infra_template;
pub mod machine;
pub mod machine_deployment;
pub mod machine_set;
pub mod safety;
pub mod scheduling;
pub mod value;
