//! What to do about one MachineDeployment.
//!
//! `step` looks at the deployment, its sets, their Machines and Nodes, plans a pass, and answers with its batches and then with
//! a conclusion. It never remembers: how far a rollout is follows from what each set wants and has.

mod claims;
mod conclusion;
mod current;
mod deletion;
mod disruptions;
mod effect;
mod freeze;
mod group;
mod history;
mod in_place;
pub mod invariants;
mod leaving;
mod new_set;
mod nodes;
mod plan;
mod progress;
mod revision;
mod rollback;
mod rolling;
mod rollout;
mod scaling;
mod stage;
mod status;
mod step;
mod strategy;
mod targets;
mod transfers;
mod trigger;
mod validity;
mod view;
mod waits;
mod window;

#[cfg(test)]
mod tests;

pub use conclusion::{Conclusion, Note, NoteKind, Reason, Step};
pub use current::{Candidate, current};
pub use effect::{
    DeploymentChange, Done, Effect, MachineChange, MachineKey, NewSet, NodeChange, Progress, SetChange,
    SetKey, TakenBy,
};
pub use progress::words;
pub use revision::{find_revision, parse_revision};
pub use stage::{Counts, Stage};
pub use status::{Condition, ConditionKind, FailedMachine, Status};
pub use step::step;
pub use strategy::{Bounds, Orchestration, RawBounds, RawStrategy, Shares, Strategy};
pub use view::{
    DeploymentFact, DeploymentView, MachineFact, Names, NodeFact, Owner, Preserved, ScaleDown, SelectorFact,
    SetFact, SetStatusFact, Settings, SpecFact, UpdateResult, UpdateStage, WindowsFact,
};
