//! MachinistMachines and MachinistClusters: the infrastructure provider of Cluster API. The tests play its core.
//!
//! | module | content |
//! | --- | --- |
//! | `lifecycle` | from creation to deletion, without any failure |
//! | `bootstrap_data` | bootstrap data that changes while a create may still make a VM, or that a cloud refuses |
//! | `identities` | credentials: a Secret of the namespace, or a MachinistIdentity that allows the namespace |
//! | `functions` | drivers with the interfaces for Cluster API: ids of Nodes, failure domains |
//! | `clusters` | MachinistClusters: provided once owned, and there until their last machine is gone |
//! | `templates` | the resources of Nodes in the status of templates |
//! | `waits` | MachinistMachines that wait for other objects, and their conditions meanwhile |
//! | `remediation` | reboots of unhealthy machines, and the request to their owner when these do not help |
//! | `moves` | pauses, and `clusterctl move`: objects with new uids and without a status |
//! | `finalizers` | finalizers and owners that somebody removes |
//! | `bad_input` | ids of VMs written by hand, and deletions of paused objects |
//! | `crashes` | hosts that crash between any two requests, and the next one, which continues |
//! | `objects` | the objects of a workload cluster, as Cluster API and its users create them |

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
