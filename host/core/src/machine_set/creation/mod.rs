//! Machines that a set creates.
//!
//! | module | what it does |
//! | --- | --- |
//! | `create` | creates missing Machines: one, then two, then four at a time |
//! | `names` | names from the set's uid and the lowest free ordinals |
//! | `capacity` | another class where the cloud has no capacity for the first |
//! | `overshoot` | freezes a set that has far too many Machines |
//! | `join_failures` | freezes a set whose last Machines all failed to join |

pub(crate) mod capacity;
pub(crate) mod create;
pub(crate) mod join_failures;
pub mod names;
pub(crate) mod overshoot;
