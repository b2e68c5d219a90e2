//! Effects of a set's reconcile, and their outcomes.

use std::collections::{BTreeMap, BTreeSet};

use crate::driver::write_error::ActError;
use crate::machine::MetaChange;
use crate::scheduling::gate::EffectKind;
use crate::value::id::{Name, Uid};

use super::facts::{ChildFact, SyncedPart};

/// How many Machines a reconcile creates, deletes or writes at most, so that other keys are not delayed, and an error
/// is noticed before it happens a thousand times.
pub const BURST: usize = 100;

/// How often a reconcile tries to create one Machine. A lost answer is rare; several in a row mean that there is no
/// connection.
const ATTEMPTS: u32 = 3;

/// One effect on the set of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetEffect {
    /// Put our finalizer on the set.
    AddFinalizer,
    ReleaseFinalizer,
    /// List the Machines of the view from the API server itself.
    ListMachines,
    /// Get the set from the API server itself.
    GetSet,
    /// Get a Machine from the API server itself whose name is taken.
    GetMachine {
        name: Name,
    },
    /// Make the set the controller of a Machine without one.
    Adopt(MachineRef),
    /// Remove the set from the owners of a Machine.
    Release(MachineRef),
    /// Write or remove the preservation request of a Machine.
    Preserve(MachineRef, PreserveChange),
    /// Write the settings that the set copies, as observed.
    Sync(MachineRef, BTreeSet<SyncedPart>),
    /// Create a Machine from the template. Fails with `Conflict` when its name is taken.
    Create {
        name: Name,
        /// Its ordinal among the set's Machines.
        ordinal: u32,
        /// Metadata beside that of the template.
        birth: CreateMode,
        /// Its class, if it is not that of the template.
        class: Option<Name>,
    },
    /// Delete a Machine, if it has not changed since it was observed.
    Delete(MachineRef, DeleteReason),
    /// Write labels and annotations of the set.
    WriteSet(MetaChange),
}

/// A Machine, and no later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineRef {
    pub name: Name,
    pub uid: Uid,
}

impl MachineRef {
    pub(super) fn of(machine: &ChildFact) -> Self {
        Self { name: machine.name.clone(), uid: machine.uid.clone() }
    }
}

/// A change of the automatic preservation of a failed Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreserveChange {
    /// Begin: the limit of the set allows it.
    Begin,
    /// End: the limit of the set is exceeded.
    End,
}

/// How a Machine is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// With our finalizer and the default priority, so that its first reconcile need not write them. Both together mean
    /// that a VM may have been requested.
    Claimed,
    /// Without both: its class is missing, so that nothing is requested before that is fixed, and it can be deleted
    /// until then without a driver.
    Unclaimed,
}

/// Why a Machine is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeleteReason {
    /// There are more than are wanted.
    Surplus,
    /// The autoscaler has marked it.
    Marked,
    /// It failed before it was in service, or in an update, and is not to be preserved.
    Failed,
    /// It failed because its Node was unhealthy for too long, and is not to be preserved.
    Unhealthy,
    /// The cloud has no capacity for it, and another class is tried.
    Exhausted,
    SetDeleted,
}

/// The set, read from the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentSet {
    pub uid: Uid,
    /// Its deletion was asked for.
    pub is_deleting: bool,
}

/// The owner of the Machine that has the wanted name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameTakenBy {
    /// This set: the caches do not show the Machine yet.
    This,
    Other,
}

