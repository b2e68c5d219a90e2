//! What a pass over a set may do, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::driver::write_error::ActError;
use crate::machine::MetaChange;
use crate::scheduling::gate::EffectKind;
use crate::value::id::{Name, Uid};

use super::facts::{ChildFact, SyncedPart};

/// How many Machines a pass creates, deletes or writes at most. Others are to have their turn, and what goes wrong is to be seen
/// before it has gone wrong a thousand times.
pub const BURST: usize = 100;

/// How often a pass asks for one Machine. An answer that gets lost is rare; several in a row mean that there is no connection.
const ATTEMPTS: u32 = 3;

/// One thing to do. Who it is done for is the view's set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetEffect {
    /// Put our finalizer on the set.
    Claim,
    /// Take it off.
    ReleaseFinalizer,
    /// List the Machines of the view from the API server itself.
    ListMachines,
    /// Get the set from the API server itself.
    LookAtSet,
    /// Get a Machine from the API server itself whose name is taken.
    LookAtMachine {
        /// Its name.
        name: Name,
    },
    /// Make the set the controller of a Machine that has none.
    Adopt(MachineRef),
    /// Take the set off the owners of a Machine.
    Release(MachineRef),
    /// Write the wish to keep a Machine, or take it away.
    Preserve(MachineRef, PreserveChange),
    /// Write what the set hands down, as it was observed.
    Sync(MachineRef, BTreeSet<SyncedPart>),
    /// Create a Machine from the template. Fails with `Conflict` when its name is taken.
    Create {
        /// Its name.
        name: Name,
        /// Its place in the order of the set's Machines.
        ordinal: u32,
        /// What it carries beside what the template says.
        birth: CreateMode,
        /// Its class, where it is not that of the template.
        class: Option<Name>,
    },
    /// Delete a Machine, if it is as it was observed.
    Delete(MachineRef, DeleteReason),
    /// Write labels and annotations of the set.
    WriteSet(MetaChange),
}

/// Which Machine, and only this one, not a later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineRef {
    /// Its name.
    pub name: Name,
    /// Its uid.
    pub uid: Uid,
}

impl MachineRef {
    pub(super) fn of(machine: &ChildFact) -> Self {
        Self { name: machine.name.clone(), uid: machine.uid.clone() }
    }
}

/// Whether the wish to keep a failed Machine comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreserveChange {
    /// There is room for it.
    Begin,
    /// There is none any more.
    End,
}

/// How a Machine is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// With our finalizer and the default priority, so that its first pass need not write them. Both together say that a VM
    /// may have been asked for.
    Claimed,
    /// Without: its class is not there, so that nothing is asked for before somebody mends that, and it can be deleted until then
    /// although no driver is there to ask.
    Unclaimed,
}

/// Why a Machine is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeleteReason {
    /// There are more than are wanted.
    Surplus,
    /// The autoscaler has chosen it.
    Marked,
    /// It has failed before it was of use, or in an update, and nobody wishes to keep it.
    Failed,
    /// It has failed since its Node was not healthy for too long, and nobody wishes to keep it.
    Unhealthy,
    /// The cloud has no capacity for it, and another class is tried.
    Exhausted,
    /// Its set is being deleted.
    SetDeleted,
}

/// The set as the API server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentSet {
    /// Its uid.
    pub uid: Uid,
    /// Its deletion was asked for.
    pub is_deleting: bool,
}

/// Whose Machine has the name that was to be given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameTakenBy {
    /// This set's: the caches do not show it yet.
    This,
    /// Somebody else's.
    Other,
}

