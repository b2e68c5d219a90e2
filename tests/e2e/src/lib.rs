//! The whole of Machinist on a real control plane: the lab that demo, tests and benchmarks share.
//!
//! A [`Lab`] is a real etcd and kube-apiserver, a [`Cloud`], the kubelets of its VMs, and the host as a process of its
//! own under its least-privilege account. Everything listens on loopback and ends with the lab.

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

pub use cloud::{Aws, Cloud, LiveVm, Made};
pub use host::{Host, HostOptions, binary};
pub use lab::{Kinds, Lab, LabOptions, install, is_complete};
pub use metrics::Metrics;
pub use wait::{eventually, within};
