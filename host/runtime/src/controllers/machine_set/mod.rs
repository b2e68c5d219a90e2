//! MachineSets: effects on Machines and the set, one status write for each reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `act` | does the effects |
//! | `body` | the Machines that a set creates |
//! | `status_patch` | the status that a conclusion asks for, as a merge patch of the differences |
//! | `events` | which Events a reconcile writes |

mod act;
pub(crate) mod body;
mod events;
mod reconcile;
mod status_patch;

pub(crate) use reconcile::run;
