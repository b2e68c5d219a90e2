//! A real etcd, kube-apiserver, kube-controller-manager and kube-scheduler for demo and tests, and real kubelets.
//!
//! The four programs are one binary that `go build` makes from their own Go modules (`go.mod` beside this crate); see
//! [`build`]. [`ControlPlane::start`] runs it in a temporary folder on free ports of 127.0.0.1, with certificates and
//! keys of its own, and stops it whatever happens:
//!
//! * dropping the [`ControlPlane`] kills the processes and removes the folder;
//! * if the process that started it dies in any way, `kill -9` included, each program sees the end of its standard
//!   input and exits, and etcd removes the folder.
//!
//! ```no_run
//! # async fn demo() -> anyhow::Result<()> {
//! use control_plane::{ControlPlane, Options};
//! let plane = ControlPlane::start(Options::default()).await?;
//! plane.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n").await?;
//! println!("kubectl --kubeconfig {} get namespaces", plane.admin_kubeconfig().display());
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `build` | builds the four programs as one binary, and the kubelet |
//! | `plane` | a running control plane: start, stop, accounts, options |
//! | `kubelet` | real kubelets on imitated machines, which join a control plane |
//! | `process` | a program as a child process that never outlives us |
//! | `certs` | the certificate authority of a control plane, and its certificates and keys |
//! | `kubeconfig` | kubeconfig files with one server and one user |
//! | `files` | the files of a control plane, in a folder that only its owner can read |
//! | `apply` | applies manifests of any kind, as `kubectl apply --server-side` does |
//! | `usage` | the CPU time and memory of a process, read from `/proc` |
//! | `go` | builds programs from a Go module, once for each state of its sources |
//! | `orphans` | ends child processes with a parent that they know nothing of |

mod apply;
pub mod build;
mod certs;
mod files;
mod go;
mod kubeconfig;
mod kubelet;
mod orphans;
mod plane;
mod process;
mod usage;

pub use apply::apply;
pub use build::binary;
pub use go::GoModule;
pub use kubeconfig::bootstrap_kubeconfig;
pub use kubelet::{Kubelet, KubeletOptions, Machine};
pub use orphans::end_with_this_thread;
pub use plane::{ControlPlane, Options, Pids, client_from, free_port};
pub use usage::{ProcessUsage, process_usage};
