//! MachinistMachines and MachinistClusters: the infrastructure provider of Cluster API. The tests play its core.

mod bad_input;
mod bootstrap_data;
mod clusters;
mod crashes;
mod finalizers;
mod functions;
mod identities;
mod lifecycle;
mod moves;
mod objects;
mod remediation;
mod templates;
mod waits;
