//! The lives of MachineSets and MachineDeployments.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `sets` | MachineSets from creation to deletion |
//! | `deployments` | deployments: created, scaled, rolled out, rolled back and deleted |
//! | `disruptions` | disruption settings: a budget, windows, a maximum age, replacements first |

pub(crate) mod deployments;
pub(crate) mod disruptions;
pub(crate) mod sets;
