//! The stage of a rollout, by the numbers of a deployment.

/// The numbers of a deployment, by its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolloutCounts {
    /// Machines that are wanted.
    pub wanted: u32,
    /// Machines of the current template.
    pub updated: u32,
    /// Machines of all templates.
    pub replicas: u32,
    pub available: u32,
}

/// The stages of a rollout, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutStage {
    /// The numbers are about an earlier spec.
    Unobserved,
    /// Machines of the current template are missing.
    Updating,
    /// This many old Machines are left.
    Leaving(u32),
    /// Machines of the current template are not available.
    Waiting,
    Complete,
}

impl RolloutStage {
    /// Returns the stage. `is_observed`: the numbers are about the current spec.
    pub fn of(counts: RolloutCounts, is_observed: bool) -> Self {
        let RolloutCounts { wanted, updated, replicas, available } = counts;
        let staying = updated.min(wanted);
        if !is_observed {
            Self::Unobserved
        } else if updated < wanted {
            Self::Updating
        } else if replicas > staying {
            Self::Leaving(replicas - staying)
        } else if available != wanted || replicas != wanted {
            Self::Waiting
        } else {
            Self::Complete
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wanted, updated, all and available.
    fn check(numbers: [u32; 4], expected: RolloutStage) {
        let [wanted, updated, replicas, available] = numbers;
        let counts = RolloutCounts { wanted, updated, replicas, available };
        assert_eq!(RolloutStage::of(counts, true), expected, "{counts:?}");
        assert_eq!(RolloutStage::of(counts, false), RolloutStage::Unobserved, "{counts:?}");
    }

    #[test]
    fn a_rollout_lacks_machines_then_too_many_go_then_all_become_available() {
        check([3, 0, 3, 3], RolloutStage::Updating);
        check([3, 2, 4, 4], RolloutStage::Updating);
        check([3, 3, 5, 4], RolloutStage::Leaving(2));
        check([3, 3, 3, 2], RolloutStage::Waiting);
        check([3, 3, 3, 3], RolloutStage::Complete);
        check([0, 0, 0, 0], RolloutStage::Complete);
    }

    #[test]
    fn more_than_are_wanted_are_no_end_however_available_they_are() {
        check([3, 5, 5, 5], RolloutStage::Leaving(2));
        check([0, 2, 2, 2], RolloutStage::Leaving(2));
        check([3, 3, 3, 4], RolloutStage::Waiting);
        check([3, 3, 2, 3], RolloutStage::Waiting);
    }
}
