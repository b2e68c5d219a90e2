//! One MachineSet: a number of equal Machines.
//!
//! As for a Machine, all facts of a reconcile and the outcomes so far go in, and the next batch of effects or a
//! conclusion comes out. Nothing is counted from pass to pass: names make sure that no Machine is created twice, see
//! [`creation::names`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `step` | asks the questions of a reconcile in order |
//! | `facts` | all facts of a reconcile |
//! | `effect` | the effects and their outcomes |
//! | `conclusion` | how a reconcile ends: status, reason, requeue |
//! | `validity` | validates the spec, and says how to fix it |
//! | `members` | which Machines belong to the set, and the settings that they get |
//! | `creation` | creates missing Machines |
//! | `removal` | deletes Machines |
//! | `errors` | collects failures; the reconcile continues and reports them at its end |
//! | `status` | the status fields |
//! | `delete` | a set that is being deleted |
//! | `invariants` | rules that always hold, for assertions, tests and the simulator |

mod conclusion;
pub mod creation;
mod delete;
mod effect;
mod errors;
mod facts;
pub mod invariants;
mod members;
pub mod removal;
mod status;
mod step;
mod validity;

#[cfg(test)]
mod tests;

pub use conclusion::{
    SetConclusion, SetCondition, SetConditionKind, SetOperation, SetOwnCondition, SetOwnConditionKind,
    SetReason, SetStatus, SetStep,
};
pub use creation::capacity::Alternatives;
pub use creation::join_failures::FailedJoins;
pub use effect::{
    BURST, CreateAttempts, CreateMode, CurrentSet, DeleteReason, MachineRef, NameTakenBy, PreserveChange,
    SetEffect, SetOutcome, SetProgress,
};
pub use facts::{
    ChildFact, Freshness, MachineOwner, ReplicaLimitFact, ReportedSetStatus, SetFact, SetNames,
    SetSelectorFact, SetSettings, SetView, SyncedPart, TemplateFact,
};
pub use step::step;
