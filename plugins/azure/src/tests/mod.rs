//! The driver against `tests/clouds/azure` as a value: without sockets and without a clock.
//!
//! | module | content |
//! | --- | --- |
//! | `classes` | classes that the driver accepts and refuses |
//! | `creation` | from a request to exactly one VM |
//! | `zones` | zones that a create tries one after the other |
//! | `faults` | a fault at each request of a life: one VM, and nothing left |
//! | `refusals` | refusals of Azure, as the host and people see them |
//! | `deletion` | nothing is left, and nothing of others is touched |
//! | `listing` | listings of the cluster's VMs and their remains |
//! | `takeover` | VMs of another program, in clusters that adopt them and in others |
//! | `functions` | the interfaces for Cluster API: ids of Nodes, zones, resources, spot |
//! | `grants` | the shipped grants allow what the driver needs, and no more |
//! | `harness` | the cloud, its clock, and a small host around the driver |

mod classes;
mod creation;
mod deletion;
mod faults;
mod functions;
mod grants;
mod harness;
mod listing;
mod refusals;
mod takeover;
mod zones;
