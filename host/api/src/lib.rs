//! The Kubernetes API of Machinist: kinds, names that others rely on, generated CRDs.
//!
//! The four kinds are those of machine-controller-manager, field for field, plus `status.machinist`. They decode
//! everything that an API server with that project's schemas can hold: absent or null fields, unknown words, invalid
//! durations. Later code decides about such values, where an invalid one can become a condition on its object.
//!
//! This crate has no client and does no IO, except for the program that writes the CRDs.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`machine`], [`machine_class`], [`machine_set`], [`machine_deployment`] | the four kinds |
//! | [`template`] | the template of Machines |
//! | [`infrastructure`] | the kinds of an infrastructure provider of Cluster API |
//! | [`own_status`] | `status.machinist` |
//! | [`names`] | finalizers, labels, annotations, Leases: names that other programs read or write |
//! | [`compat`] | the texts of `lastOperation.description` that other programs read |
//! | [`word`] | words of a closed vocabulary, in fields that may hold anything |
//! | [`value`] | values that Kubernetes has types for: times, a number or a text |
//! | `lenient` | decoding that does not fail for one invalid field |
//! | `kind` | makes a struct a Kubernetes kind |
//! | [`crd`] | generates the CRDs, with validation rules (CEL) |

pub mod compat;
pub mod crd;
pub mod infrastructure;
mod kind;
mod lenient;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_set;
pub mod names;
pub mod own_status;
pub mod template;
pub mod value;
pub mod word;

pub use machine::{Machine, MachineSpec, MachineStatus};
pub use machine_class::{MachineClass, MachineClassStatus};
pub use machine_deployment::{MachineDeployment, MachineDeploymentSpec, MachineDeploymentStatus};
pub use machine_set::{MachineSet, MachineSetSpec, MachineSetStatus};
pub use word::Word;
