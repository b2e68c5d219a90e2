//! What to do about one MachineSet: a number of equal Machines.
//!
//! As for a Machine: all facts of a pass and what the pass has done go in, the next batch of effects or a conclusion comes
//! out. Nothing is counted from pass to pass: that no Machine is made twice follows from their names, see [`names`].

mod capacity;
mod claim;
mod conclusion;
mod create;
mod delete;
mod effect;
mod fate;
pub mod invariants;
mod joins;
mod keep;
mod members;
pub mod names;
mod order;
mod overshoot;
mod remove;
mod status;
mod step;
mod sync;
mod trouble;
mod validity;
mod view;

#[cfg(test)]
mod tests;

pub use capacity::Alternatives;
pub use conclusion::{
    Conclusion, ConditionKind, OwnCondition, OwnConditionKind, Reason, SetCondition, SetOperation, SetStatus,
    Step,
};
pub use effect::{
    BURST, Birth, Creation, Effect, Keep, MachineRef, Outcome, Progress, SetLook, TakenBy, Why,
};
pub use joins::FailedJoins;
pub use step::step;
pub use view::{
    ChildFact, DeploymentFact, Freshness, Owner, Part, SelectorFact, SetFact, SetNames, SetSettings, SetView,
    TemplateFact, ToldFact,
};
