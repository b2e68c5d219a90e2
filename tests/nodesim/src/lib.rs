//! The kubelets of simulated VMs.
//!
//! [`Fleet`] is the model of all kubelets: it learns what happens to VMs and what came of its actions, and says
//! which [`Action`]s are due at a time. It has no clock and does no IO, so a simulator can run it in its own process.
//! [`NodeSim`] performs the actions against a real API server, for the VMs of a [`VmSource`].
//!
//! A kubelet takes the bootstrap token out of the user data that its VM got, registers its Node with that token in
//! one request, and goes on under an account of its own: a Lease at each heartbeat, a status write when something
//! changed and at each fifth heartbeat. When its VM dies it falls silent and removes nothing.
//!
//! With [`Workloads`], kubelets run the pods that are bound to their Nodes ([`pods`]), and CSI attachers attach and
//! detach volumes ([`volumes`]). The real kube-scheduler and kube-controller-manager bind pods and request attachments.
//!
//! [`RealKubelets`] runs a real kubelet for each VM instead, which joins by TLS bootstrap with nothing but the VM's
//! user data. Each needs 14 MiB beside the 60 MiB that all share; thousands are for [`NodeSim`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `fleet` | the model of all kubelets |
//! | `pods`, `volumes` | the models of pods on their Nodes, and of attachers |
//! | `run`, `shared` | performs the fleet's actions on a thread; the fleet and its clock, for all tasks |
//! | `workloads` | performs the actions of pods and volumes, and follows these on the API server |
//! | `api` | sends requests to the API server, by bootstrap token or under the kubelet's account |
//! | `node` | the objects that a kubelet writes |
//! | `source`, `vm` | VMs of a cloud, and a VM as its kubelet knows it |
//! | `real` | runs a real kubelet for each VM, started out of its user data |
//! | `user_data` | finds the bootstrap token in the user data of a VM |
//! | `config` | settings, and their errors |

mod api;
mod config;
mod fleet;
mod node;
pub mod pods;
mod real;
mod run;
mod shared;
mod source;
mod user_data;
mod vm;
pub mod volumes;
mod workloads;

pub use config::{Config, PodTiming, StartError, Target, Timing, VolumeTiming, Workloads};
pub use fleet::{Action, Done, Fleet, KubeletId, Stats, StatusWrite};
pub use node::{lease, lease_renewal, node, status_patch};
pub use real::{KubeletState, RealKubelets, joining_user_data, kubelet_of};
pub use run::NodeSim;
pub use source::{Ec2Source, Polled, PolledSource, SimcloudSource, VmEvent, VmSource};
pub use user_data::bootstrap_token;
pub use vm::{Address, Vm};
