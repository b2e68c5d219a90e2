//! Pods of a Node, their volumes and their budgets.
//!
//! | module | what it does |
//! | --- | --- |
//! | `pod` | the facts of a pod, and which pods a drain ignores |
//! | `state` | why each pod is still there |
//! | `budget` | reads PodDisruptionBudgets: which of them refuse an eviction |
//! | `volume` | volumes of pods, and where they are attached |
//! | `volume_moves` | volumes that leave the Node, and those that must appear on another one |

pub(crate) mod budget;
pub(crate) mod pod;
pub(crate) mod state;
pub(crate) mod volume;
pub(crate) mod volume_moves;
