//! One Machine, from its creation to its end.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `lifecycle` | from creation to deletion, without any failure |
//! | `prerequisites` | a Machine reports a missing prerequisite, and continues when it appears |
//! | `fixed_prerequisites` | a fixed prerequisite requeues its Machine at once |
//! | `retries` | the time at which a failed create is tried again, and creates that are not |
//! | `failed_creates` | creates that fail in a cloud without idempotency keys: no Machine ever gets two VMs |
//! | `capacity` | clouds without capacity for a class, and classes that are tried instead |
//! | `cloud_calls` | the number of cloud calls and Events in a Machine's life |
//! | `cluster_marks` | control planes that are moved or restored, and so have another mark than the VMs |
//! | `node_writes` | capacity, finalizers and tokens on Machines and Nodes; updates in place |

pub(crate) mod capacity;
pub(crate) mod cloud_calls;
pub(crate) mod cluster_marks;
pub(crate) mod failed_creates;
pub(crate) mod fixed_prerequisites;
pub(crate) mod lifecycle;
pub(crate) mod node_writes;
pub(crate) mod prerequisites;
pub(crate) mod retries;
