//! Emptying a Node before its VM goes: which pods are evicted next, or what is awaited.
//!
//! One bounded pass that never blocks: `step` looks at the pods of the Node as they are, asks for a few evictions, and says
//! when to look again. It remembers nothing of what it asked for: a pod on its way out says so itself. Only what no object
//! tells, namely which volumes are to appear elsewhere before the next pod goes, is kept in [`Memory`].
//!
//! Whoever embeds it cordons the Node first, does the effects, stores the memory, and decides whether a forced end is good
//! enough to go on.

mod admission;
mod effect;
mod forced;
mod message;
mod ordinary;
pub(crate) mod pods;
mod report;
mod request;
mod stage;
mod step;
mod wake;

#[cfg(test)]
mod tests;

pub use admission::Turns;
pub use effect::{Effect, EvictError, Look, Outcome, Progress, Read};
pub use pods::budget::{BudgetFact, UnhealthyPods};
pub use pods::pod::{Ending, PodFact, PodOwner, PodPhase, PodRef};
pub use pods::volume::{AttachmentFact, AwaitedVolume, ClaimFact, Memory, VolumeName};
pub use report::{Cause, End, Group, Report};
pub use request::{Facts, Force, NodeState, Request, Settings};
pub use step::{Step, step};
