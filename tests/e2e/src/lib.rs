//! The whole of Machinist on a real control plane: the lab that demo, tests and benchmarks share.
//!
//! A [`Lab`] is a real etcd and kube-apiserver, a [`Cloud`], the kubelets of its VMs, and the host as a process of its
//! own under its least-privilege account. Everything listens on loopback and ends with the lab.
//!
//! | module | what it does |
//! | --- | --- |
//! | `lab` | starts control plane, cloud, kubelets and host in order, and ends them in order |
//! | `cloud` | the clouds that a lab can have, and their differences |
//! | `host` | the host as a process, as its users run it |
//! | `kubelet` | the part of a kubelet that forwards ports, for `kubectl port-forward` |
//! | `manifests` | the objects that a user writes |
//! | `plugins` | plugins without an API server, and components for them |
//! | `fleet` | the Machines of a cluster at every moment, from a watch |
//! | `cluster_api` | management clusters with Cluster API's own programs, and workload clusters |
//! | `autoscaler` | a stand-in for cluster-autoscaler in Gardener's fork |
//! | `faults` | faults of the simulated cloud that tests and benchmarks share |
//! | `metrics` | the counters of a host, read from its `/metrics` |
//! | `wait` | waits for a condition, with a deadline |
//! | `demo` | the demo: a user's steps in order, and whether all of it held |

pub mod autoscaler;
mod cloud;
pub mod cluster_api;
pub mod demo;
pub mod faults;
pub mod fleet;
mod host;
pub mod kubelet;
mod lab;
pub mod manifests;
mod metrics;
pub mod plugins;
mod wait;

pub use cloud::{Aws, Azure, Cloud, Gcp, Hcloud, LiveVm, Lxd, Made, OpenStack};
pub use host::{Host, HostOptions, binary};
pub use lab::{Kinds, Lab, LabOptions, install, is_complete};
pub use metrics::Metrics;
pub use wait::{eventually, within};