impl SetEffect {
    /// For logs and metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AddFinalizer => "claim",
            Self::ReleaseFinalizer => "release-finalizer",
            Self::ListMachines => "list-machines",
            Self::GetSet => "look-at-set",
            Self::GetMachine { .. } => "look-at-machine",
            Self::Adopt(_) => "adopt",
            Self::Release(_) => "release",
            Self::Preserve(..) => "preserve",
            Self::Sync(..) => "sync",
            Self::Create { .. } => "create",
            Self::Delete(..) => "delete",
            Self::WriteSet(_) => "write-set",
        }
    }

    /// Returns its kind for the gate.
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::ListMachines | Self::GetSet | Self::GetMachine { .. } => EffectKind::CloudRead,
            Self::Create { .. } => EffectKind::Create,
            Self::Delete(_, DeleteReason::SetDeleted) => EffectKind::CascadeDelete,
            Self::Delete(..) => EffectKind::SetDelete,
            Self::ReleaseFinalizer => EffectKind::FinalizerRelease,
            Self::AddFinalizer
            | Self::Adopt(_)
            | Self::Release(_)
            | Self::Preserve(..)
            | Self::Sync(..)
            | Self::WriteSet(_) => EffectKind::ObjectWrite,
        }
    }

    /// Returns its outcome when it is not carried out, or that is unknown.
    pub fn failed(&self, error: ActError) -> SetOutcome {
        match self {
            Self::AddFinalizer => SetOutcome::AddFinalizer(Err(error)),
            Self::ReleaseFinalizer => SetOutcome::ReleaseFinalizer(Err(error)),
            Self::ListMachines => SetOutcome::ListMachines(Err(error)),
            Self::GetSet => SetOutcome::GetSet(Err(error)),
            Self::GetMachine { name } => SetOutcome::GetMachine(name.clone(), Err(error)),
            Self::Adopt(machine) => SetOutcome::Adopt(machine.uid.clone(), Err(error)),
            Self::Release(machine) => SetOutcome::Release(machine.uid.clone(), Err(error)),
            Self::Preserve(machine, keep) => SetOutcome::Preserve(machine.uid.clone(), *keep, Err(error)),
            Self::Sync(machine, _) => SetOutcome::Sync(machine.uid.clone(), Err(error)),
            Self::Create { name, ordinal, .. } => SetOutcome::Create(*ordinal, name.clone(), Err(error)),
            Self::Delete(machine, why) => SetOutcome::Delete(machine.uid.clone(), *why, Err(error)),
            Self::WriteSet(_) => SetOutcome::WriteSet(Err(error)),
        }
    }
}

#[derive(Clone, Debug)]
pub enum SetOutcome {
    AddFinalizer(Result<(), ActError>),
    ReleaseFinalizer(Result<(), ActError>),
    ListMachines(Result<Vec<ChildFact>, ActError>),
    GetSet(Result<CurrentSet, ActError>),
    GetMachine(Name, Result<NameTakenBy, ActError>),
    Adopt(Uid, Result<(), ActError>),
    Release(Uid, Result<(), ActError>),
    Preserve(Uid, PreserveChange, Result<(), ActError>),
    Sync(Uid, Result<(), ActError>),
    /// Of `Create`, by ordinal.
    Create(u32, Name, Result<(), ActError>),
    /// `Gone` means that it no longer existed: nothing was deleted.
    Delete(Uid, DeleteReason, Result<(), ActError>),
    WriteSet(Result<(), ActError>),
}

/// The outcomes of this reconcile's effects. It lives for one reconcile only, so that a crash equals a new reconcile.
#[derive(Clone, Debug, Default)]
pub struct SetProgress {
    pub claim: Option<Result<(), ActError>>,
    pub release_finalizer: Option<Result<(), ActError>>,
    pub listing: Option<Result<Vec<ChildFact>, ActError>>,
    pub set: Option<Result<CurrentSet, ActError>>,
    pub taken: BTreeMap<Name, Result<NameTakenBy, ActError>>,
    pub adopted: BTreeMap<Uid, Result<(), ActError>>,
    pub released: BTreeMap<Uid, Result<(), ActError>>,
    pub kept: BTreeMap<Uid, (PreserveChange, Result<(), ActError>)>,
    pub synced: BTreeMap<Uid, Result<(), ActError>>,
    /// Of `Create`, by ordinal.
    pub created: BTreeMap<u32, CreateAttempts>,
    pub deleted: BTreeMap<Uid, (DeleteReason, Result<(), ActError>)>,
    pub write_set: Option<Result<(), ActError>>,
}

/// The attempts to create one Machine.
#[derive(Clone, Debug)]
pub struct CreateAttempts {
    pub name: Name,
    /// How many there were.
    pub attempts: u32,
    /// An earlier attempt may have created it.
    pub was_unclear: bool,
    /// The result of the last one.
    pub result: Result<(), ActError>,
}

