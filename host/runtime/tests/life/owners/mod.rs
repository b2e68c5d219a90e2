//! The lives of MachineSets and MachineDeployments.

pub(crate) mod deployments;
pub(crate) mod disruptions;
pub(crate) mod sets;
