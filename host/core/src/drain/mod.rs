//! Drains: the eviction of a Node's pods before its VM is deleted.
//!
//! A reconcile is bounded and never blocks. `step` reads the pods of the Node as they are, returns a few evictions, and
//! says when to come back. It keeps no list of its evictions: a terminating pod shows that itself. Only one thing is
//! stored, in [`DrainMemory`]: the volumes that must appear on another Node before the next pod is evicted.
//!
//! The caller cordons the Node first, does the effects, stores the memory, and decides whether a forced end is enough.
//!
//! "Why does this pod stay?" `pods::state` decides the cause of each pod, `ordinary` its turn, `message` the text.
//!
//! | module | what it does |
//! | --- | --- |
//! | `step` | chooses between an ordinary and a forced drain |
//! | `ordinary` | evicts pods without volumes in parallel, those with volumes in turn, then waits for them |
//! | `forced` | deletes pods in parallel, then the VolumeAttachments of the Node, and waits for nothing |
//! | `pods` | facts about pods, volumes and PodDisruptionBudgets, and the state of each pod |
//! | `request` | the request: settings, force, facts that need no IO; how hard it pushes, by the time since its start |
//! | `effect` | the effects of a drain and their outcomes |
//! | `report`, `message` | what the drain waits for: as data, and as text |
//! | `requeue` | when the drain comes back |
//! | `admission` | how many drains of a tenant send requests at once, and the queue of the others |

mod admission;
mod effect;
mod forced;
mod message;
mod ordinary;
pub(crate) mod pods;
mod report;
mod request;
mod requeue;
mod step;

#[cfg(test)]
mod tests;

pub use admission::DrainSlots;
pub use effect::{DrainEffect, DrainOutcome, DrainProgress, EvictError, PodListing, ReadConsistency};
pub use pods::budget::{BudgetFact, UnhealthyPods};
pub use pods::pod::{PodFact, PodOwner, PodPhase, PodRef, PodTermination};
pub use pods::volume::{AttachmentFact, AwaitedVolume, DrainMemory, PvcFact, VolumeName};
pub use report::{DrainEnd, DrainReport, PodGroup, WaitCause};
pub use request::{DrainFacts, DrainRequest, DrainSettings, Force, NodeState};
pub use step::{DrainStep, step};
