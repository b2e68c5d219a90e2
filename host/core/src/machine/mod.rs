//! What to do about one Machine.
//!
//! `step` looks at all facts of a pass and at what the pass has done, and answers with the next batch of effects or
//! with a conclusion. It never remembers: where a Machine is in its life follows from the facts.

mod conclusion;
pub mod contest;
mod create;
mod delete;
mod deletion_note;
mod drain_told;
mod effect;
mod force;
mod hooks;
mod intent;
pub mod invariants;
mod join;
pub mod mark;
mod policies;
mod prerequisites;
mod reboot;
mod setback;
mod slips;
mod step;
mod unproven;
mod view;

#[cfg(test)]
mod tests;

pub use conclusion::{
    Conclusion, ConditionKind, Note, Operation, OwnCondition, Reason, Severity, StatusChange, Step, VmReport,
    Wake,
};
pub use deletion_note::{DeletionNote, DeletionStage};
pub use effect::{Effect, MetaChange, NodeConditionWrite, Outcome, Progress};
pub use intent::{CallEnd, CallResult, CreateIntent, IntendedCall};
pub use join::{conditions_differ, in_place, preserve};
pub(crate) use step::retry_write;
pub use step::step;
pub use view::{
    ClassFact, DriverFact, GoingFact, KeepingFact, MachineFact, MachineSettings, MachineView, Names,
    NodeConditionText, NodeFact, NodePresence, OperationFact, OrderFact, SecretFact, TargetFact, ToldFact,
};
