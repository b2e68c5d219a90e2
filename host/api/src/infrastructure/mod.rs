//! The kinds by which Machinist is an infrastructure provider of Cluster API, for its contract v1beta2.
//!
//! Cluster API owns Machines, Nodes, drains and replacement; these kinds are about VMs alone. Core reads the fields of
//! its contract and no others. The rest of a spec is ours: `providerSpec` is that of a MachineClass, byte for byte.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`machine`] | `MachinistMachine`: one VM |
//! | [`template`] | `MachinistMachineTemplate`: what MachineSets and ClusterClasses make Machines from |
//! | [`cluster`] | `MachinistCluster` and its template: what the Machines of a cluster share |
//! | [`identity`] | `MachinistIdentity`: credentials that several namespaces may use |
//! | [`remediation`] | `MachinistRemediation` and its template: reboots before an owner replaces a machine |
//! | [`cluster_api`] | the kinds of Cluster API that such a provider reads |
//! | [`node_groups`] | the kinds of Cluster API that are node groups of cluster-autoscaler |
//! | [`autoscaler`] | names that cluster-autoscaler's users write on MachineDeployments of both groups |
//! | [`names`] | labels, annotations and finalizers |
//! | `definitions` | what their definitions have beside schemas |

pub mod autoscaler;
pub mod cluster;
pub mod cluster_api;
mod definitions;
pub mod identity;
pub mod machine;
pub mod names;
pub mod node_groups;
pub mod remediation;
pub mod template;

pub use cluster::{MachinistCluster, MachinistClusterTemplate};
pub use definitions::definitions;
pub use identity::{IdentityReference, MachinistIdentity};
pub use machine::{MachinistMachine, MachinistMachineSpec, MachinistMachineStatus};
pub use remediation::{MachinistRemediation, MachinistRemediationTemplate};
pub use template::MachinistMachineTemplate;

/// API group of these kinds.
pub const GROUP: &str = "infrastructure.machinist.dev";
/// Version of these kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version of these kinds.
pub const API_VERSION: &str = "infrastructure.machinist.dev/v1alpha1";
