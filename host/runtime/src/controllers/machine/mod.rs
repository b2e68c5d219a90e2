//! Machines: facts from caches, effects on clusters and clouds, one status write for each reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile: observes once, then asks the core and acts until the core concludes |
//! | `facts` | API objects to facts |
//! | `act` | does the effects, after it has checked leadership and gate |
//! | `request` | the request to a driver |
//! | `token` | the bootstrap token, as a Secret |
//! | `node` | effects on the Node |
//! | `template` | a node template as JSON |
//! | `publish` | writes the status if it differs |
//! | `status_message`, `vm_status`, `drain_status` | parts of the status |
//! | `events` | which Events a reconcile writes |
//! | `milestones` | points in a Machine's life, for metrics |

mod act;
mod drain_status;
mod events;
pub(crate) mod facts;
mod milestones;
mod node;
mod publish;
mod reconcile;
mod request;
mod status_message;
mod template;
mod token;
mod vm_status;

pub(crate) use facts::node_ownership::{SharedNodes, own_node};
pub(crate) use facts::observe::{class_fact, node_matters, timeouts};
pub(crate) use facts::summary::member;
pub(crate) use reconcile::{RetryFacts, run};
