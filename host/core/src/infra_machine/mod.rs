//! An infrastructure machine of Cluster API: one VM, without a Node.
//!
//! Cluster API drains, joins and replaces. The VM is left: made exactly once, looked at, removed until it is proven
//! gone. [`crate::machine`] decides that, as for a Machine without a target cluster; this room decides when it may
//! begin, and says what has come of it in the words of the contract.
//!
//! | module | what it does |
//! | --- | --- |
//! | `facts` | all facts of a reconcile |
//! | `step` | the order: pause, key, deletion, owner, cluster, bootstrap data, and then the VM |
//! | `prerequisites` | what creation waits for |
//! | `bootstrap_data` | what comes before a create with other data than the one before |
//! | `driver_functions` | questions to the driver: the failure domain, the id of the Node, the interruption |
//! | `conclusion` | the status by the contract, out of the end of a reconcile |
//! | [`remediation`] | reboots of the VM of an unhealthy Machine, before its owner replaces it |
//! | `addresses` | the addresses that core's schema takes |

pub mod addresses;
mod bootstrap_data;
mod conclusion;
mod driver_functions;
mod facts;
mod prerequisites;
pub mod remediation;
mod step;

#[cfg(test)]
mod tests;

pub use conclusion::{InfraConclusion, InfraReason, InfraStatus};
pub use facts::{
    BootstrapFact, ClusterFact, IdentityFact, InfraMachineView, InfraNames, OwnerFact, PauseCause,
    ReportedReady,
};
pub use step::step;

use crate::machine::MachineEffect;
use crate::scheduling::step::Step;

/// The next step of a reconcile. Its effects are those of a Machine.
pub type InfraStep = Step<MachineEffect, InfraConclusion>;
