//! What to do about one MachineDeployment.
//!
//! `step` looks at the deployment, its sets, their Machines and Nodes, plans a pass, and answers with its batches and then with
//! a conclusion. It never remembers: how far a rollout is follows from what each set wants and has.

mod conclusion;
mod deletion;
mod disruptions;
mod effect;
mod facts;
pub mod invariants;
mod nodes;
mod plan;
mod rollout;
pub(crate) mod sets;
mod status;
mod step;
mod trigger;
mod validity;

#[cfg(test)]
mod tests;

pub use conclusion::{Conclusion, Note, NoteKind, Reason, Step};
pub use effect::{
    DeploymentChange, Done, Effect, MachineChange, MachineKey, NewSet, NodeChange, Progress, SetChange,
    SetKey, TakenBy,
};
pub use facts::{
    DeploymentFact, DeploymentView, MachineFact, Names, NodeFact, Owner, Preserved, ScaleDown, SelectorFact,
    SetFact, SetStatusFact, Settings, SpecFact, UpdateResult, UpdateStage, WindowsFact,
};
pub use rollout::stage::{Counts, Stage};
pub use rollout::strategy::{Bounds, Orchestration, RawBounds, RawStrategy, Shares, Strategy};
pub use sets::current::{Candidate, current};
pub use sets::revision::{find_revision, parse_revision};
pub use status::progress::words;
pub use status::{Condition, ConditionKind, FailedMachine, Status};
pub use step::step;
