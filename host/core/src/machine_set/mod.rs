//! What to do about one MachineSet: a number of equal Machines.
//!
//! As for a Machine: all facts of a pass and what the pass has done go in, the next batch of effects or a conclusion comes
//! out. Nothing is counted from pass to pass: that no Machine is made twice follows from their names, see [`names`].

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
    Conclusion, ConditionKind, OwnCondition, OwnConditionKind, Reason, SetCondition, SetOperation, SetStatus,
    Step,
};
pub use creation::capacity::Alternatives;
pub use creation::join_failures::FailedJoins;
pub use effect::{
    BURST, Birth, Creation, Effect, Keep, MachineRef, Outcome, Progress, SetLook, TakenBy, Why,
};
pub use facts::{
    ChildFact, DeploymentFact, Freshness, Owner, Part, SelectorFact, SetFact, SetNames, SetSettings, SetView,
    TemplateFact, ToldFact,
};
pub use step::step;
