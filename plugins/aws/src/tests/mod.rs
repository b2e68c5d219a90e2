//! The driver against a model of EC2, without sockets and without a clock.
//!
//! | module | content |
//! | --- | --- |
//! | `classes` | classes that the driver accepts and refuses |
//! | `creation` | from a request to exactly one instance, whatever happens in between |
//! | `zones` | zones that a create tries one after the other |
//! | `initialization` | the steps after a launch |
//! | `life` | the state of a machine, and its deletion |
//! | `listing` | listings of the cluster's instances |
//! | `takeover` | instances of another program, in clusters that adopt them and in others |
//! | `functions` | the interfaces for Cluster API: zones, resources |
//! | `requests` | the bytes of requests |
//! | `failures` | failures as the host and people see them |
//! | `trials` | answers of invalid shapes |
//! | `properties` | properties that hold for any input |
//! | `grants` | the shipped grants name all actions that the driver needs, and no others |
//! | `harness` | the model, faults on the way to it, and the functions that tests use |
//! | `model` | a small EC2, which answers in XML |

mod classes;
mod creation;
mod failures;
mod functions;
mod grants;
mod harness;
mod initialization;
mod life;
mod listing;
mod model;
mod properties;
mod requests;
mod takeover;
mod trials;
mod zones;
