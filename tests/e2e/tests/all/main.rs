//! The host on a real control plane, end to end. Each test has a lab of its own.
//!
//! | module | content |
//! | --- | --- |
//! | `lives` | Machines, from creation to nothing left |
//! | `drain` | Machines with pods: their drains, and the budgets and hooks that block these |
//! | `deployments` | MachineDeployments, with the autoscaler and with manual edits |
//! | `plugins` | the state of plugins, and the effect of a change of a ConfigMap |
//! | `safety` | orphan VMs, the operator's freeze, and an API server that is unreachable |
//! | `aws` | the driver of EC2, against moto behind a proxy |
//! | `clouds` | the same stories on each cloud |
//! | `tls_bootstrap` | real kubelets join by TLS bootstrap with the user data of their VMs |
//! | `cluster_api` | the infrastructure provider of Cluster API on a real API server |
//! | `admin` | output for operators, and its limits |
//! | `commands` | the commands about deployments against a real API server |
//! | `places` | the names and manifests that the host runs under |
//! | `scene` | a lab with a host for each test, a few at a time |

mod admin;
mod aws;
mod clouds;
mod cluster_api;
mod commands;
mod deployments;
mod drain;
mod lives;
mod places;
mod plugins;
mod safety;
mod scene;
mod tls_bootstrap;
