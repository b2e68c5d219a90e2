//! The owners of the Machines of a run.

use crate::rng::Rng;

/// The kind of owner of the Machines of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    Nobody,
    Set,
    /// Of one or two MachineDeployments.
    Deployments,
}

impl Owners {
    /// Of a run's seed.
    pub(crate) fn drawn(seed: u64) -> Self {
        let owners = [(2, Self::Nobody), (2, Self::Set), (6, Self::Deployments)];
        Rng::new(seed, "owners").weighed(&owners).unwrap_or(Self::Nobody)
    }

    /// The resource of the pools.
    pub(crate) fn plural(self) -> Option<&'static str> {
        match self {
            Self::Nobody => None,
            Self::Set => Some("machinesets"),
            Self::Deployments => Some("machinedeployments"),
        }
    }
}
