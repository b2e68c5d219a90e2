//! Reconciles of each kind: facts from the caches, effects on clusters and clouds, one status write.
//!
//! | module | what it does |
//! | --- | --- |
//! | `facts` | API objects to facts |
//! | `frame` | what the reconciles of all kinds share: steps, effects, the status write, Events |
//! | `machine`, `machine_set`, `machine_deployment` | reconciles of the three kinds |
//! | `infra_machine`, `infra_cluster`, `infra_template`, `infra_remediation` | reconciles of the kinds for Cluster API |
//! | `infra_identity` | keeps a finalizer on their credentials that are in use |
//! | `classes` | reconciles of MachineClasses and their Secrets |
//! | `objects` | patches, conditions and status writes of API objects |
//! | `state` | caches, drivers and memories of a tenant, for all reconciles |

pub(crate) mod classes;
pub(crate) mod facts;
pub(crate) mod frame;
pub(crate) mod infra_cluster;
pub(crate) mod infra_identity;
pub(crate) mod infra_machine;
pub(crate) mod infra_remediation;
pub(crate) mod infra_template;
pub(crate) mod machine;
pub(crate) mod machine_deployment;
pub(crate) mod machine_set;
pub(crate) mod objects;
pub(crate) mod state;
