//! MachinistMachines and MachinistClusters: the infrastructure provider of Cluster API. Its core is played by the tests.

mod clusters;
mod crashes;
mod identities;
mod lifecycle;
mod moves;
mod objects;
mod waits;
