//! The calls of cluster-autoscaler over a real connection, with a client that is generated from the published
//! interface. The runtime is as it is; the API server is in memory; MachineDeployments and MachineSets of
//! machine-controller-manager's kind have their controllers, and no driver makes VMs.
//!
//! | module | content |
//! | --- | --- |
//! | `reads` | calls that only read |
//! | `resizing` | sizes of groups of machine-controller-manager's kind, whose controllers follow them |
//! | `cluster_api` | sizes of groups of Cluster API, by the writes of the host |
//! | `bad_input` | calls that are refused: each says why, and writes nothing |
//! | `connections` | clients that may connect, and the process that answers |
//! | `thousand` | a thousand Machines: each call ends within a second, without a request to the API server |
//! | `fixture` | a host that serves an autoscaler, and the autoscaler's client |
//! | `no_drivers` | the ports of a process without drivers |
//! | `objects` | MachineDeployments of both APIs, with their Machines |

mod bad_input;
mod cluster_api;
mod connections;
mod fixture;
mod no_drivers;
mod objects;
mod reads;
mod resizing;
mod thousand;
