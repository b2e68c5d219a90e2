//! API objects to facts: the only place that reads API objects for the decisions of the core. Nothing here waits.
//!
//! | module | what it does |
//! | --- | --- |
//! | `summary` | a Machine as its owners, and the others of its deployment and zone, see it |
//! | `machine`, `machine_set`, `machine_deployment` | all facts of a reconcile of that kind |
//! | `infra_machine`, `infra_cluster`, `infra_template`, `infra_remediation` | the same for the kinds for Cluster API |

pub(crate) mod infra_cluster;
pub(crate) mod infra_machine;
pub(crate) mod infra_remediation;
pub(crate) mod infra_template;
pub(crate) mod machine;
pub(crate) mod machine_deployment;
pub(crate) mod machine_set;
pub(crate) mod summary;

pub(crate) use machine::node_ownership::{SharedNodes, own_node};
pub(crate) use machine::observe::{class_fact, node_matters, timeouts};
pub(crate) use machine_set::child::unreadable;
pub(crate) use summary::{UPDATED, member, summary};
