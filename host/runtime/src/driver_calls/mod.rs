//! Calls of drivers: their limits, and the memory of this process about them.
//!
//! A call goes through `call_recorder`, then `leader_only`, to the port `Drivers`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `call_recorder` | records each call in the history, counts it, and frees the slot of its reconcile |
//! | `leader_only` | ends a call when this process stops leading |
//! | `vm_calls` | the calls about one VM, and what this process remembers of them |
//! | `slots` | limits the reconciles that run; a reconcile that waits for a driver holds no slot |
//! | `call_slots` | limits how many Machines of a cloud account are in calls |
//! | `driver_choice` | which driver, and which version of it, a class chooses |
//! | `class_checks` | the results of the last checks of classes |
//! | `capacity` | classes that the cloud has no capacity for |
//! | `bootstrap_data` | bootstrap data by its digest, and since when it is not that of an earlier create |
//! | `creates` | how creates ended, for clouds without idempotency keys |
//! | `unstarted` | Machines that this process created and has not requested a VM for |
//! | `deletion_requests` | VMs whose deletion this process has requested |

pub(crate) mod bootstrap_data;
pub(crate) mod call_recorder;
pub(crate) mod call_slots;
pub(crate) mod capacity;
pub(crate) mod class_checks;
pub(crate) mod creates;
pub(crate) mod deletion_requests;
pub(crate) mod driver_choice;
pub(crate) mod leader_only;
pub(crate) mod slots;
pub(crate) mod unstarted;
pub(crate) mod vm_calls;
