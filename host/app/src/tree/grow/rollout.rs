//! How far a rollout is, by the Machines that there are. Pure.

use machinist_core::machine_deployment::{RolloutCounts, RolloutStage};

use crate::tree::model::{Role, Rollout, RolloutState, SetNode};

/// The facts about a deployment beside its sets.
pub(super) struct RolloutFacts {
    pub(super) wanted: u32,
    /// Its controller has looked at it since its last change.
    pub(super) is_observed: bool,
    pub(super) is_being_deleted: bool,
    pub(super) is_paused: bool,
    /// It has made no progress for too long.
    pub(super) is_late: bool,
}

impl RolloutFacts {
    pub(super) fn rollout(&self, sets: &[SetNode]) -> Rollout {
        let number = |numbers: &dyn Fn(&SetNode) -> usize| {
            u32::try_from(sets.iter().map(numbers).sum::<usize>()).unwrap_or(u32::MAX)
        };
        let staying =
            |set: &SetNode| set.machines.iter().filter(|machine| machine.deletion_asked.is_none()).count();
        let updated = number(&|set| if set.role == Role::New { staying(set) } else { 0 });
        let machines = number(&|set| set.machines.len());
        let available = number(&|set| usize::try_from(set.available).unwrap_or_default());
        let counts = RolloutCounts { wanted: self.wanted, updated, replicas: machines, available };
        let state = self.state(counts, sets);
        Rollout { state, wanted: self.wanted, updated, available, machines }
    }

    fn state(&self, counts: RolloutCounts, sets: &[SetNode]) -> RolloutState {
        let has_old = sets.iter().any(|set| set.role != Role::New && !set.is_only_kept());
        let is_rolling = has_old || !sets.iter().any(|set| set.role == Role::New);
        let stage = RolloutStage::of(counts, self.is_observed);
        if self.is_being_deleted {
            RolloutState::Deleting
        } else if stage == RolloutStage::Unobserved {
            RolloutState::Unobserved
        } else if self.is_paused {
            RolloutState::Paused
        } else if stage == RolloutStage::Complete && !is_rolling {
            RolloutState::Complete
        } else if self.is_late {
            RolloutState::Stuck
        } else if is_rolling {
            RolloutState::Rolling
        } else {
            RolloutState::Scaling
        }
    }
}
