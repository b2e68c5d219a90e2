//! Machines: effects on clusters and clouds, one status write for each reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `act` | does the effects |
//! | `request` | the request to a driver |
//! | `token` | the bootstrap token, as a Secret |
//! | `node` | effects on the Node, and a node template as JSON |
//! | `status_patch` | the status that a conclusion asks for, as a merge patch of the differences |
//! | `status_message`, `status_parts` | parts of the status |
//! | `events` | which Events a reconcile writes |
//! | `milestones` | points in a Machine's life, for metrics |

mod act;
mod events;
mod milestones;
mod node;
mod reconcile;
mod request;
mod status_message;
pub(crate) mod status_parts;
mod status_patch;
mod token;

pub(crate) use reconcile::run;
