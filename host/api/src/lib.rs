//! The Kubernetes API of Machinist: kinds, names that others rely on, generated CRDs.
//!
//! The four kinds are those of machine-controller-manager, field for field, plus `status.machinist`. They decode whatever
//! an API server with that project's schemas can hold: absent or null anything, words that nobody knows, durations that
//! nobody can parse. What a value means is decided later, where a wrong one can become a condition on its object.
//!
//! This crate has no client and does no IO, except for the program that writes the CRDs.

pub mod compat;
pub mod crd;
mod kind;
mod lenient;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_set;
pub mod names;
pub mod own_status;
mod rules;
pub mod template;
pub mod value;
pub mod word;

pub use machine::{Machine, MachineSpec, MachineStatus};
pub use machine_class::{MachineClass, MachineClassStatus};
pub use machine_deployment::{MachineDeployment, MachineDeploymentSpec, MachineDeploymentStatus};
pub use machine_set::{MachineSet, MachineSetSpec, MachineSetStatus};
pub use word::Word;
