//! One MachineDeployment.
//!
//! `step` reads the deployment, its sets, their Machines and Nodes, plans a reconcile, and returns the batches of the
//! plan and then a conclusion. It remembers nothing: the numbers of each set show how far a rollout is.
//!
//! | module | what it does |
//! | --- | --- |
//! | `step` | does the batches of a plan, and concludes |
//! | `plan` | plans a reconcile: the batches of effects, and the reason to wait |
//! | `facts` | all facts of a reconcile |
//! | `effect` | the effects and their outcomes |
//! | `conclusion` | how a reconcile ends: status, reason, Events, requeue |
//! | `validity` | validates the spec, and says how to fix it |
//! | `sets` | the sets: adoption, new set, revisions, history |
//! | `rollout` | how many Machines each set gets: strategies, scaling, rollback |
//! | `disruptions` | budget, node ages, replacements that come first |
//! | `nodes` | annotations and taints of Nodes during a rollout |
//! | `trigger` | the list of Machines that the autoscaler wants to remove |
//! | `status` | status fields, progress, and the reasons to wait |
//! | `deletion` | deletes the sets of a deployment that is being deleted |
//! | `invariants` | rules that always hold, for assertions, tests and the simulator |

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

pub use conclusion::{
    DeploymentConclusion, DeploymentEvent, DeploymentEventKind, DeploymentReason, DeploymentStep,
};
pub use effect::{
    DeploymentChange, DeploymentEffect, DeploymentProgress, EffectResult, ExistingSet, MachineChange,
    MachineKey, NewSet, RolloutNodeChange, SetChange, SetKey,
};
pub use facts::{
    DeploymentFact, DeploymentNames, DeploymentSelectorFact, DeploymentSettings, DeploymentView,
    OwnedMachineFact, OwnedSetFact, RolloutNodeFact, ScaleDown, SetOwner, SetStatusFact, SpecFact,
    UpdateResult, UpdateStage, WindowsFact,
};
pub use rollout::stage::{RolloutCounts, RolloutStage};
pub use rollout::strategy::{Orchestration, RawRolloutBounds, RawStrategy, RolloutBounds, Shares, Strategy};
pub use sets::current::{SetCandidate, current};
pub use sets::revision::{find_revision, parse_revision};
pub use status::progress::words;
pub use status::{DeploymentCondition, DeploymentConditionKind, DeploymentStatus, FailedMachine};
pub use step::step;
