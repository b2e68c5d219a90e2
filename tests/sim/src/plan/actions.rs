//! The actions of users that a run may have.

/// An action of users and operators on Machines, classes, Nodes and VMs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    DeleteMachine,
    ForceDelete,
    EditMachine,
    EditClass,
    BreakClass,
    BreakSecret,
    DeleteNode,
    KillKubelet,
    FlawNode,
    RebootVm,
    KillVm,
    Cordon,
    TakeName,
    MakeOrphan,
    MakeSecondVm,
    HoldDeletion,
    Preserve,
    UpdateInPlace,
    Spoil,
}

impl Action {
    /// It is done to what many Machines share.
    pub(crate) fn concerns_many(self) -> bool {
        matches!(self, Self::EditClass | Self::BreakClass | Self::BreakSecret)
    }
}

/// How often users do each, compared with the others.
pub(crate) const ACTIONS: [(u32, Action); 19] = [
    (20, Action::DeleteMachine),
    (4, Action::ForceDelete),
    (20, Action::EditMachine),
    (5, Action::EditClass),
    (3, Action::BreakClass),
    (3, Action::BreakSecret),
    (3, Action::DeleteNode),
    (10, Action::KillKubelet),
    (8, Action::FlawNode),
    (10, Action::RebootVm),
    (5, Action::KillVm),
    (6, Action::Cordon),
    (3, Action::TakeName),
    (2, Action::MakeOrphan),
    (3, Action::MakeSecondVm),
    (8, Action::HoldDeletion),
    (8, Action::Preserve),
    (8, Action::UpdateInPlace),
    (2, Action::Spoil),
];

/// An action on a set or deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolAction {
    /// Another number, as `kubectl scale` writes it.
    Scale,
    /// Another class, or a restart: the deployment rolls.
    Roll,
    /// Other labels or taints for Nodes, which nothing rolls.
    Retaint,
    /// Pauses, mostly for a while.
    Pause,
    /// Goes back to an earlier template.
    Undo,
    /// Another strategy, or other bounds.
    Restrategize,
    /// Deletes it, in one of the ways that there are.
    Delete,
    /// Changes the number of a deployment's set behind its back.
    EditSet,
    /// Deletes a deployment's set.
    DeleteSet,
    /// Asks that a freeze ends.
    Thaw,
    /// Takes a Machine from its set by its labels, and mostly gives it back.
    Release,
    /// Wishes for disruptions: a budget, windows, an age, replacement first, other classes.
    Wish,
    /// Writes a time-out that is none, and mostly corrects it later.
    Mistype,
    /// The autoscaler wants more.
    ScaleUp,
    /// The autoscaler wants fewer, and says which are to go.
    ScaleDown,
}

/// How often users do each, compared with the others.
pub(crate) const POOL_ACTIONS: [(u32, PoolAction); 15] = [
    (12, PoolAction::Scale),
    (16, PoolAction::Roll),
    (4, PoolAction::Retaint),
    (5, PoolAction::Pause),
    (6, PoolAction::Undo),
    (5, PoolAction::Restrategize),
    (3, PoolAction::Delete),
    (4, PoolAction::EditSet),
    (2, PoolAction::DeleteSet),
    (2, PoolAction::Thaw),
    (3, PoolAction::Release),
    (6, PoolAction::Wish),
    (3, PoolAction::Mistype),
    (8, PoolAction::ScaleUp),
    (12, PoolAction::ScaleDown),
];
