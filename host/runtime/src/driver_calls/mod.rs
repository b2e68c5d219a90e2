//! Calls of drivers: their limits, and the memory of this process about them.
//!
//! A call goes through `recorded`, then `led`, to the port `Drivers`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `recorded` | writes each call into the history, counts it, and frees the place of its pass |
//! | `led` | ends a call when this process stops leading |
//! | `call_slots` | limits how many Machines of a cloud account are in calls |
//! | `cloud_account` | which classes share a cloud account |
//! | `class_secrets` | the Secrets that a class may use |
//! | `capacity` | classes that the cloud has no capacity for |
//! | `creates` | how creates ended, for clouds without idempotency keys |
//! | `unstarted` | Machines that this process created and has not requested a VM for |
//! | `deletion_requests` | VMs whose deletion this process has requested |
//! | `history` | the last calls for each Machine |
//! | `insight` | answers operators who ask about one Machine |

pub(crate) mod call_recorder;
pub(crate) mod call_slots;
pub(crate) mod capacity;
pub(crate) mod class_checks;
pub(crate) mod cloud_account;
pub(crate) mod creates;
pub(crate) mod deletion_requests;
pub(crate) mod driver_choice;
pub(crate) mod leader_only;
pub(crate) mod slots;
pub(crate) mod unstarted;
