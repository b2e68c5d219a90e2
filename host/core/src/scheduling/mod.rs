//! When objects are reconciled, and which effects may happen.
//!
//! | module | what it does |
//! | --- | --- |
//! | `queue` | which key is reconciled next |
//! | `step` | the next step of a reconcile: effects, or its end |
//! | `retry` | the retry table, and the count of failures of each key |
//! | `barrier` | an owner's next reconcile waits until the cache has seen its last writes |
//! | `gate` | the one check before each effect: open, or frozen for destructive ones |
//! | `lease` | leader election over the fields of a Lease |
//! | `call_room` | limits how many Machines are in driver calls, and queues the others |
//! | `request_rate` | limits requests to an API server: a token bucket |
//! | `vm_checks` | when the VMs of Machines in service are queried again |
//! | `clock_skew` | the difference between the clocks of this host and an API server |

pub mod barrier;
pub mod call_room;
pub mod clock_skew;
pub mod gate;
pub mod lease;
pub mod queue;
pub mod request_rate;
pub mod retry;
pub mod step;
pub mod vm_checks;
