//! MachinistMachines and MachinistClusters: the infrastructure provider of Cluster API. The tests play its core.

mod clusters;
mod crashes;
mod functions;
mod identities;
mod lifecycle;
mod moves;
mod objects;
mod remediation;
mod templates;
mod waits;
