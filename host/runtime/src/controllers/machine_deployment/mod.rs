//! MachineDeployments: writes to sets, Machines and Nodes, one status write for each reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `act` | does the effects |
//! | `sets`, `node` | effects on sets and Nodes |
//! | `status_patch` | the status that a conclusion asks for, as a merge patch of the differences |
//! | `events` | which Events a reconcile writes |

mod act;
mod events;
mod node;
mod reconcile;
mod sets;
mod status_patch;

pub(crate) use reconcile::run;
