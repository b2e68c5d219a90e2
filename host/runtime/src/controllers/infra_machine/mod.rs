//! MachinistMachines: the VMs of Machines of Cluster API.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `secrets` | reads the Secrets of a reconcile |
//! | `act` | does the effects |
//! | `request` | the request to a driver |
//! | `status_patch` | the status of the contract, as a merge patch of the differences |
//! | `events` | which Events a reconcile writes |

mod act;
mod events;
mod reconcile;
pub(crate) mod request;
pub(crate) mod secrets;
mod status_patch;

pub(crate) use reconcile::run;
