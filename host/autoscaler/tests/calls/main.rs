//! The calls of cluster-autoscaler over a real connection, with a client that is generated from the published
//! interface. The runtime is as it is; the API server is in memory; MachineDeployments and MachineSets of
//! machine-controller-manager's kind have their controllers, and no driver makes VMs.

mod bad_input;
mod cluster_api;
mod connections;
mod fixture;
mod no_drivers;
mod objects;
mod reads;
mod resizing;
mod thousand;