impl CreateAttempts {
    /// Returns whether it may have created the Machine.
    pub(super) fn is_unclear(&self) -> bool {
        matches!(self.result, Err(ActError::Ambiguous { .. }))
    }

    /// Returns whether to try once more: a clear answer also shows the result of the earlier attempts.
    pub(super) fn is_to_be_repeated(&self) -> bool {
        self.is_unclear() && self.attempts < ATTEMPTS
    }
}

impl SetProgress {
    pub fn record(&mut self, outcome: SetOutcome) {
        match outcome {
            SetOutcome::AddFinalizer(result) => self.claim = Some(result),
            SetOutcome::ReleaseFinalizer(result) => self.release_finalizer = Some(result),
            SetOutcome::ListMachines(result) => self.listing = Some(result),
            SetOutcome::GetSet(result) => self.set = Some(result),
            SetOutcome::GetMachine(name, result) => drop(self.taken.insert(name, result)),
            SetOutcome::Adopt(uid, result) => drop(self.adopted.insert(uid, result)),
            SetOutcome::Release(uid, result) => drop(self.released.insert(uid, result)),
            SetOutcome::Preserve(uid, keep, result) => drop(self.kept.insert(uid, (keep, result))),
            SetOutcome::Sync(uid, result) => drop(self.synced.insert(uid, result)),
            SetOutcome::Create(ordinal, name, result) => {
                let earlier = self.created.get(&ordinal);
                let attempts = earlier.map_or(0, |earlier| earlier.attempts) + 1;
                let was_unclear = earlier.is_some_and(|earlier| earlier.was_unclear || earlier.is_unclear());
                self.created.insert(ordinal, CreateAttempts { name, attempts, was_unclear, result });
            }
            SetOutcome::Delete(uid, why, result) => drop(self.deleted.insert(uid, (why, result))),
            SetOutcome::WriteSet(result) => self.write_set = Some(result),
        }
    }

    /// Returns how many Machines this reconcile has created.
    pub(super) fn creations(&self) -> usize {
        self.created.values().filter(|creation| self.is_made(creation)).count()
    }

    /// Returns whether the Machine exists and belongs to the set.
    pub(super) fn is_made(&self, creation: &CreateAttempts) -> bool {
        let is_own = || matches!(self.taken.get(&creation.name), Some(Ok(NameTakenBy::This)));
        match creation.result {
            Ok(()) => true,
            Err(ActError::Conflict) => creation.was_unclear && is_own(),
            Err(_) => false,
        }
    }

    /// Returns whether a Machine may have been created or deleted, or still may be. The caller must not begin another
    /// reconcile of this set until that is over, and marks the next one as in doubt.
    pub fn is_unclear(&self) -> bool {
        let is_unclear = |result: &Result<(), ActError>| matches!(result, Err(ActError::Ambiguous { .. }));
        self.created.values().any(CreateAttempts::is_unclear)
            || self.deleted.values().any(|(_, result)| is_unclear(result))
    }

    /// Returns how many Machines this reconcile has deleted.
    pub(super) fn deletions(&self) -> usize {
        self.deleted.values().filter(|(_, result)| result.is_ok()).count()
    }

    /// Returns whether a Machine to delete no longer existed. The answer has no version to wait for: the caches show
    /// its deletion when they have caught up.
    pub(super) fn has_met_gone(&self) -> bool {
        self.deleted.values().any(|(_, result)| matches!(result, Err(ActError::Gone)))
    }

    /// Returns whether something was written that may change the set.
    pub(super) fn has_written(&self) -> bool {
        let any = |results: &BTreeMap<Uid, Result<(), ActError>>| results.values().any(Result::is_ok);
        self.creations() + self.deletions() > 0
            || any(&self.adopted)
            || any(&self.released)
            || any(&self.synced)
            || self.kept.values().any(|(_, result)| result.is_ok())
            || matches!(self.write_set, Some(Ok(())))
    }
}
