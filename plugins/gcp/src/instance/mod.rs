//! The work of each call in Compute Engine.
//!
//! | module | what it does |
//! | --- | --- |
//! | `machine` | finds a Machine's instance: state, reboot, removal of one of two |
//! | `create` | from a request to exactly one instance |
//! | `launch` | the body of a new instance |
//! | `delete` | removes a Machine's instances and disks until they are proven gone |
//! | `initialize` | marks adopted instances |
//! | `listing` | the instances of a cluster |
//! | `marks` | ownership by labels |
//! | `adoption` | instances of machine-controller-manager that a cluster adopts |
//! | `map` | from Google's objects to the contract's types |

pub(crate) mod adoption;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod initialize;
pub(crate) mod launch;
pub(crate) mod listing;
pub(crate) mod machine;
pub(crate) mod map;
pub(crate) mod marks;
