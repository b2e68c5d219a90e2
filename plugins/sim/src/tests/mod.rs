//! The driver against the cloud's model, without sockets and with a simulated clock.
//!
//! | module | content |
//! | --- | --- |
//! | `classes` | classes that the driver accepts and refuses |
//! | `life` | a machine's life without failures, and its number of requests |
//! | `trials` | a cloud that refuses, breaks and lies, and whose reads are stale |
//! | `functions` | the interfaces for Cluster API: ids of Nodes, zones, resources |
//! | `harness` | a cloud, a fixed clock, and the functions that tests use |

mod classes;
mod functions;
mod harness;
mod life;
mod trials;