impl SetEffect {
    /// For logs and metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::ReleaseFinalizer => "release-finalizer",
            Self::ListMachines => "list-machines",
            Self::LookAtSet => "look-at-set",
            Self::LookAtMachine { .. } => "look-at-machine",
            Self::Adopt(_) => "adopt",
            Self::Release(_) => "release",
            Self::Preserve(..) => "preserve",
            Self::Sync(..) => "sync",
            Self::Create { .. } => "create",
            Self::Delete(..) => "delete",
            Self::WriteSet(_) => "write-set",
        }
    }

    /// What the gate asks of it.
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::ListMachines | Self::LookAtSet | Self::LookAtMachine { .. } => EffectKind::CloudRead,
            Self::Create { .. } => EffectKind::Create,
            Self::Delete(_, DeleteReason::SetDeleted) => EffectKind::CascadeDelete,
            Self::Delete(..) => EffectKind::SetDelete,
            Self::ReleaseFinalizer => EffectKind::FinalizerRelease,
            Self::Claim
            | Self::Adopt(_)
            | Self::Release(_)
            | Self::Preserve(..)
            | Self::Sync(..)
            | Self::WriteSet(_) => EffectKind::ObjectWrite,
        }
    }

    /// What comes of it when it is not carried out, or nobody knows.
    pub fn failed(&self, error: ActError) -> SetOutcome {
        match self {
            Self::Claim => SetOutcome::Claim(Err(error)),
            Self::ReleaseFinalizer => SetOutcome::ReleaseFinalizer(Err(error)),
            Self::ListMachines => SetOutcome::ListMachines(Err(error)),
            Self::LookAtSet => SetOutcome::LookAtSet(Err(error)),
            Self::LookAtMachine { name } => SetOutcome::LookAtMachine(name.clone(), Err(error)),
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

/// What came of one effect.
#[derive(Clone, Debug)]
pub enum SetOutcome {
    /// Of `Claim`.
    Claim(Result<(), ActError>),
    /// Of `ReleaseFinalizer`.
    ReleaseFinalizer(Result<(), ActError>),
    /// Of `ListMachines`.
    ListMachines(Result<Vec<ChildFact>, ActError>),
    /// Of `LookAtSet`.
    LookAtSet(Result<CurrentSet, ActError>),
    /// Of `LookAtMachine`.
    LookAtMachine(Name, Result<NameTakenBy, ActError>),
    /// Of `Adopt`.
    Adopt(Uid, Result<(), ActError>),
    /// Of `Release`.
    Release(Uid, Result<(), ActError>),
    /// Of `Preserve`.
    Preserve(Uid, PreserveChange, Result<(), ActError>),
    /// Of `Sync`.
    Sync(Uid, Result<(), ActError>),
    /// Of `Create`, by ordinal.
    Create(u32, Name, Result<(), ActError>),
    /// Of `Delete`. `Gone` tells that it was not there any more: nothing was deleted, and nobody is missed.
    Delete(Uid, DeleteReason, Result<(), ActError>),
    /// Of `WriteSet`.
    WriteSet(Result<(), ActError>),
}

/// What has come of the effects of this pass. Lives for the pass only, so that a crash equals a new pass.
#[derive(Clone, Debug, Default)]
pub struct SetProgress {
    /// Of `Claim`.
    pub claim: Option<Result<(), ActError>>,
    /// Of `ReleaseFinalizer`.
    pub release_finalizer: Option<Result<(), ActError>>,
    /// Of `ListMachines`.
    pub listing: Option<Result<Vec<ChildFact>, ActError>>,
    /// Of `LookAtSet`.
    pub set: Option<Result<CurrentSet, ActError>>,
    /// Of `LookAtMachine`.
    pub taken: BTreeMap<Name, Result<NameTakenBy, ActError>>,
    /// Of `Adopt`.
    pub adopted: BTreeMap<Uid, Result<(), ActError>>,
    /// Of `Release`.
    pub released: BTreeMap<Uid, Result<(), ActError>>,
    /// Of `Preserve`.
    pub kept: BTreeMap<Uid, (PreserveChange, Result<(), ActError>)>,
    /// Of `Sync`.
    pub synced: BTreeMap<Uid, Result<(), ActError>>,
    /// Of `Create`, by ordinal.
    pub created: BTreeMap<u32, CreateAttempts>,
    /// Of `Delete`.
    pub deleted: BTreeMap<Uid, (DeleteReason, Result<(), ActError>)>,
    /// Of `WriteSet`.
    pub write_set: Option<Result<(), ActError>>,
}

/// The attempts to make one Machine.
#[derive(Clone, Debug)]
pub struct CreateAttempts {
    /// Its name.
    pub name: Name,
    /// How many there were.
    pub attempts: u32,
    /// One before the last may have made it.
    pub was_unclear: bool,
    /// What came of the last one.
    pub result: Result<(), ActError>,
}

impl CreateAttempts {
    /// It may have made the Machine.
    pub(super) fn is_unclear(&self) -> bool {
        matches!(self.result, Err(ActError::Ambiguous { .. }))
    }

    /// It is to be asked for once more: what is answered clearly tells what became of the earlier attempts too.
    pub(super) fn is_to_be_repeated(&self) -> bool {
        self.is_unclear() && self.attempts < ATTEMPTS
    }
}

impl SetProgress {
    /// Remembers an outcome.
    pub fn record(&mut self, outcome: SetOutcome) {
        match outcome {
            SetOutcome::Claim(result) => self.claim = Some(result),
            SetOutcome::ReleaseFinalizer(result) => self.release_finalizer = Some(result),
            SetOutcome::ListMachines(result) => self.listing = Some(result),
            SetOutcome::LookAtSet(result) => self.set = Some(result),
            SetOutcome::LookAtMachine(name, result) => drop(self.taken.insert(name, result)),
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

    /// How many Machines this pass has made.
    pub(super) fn creations(&self) -> usize {
        self.created.values().filter(|creation| self.is_made(creation)).count()
    }

    /// The Machine is there, and it is the set's.
    pub(super) fn is_made(&self, creation: &CreateAttempts) -> bool {
        let is_own = || matches!(self.taken.get(&creation.name), Some(Ok(NameTakenBy::This)));
        match creation.result {
            Ok(()) => true,
            Err(ActError::Conflict) => creation.was_unclear && is_own(),
            Err(_) => false,
        }
    }

    /// A Machine may have been made or deleted, or may still be: whoever runs the passes lets none begin for this set until that
    /// cannot be any more, and puts the next one in doubt.
    pub fn is_unclear(&self) -> bool {
        let is_unclear = |result: &Result<(), ActError>| matches!(result, Err(ActError::Ambiguous { .. }));
        self.created.values().any(CreateAttempts::is_unclear)
            || self.deleted.values().any(|(_, result)| is_unclear(result))
    }

    /// How many Machines this pass has deleted.
    pub(super) fn deletions(&self) -> usize {
        self.deleted.values().filter(|(_, result)| result.is_ok()).count()
    }

    /// A Machine that was to be deleted was not there any more. The answer has no version that the caches could be
    /// waited for with: they show the Machine's end when they have caught up.
    pub(super) fn has_met_gone(&self) -> bool {
        self.deleted.values().any(|(_, result)| matches!(result, Err(ActError::Gone)))
    }

    /// Something was written after which the set may look different.
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
