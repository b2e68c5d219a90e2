//! What to do about one Machine.
//!
//! `step` looks at all facts of a pass and at what the pass has done, and answers with the next batch of effects or
//! with a conclusion. It never remembers: where a Machine is in its life follows from the facts.

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
mod problems;
mod step;
pub mod template;

#[cfg(test)]
mod tests;

pub use conclusion::{
    Conclusion, ConditionKind, Note, Operation, OwnCondition, Reason, Severity, StatusChange, Step, VmReport,
    Wake,
};
pub use creation::doubt::{CallEnd, CallResult, CreateIntent, IntendedCall};
pub use delete::note::{DeletionNote, DeletionStage};
pub use effect::{Effect, MetaChange, NodeConditionWrite, Outcome, Progress};
pub use facts::{
    ClassFact, DriverFact, GoingFact, KeepingFact, MachineFact, MachineSettings, MachineView, Names,
    NodeConditionText, NodeFact, NodePresence, OperationFact, OrderFact, SecretFact, TargetFact, ToldFact,
};
pub use join::{conditions_differ, in_place, preserve};
pub(crate) use step::retry_write;
pub use step::step;
