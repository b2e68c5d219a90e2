//! One Machine.
//!
//! `step` gets all facts of a reconcile and the outcomes so far, and returns the next batch of effects or a conclusion.
//! It remembers nothing: the facts tell where a Machine is in its life.
//!
//! Phase `Failed` is decided in three places: `join::timers` (joined too late, unhealthy too long), `join::absent` (the
//! Node's name is taken) and `creation::failed` (the cloud does not create the VM in time).
//!
//! | module | what it does |
//! | --- | --- |
//! | `step` | chooses: deletion, creation, or life with a Node; backs off after failed writes |
//! | `facts` | all facts of a reconcile; a Machine as its owners see it |
//! | `effect` | the effects, their outcomes, and their kinds for the gate |
//! | `conclusion` | how a reconcile ends: status, condition reason, requeue |
//! | `creation` | from a Machine to its one VM |
//! | `join` | the life with a Node: joining, health, updates in place, preservation |
//! | `delete` | from a deletion timestamp to nothing left |
//! | `node` | the Node's metadata, health, and preservation request |
//! | `ownership` | conflicts about a VM or a Node, and the cluster's mark |
//! | `template` | compares templates: must Machines be replaced? |
//! | `inherited` | settings that deployments and sets hand down |
//! | `finalizer` | whether our finalizer must be on a class or Secret |
//! | `invariants` | rules that always hold, for assertions, tests and the simulator |

mod conclusion;
pub(crate) mod creation;
mod delete;
mod effect;
mod facts;
pub mod finalizer;
pub mod inherited;
pub mod invariants;
mod join;
pub mod node;
pub mod ownership;
mod step;
pub mod template;

#[cfg(test)]
pub(crate) mod tests;

pub use crate::value::words::Severity;
pub use conclusion::{
    LastOperation, MachineConclusion, MachineCondition, MachineConditionKind, MachineReason, MachineStep,
    OperationNote, Requeue, StatusChange, VmReport,
};
pub use creation::doubt::{CallEnd, CallResult, CreateIntent, IntendedCall};
pub use delete::note::{DeletionNote, DeletionStage};
pub use effect::{
    EffectTrait, MachineEffect, MachineOutcome, MachineProgress, MetaChange, NodeConditionWrite,
};
pub use facts::summary;
pub use facts::{
    ClassFact, DeleteRequestFact, DeletionFact, DriverFact, MachineFact, MachineNames, MachineSettings,
    MachineView, NodeConditionText, NodeFact, NodePresence, OperationFact, PreservationFact,
    ReportedCondition, SecretFact, TargetFact,
};
pub use join::{conditions_differ, in_place, preserve};
pub use step::{retry_write, step};
