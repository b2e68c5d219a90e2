//! Whole lives of Machines: the runtime and the core as they are, on `kube::Client` over a tower service, under paused
//! time. API server and cloud are in memory; no socket is opened and no real second is waited for.
//!
//! Each test brings a `Stage`, starts hosts on it, and looks at what users see, at the VMs, and at every request.
//!
//! | module | content |
//! | --- | --- |
//! | `lives` | one Machine, from its creation to its end |
//! | `nodes` | Machines and their Nodes |
//! | `drains` | Nodes that are drained before their VMs are deleted |
//! | `deletions` | deletions with pods, hooks, force and missing prerequisites |
//! | `owners` | the lives of MachineSets and MachineDeployments |
//! | `cluster_api` | MachinistMachines and MachinistClusters, for Cluster API |
//! | `autoscaler` | node groups of cluster-autoscaler, with Machines that get VMs and Nodes |
//! | `drivers` | plugins, their versions, and their checks of classes |
//! | `policies` | health policies: they observe or decide, and a broken one affects nothing else |
//! | `safety` | VMs without a Machine, and Secrets that a class may not use |
//! | `events` | Events of hosts on an API server |
//! | `hosts` | processes: several, killed, cut off, slow |
//! | `fixture` | the surroundings of the hosts of a test: API server, cloud, kubelets |

mod autoscaler;
mod cluster_api;
mod deletions;
mod drains;
mod drivers;
mod events;
mod fixture;
mod hosts;
mod lives;
mod nodes;
mod owners;
mod policies;
mod safety;
