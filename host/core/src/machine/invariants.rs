//! What must hold whatever happens. Used by tests, assertions and simulation alike.

use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Deletion, DriverFacts, VmState, is_not_found};
use crate::health_policy::{Mode, Verdict};
use crate::safety::meltdown::Permit;
use crate::scheduling::gate::permits;
use crate::value::phase::Phase;

use super::conclusion::{Conclusion, Wake};
use super::creation::doubt::CreateIntent;
use super::delete::hooks::{self, Held};
use super::delete::{is_drain_over, is_past, was_never_made};
use super::effect::{Effect, Progress};
use super::facts::{DriverFact, MachineView};
use super::join::in_place;
use super::join::policies;
use super::ownership::{conflict as contest, mark};

/// A rule that a step has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The cloud was to be asked for a VM before the Machine was held.
    #[error("a VM is created for a Machine without our finalizer")]
    CreateWithoutFinalizer,
    /// A restart of the host would start the VM anew once more.
    #[error("a VM is started anew before that is written down, or although it is on its way out")]
    RebootUnwritten,
    /// A policy that decides does not know, or wants something else.
    #[error("a Machine fails although a policy that enforces holds it")]
    FailedWhileHeld,
    /// A VM of this Machine is known, and another was to be made.
    #[error("a VM is created for a Machine that has one")]
    SecondVm,
    /// An earlier pass may have made a VM, and nobody has looked for it.
    #[error("a VM is created without a look for one that may be there")]
    CreateWithoutLook,
    /// The cloud keeps no keys, and nothing would tell the next pass that this create was begun.
    #[error("a VM is created without a note of it where the cloud keeps no keys")]
    CreateWithoutIntent,
    /// An earlier create may have made a VM that reads do not show yet.
    #[error("a VM is created although an earlier create may have made one that reads do not show yet")]
    CreateInDoubt,
    /// The class pins a version of the driver, and another one was to make or finish the VM.
    #[error("a VM is made by another version of the driver than the class pins")]
    CreateBySubstitute,
    /// The status says that there is a VM, and nobody would know which.
    #[error("a Machine counts as made and the id of its VM is not stored")]
    Unrecorded,
    /// The finalizer was to go before the VM.
    #[error("the finalizer is released before the VM is proven gone")]
    ReleaseBeforeVmGone,
    /// What the target cluster has of a Machine was to go before its VM.
    #[error("a Node or token is removed before the VM is proven gone")]
    CleanUpBeforeVmGone,
    /// A Machine that is going was to get a VM.
    #[error("a VM is created for a Machine that is being deleted")]
    CreateWhileDeleting,
    /// What is there of a Machine was to be removed although nobody asked.
    #[error("a VM, Node or finalizer is removed whose Machine is not being deleted")]
    DeleteWithoutRequest,
    /// Pods were to lose their Node before they had left it, and nothing forced that.
    #[error("a VM is removed before its Node is drained, and nothing forces that")]
    VmBeforeDrain,
    /// Pods were to leave a Node that stays.
    #[error("a Node is cordoned or drained whose Machine goes on as it is")]
    DrainWithoutRequest,
    /// Somebody holds what was to be done.
    #[error("a hook is not waited for")]
    HookIgnored,
    /// A Node was to be written or deleted that is not the Machine's.
    #[error("a Node is touched that is not the Machine's")]
    ForeignNode,
    /// Somebody lives on it.
    #[error("something is done to a VM, or to what runs on it, that is another living Machine's as well")]
    Contested,
    /// The process looks for it under another mark than it carries.
    #[error("something is done to a VM whose Machine has stored another cluster's mark")]
    OtherMark,
    /// The gate forbids it.
    #[error("a frozen gate is passed")]
    Frozen,
    /// The same effect twice: its outcome is known already.
    #[error("an effect is done twice in one pass")]
    Repeated,
    /// A pass without an end.
    #[error("a batch has no effects")]
    EmptyBatch,
    /// Nothing would ever look at the Machine again.
    #[error("a Machine that is not gone has no wake-up")]
    NoWake,
    /// The next pass would come at once and see the same.
    #[error("a pass follows at once although nothing has changed")]
    HotLoop,
    /// Too many may be replaced at a time.
    #[error("a Machine is failed for its health without a permit")]
    FailedWithoutPermit,
    /// Too many may be started anew at a time.
    #[error("a VM is started anew for its Machine's health without a permit")]
    RebootWithoutPermit,
    /// More likely the way to the Nodes is broken.
    #[error("a Machine is failed or started anew whose VM is alive and whose zone is silent")]
    SilentZone,
    /// The Machine's health still counts.
    #[error("a Node is handed over for an update before its Machine says so")]
    HandedOverTooEarly,
    /// A Machine that is being deleted leaves that state only by going, and no other enters it.
    #[error("a deletion is left or a Machine that nobody deletes enters it")]
    WrongWay,
}

/// Whether a batch may be done.
pub fn batch(
    view: &MachineView,
    progress: &Progress,
    effects: &[Effect],
    now: Timestamp,
) -> Result<(), Violation> {
    if effects.is_empty() {
        return Err(Violation::EmptyBatch);
    }
    let mut rest = effects;
    while let Some((first, others)) = rest.split_first() {
        if others.iter().any(|other| is_same(first, other)) {
            return Err(Violation::Repeated);
        }
        rest = others;
    }
    effects
        .iter()
        .try_for_each(|effect| held(view, progress, effect, now).and_then(|()| one(view, progress, effect)))
}

/// The same, or as good as the same. A drain does the same to many pods.
fn is_same(a: &Effect, b: &Effect) -> bool {
    match (a, b) {
        (Effect::Drain(a), Effect::Drain(b)) => a == b,
        (a, b) => a.name() == b.name(),
    }
}

/// What waits for other Machines, for pods and for hooks of others.
fn held(view: &MachineView, progress: &Progress, effect: &Effect, now: Timestamp) -> Result<(), Violation> {
    if is_shared(view) && contest::harms_others(effect) {
        return Err(Violation::Contested);
    }
    if mark::held(view).is_some() && mark::is_held(effect) {
        return Err(Violation::OtherMark);
    }
    if *effect == Effect::CreateVm && mark::forbids_creation(view).is_some() {
        return Err(Violation::OtherMark);
    }
    let is_deleting = view.machine.deletion.is_some();
    let empties = match effect {
        Effect::Cordon { .. } => true,
        Effect::Drain(effect) => match effect {
            drain::Effect::LookAtPods { .. } => false,
            drain::Effect::Evict(_)
            | drain::Effect::DeletePod(_)
            | drain::Effect::DeleteAttachment { .. } => true,
        },
        Effect::Claim
        | Effect::EnsureToken
        | Effect::NoteIntent
        | Effect::CloseIntent
        | Effect::ProbeVm
        | Effect::CreateVm
        | Effect::InitializeVm
        | Effect::RecordVm { .. }
        | Effect::SyncNode { .. }
        | Effect::ForgetToken
        | Effect::DeleteVm
        | Effect::DeleteNode { .. }
        | Effect::ReleaseFinalizer
        | Effect::WriteMachine(_)
        | Effect::DeleteMachine
        | Effect::SetNodeCondition { .. }
        | Effect::AskPolicies
        | Effect::NoteReboot(_)
        | Effect::RebootVm
        | Effect::AskPermit(_)
        | Effect::ExtendToken { .. }
        | Effect::WriteCapacity { .. }
        | Effect::NoteHooks => false,
    };
    if empties && !is_deleting && !is_to_be_emptied(view, effect) {
        return Err(Violation::DrainWithoutRequest);
    }
    if empties && is_deleting && hooks::wait(view, Held::Drain, now).is_some() {
        return Err(Violation::HookIgnored);
    }
    if *effect == Effect::DeleteVm && is_deleting {
        let is_held = hooks::wait(view, Held::Vm, now).is_some()
            || (hooks::wait(view, Held::Drain, now).is_some() && view.has_target() && !is_past(view));
        if is_held {
            return Err(Violation::HookIgnored);
        }
        if !is_drain_over(view, progress, now) {
            return Err(Violation::VmBeforeDrain);
        }
    }
    Ok(())
}

/// Apart from deletion a Node is emptied for an update in place, and without being cordoned when its failed Machine is kept.
fn is_to_be_emptied(view: &MachineView, effect: &Effect) -> bool {
    let is_selected = view
        .node()
        .and_then(|node| node.in_place.as_ref())
        .is_some_and(|told| told.reason == in_place::words::SELECTED);
    let is_kept = view.machine.keeping.until.is_some() && view.machine.phase == Phase::Failed;
    is_selected || (is_kept && !matches!(effect, Effect::Cordon { .. }))
}

fn one(view: &MachineView, progress: &Progress, effect: &Effect) -> Result<(), Violation> {
    let is_deleting = view.machine.deletion.is_some();
    if is_done(progress, effect) {
        return Err(Violation::Repeated);
    }
    if !permits(view.gate, effect.kind(&view.machine)) {
        return Err(Violation::Frozen);
    }
    match effect {
        Effect::Claim
        | Effect::EnsureToken
        | Effect::NoteIntent
        | Effect::CloseIntent
        | Effect::CreateVm
        | Effect::InitializeVm
        | Effect::SyncNode { .. }
        | Effect::AskPermit(_)
        | Effect::ExtendToken { .. }
        | Effect::WriteCapacity { .. }
            if is_deleting =>
        {
            Err(Violation::CreateWhileDeleting)
        }
        // What a look finds is stored for the deletion to find it again, but nothing after the order to remove it.
        Effect::RecordVm { .. } if is_deleting && progress.delete_vm.is_some() => {
            Err(Violation::CreateWhileDeleting)
        }
        Effect::CreateVm | Effect::InitializeVm if matches!(view.driver, DriverFact::Substitute { .. }) => {
            Err(Violation::CreateBySubstitute)
        }
        Effect::DeleteMachine if is_deleting || view.node().is_none_or(|node| !node.is_deleting) => {
            Err(Violation::DeleteWithoutRequest)
        }
        Effect::CreateVm => create(view, progress),
        Effect::DeleteVm | Effect::DeleteNode { .. } | Effect::ReleaseFinalizer if !is_deleting => {
            Err(Violation::DeleteWithoutRequest)
        }
        Effect::ReleaseFinalizer if !may_leave(view, progress) => Err(Violation::ReleaseBeforeVmGone),
        Effect::DeleteNode { .. } | Effect::ForgetToken if is_deleting && !may_leave(view, progress) => {
            Err(Violation::CleanUpBeforeVmGone)
        }
        Effect::DeleteNode { node, uid }
            if view.node().is_none_or(|own| (&own.name, &own.uid) != (node, uid)) =>
        {
            Err(Violation::ForeignNode)
        }
        Effect::SetNodeCondition { condition, .. }
            if condition.reason == in_place::words::READY && view.machine.phase != Phase::InPlaceUpdating =>
        {
            Err(Violation::HandedOverTooEarly)
        }
        Effect::SyncNode { node, .. }
        | Effect::Cordon { node }
        | Effect::WriteCapacity { node, .. }
        | Effect::SetNodeCondition { node, .. }
            if view.node().is_none_or(|own| own.name != *node) =>
        {
            Err(Violation::ForeignNode)
        }
        Effect::RebootVm if is_deleting || !matches!(progress.note_reboot, Some(Ok(()))) => {
            Err(Violation::RebootUnwritten)
        }
        Effect::NoteReboot(_) | Effect::RebootVm => permitted(view, progress, Violation::RebootWithoutPermit),
        Effect::Claim
        | Effect::AskPolicies
        | Effect::EnsureToken
        | Effect::NoteIntent
        | Effect::CloseIntent
        | Effect::ProbeVm
        | Effect::InitializeVm
        | Effect::RecordVm { .. }
        | Effect::SyncNode { .. }
        | Effect::AskPermit(_)
        | Effect::ExtendToken { .. }
        | Effect::WriteCapacity { .. }
        | Effect::ForgetToken
        | Effect::DeleteVm
        | Effect::DeleteNode { .. }
        | Effect::ReleaseFinalizer
        | Effect::WriteMachine(_)
        | Effect::DeleteMachine
        | Effect::Cordon { .. }
        | Effect::SetNodeCondition { .. }
        | Effect::NoteHooks
        | Effect::Drain(_) => Ok(()),
    }
}

/// Never two VMs for one Machine.
fn create(view: &MachineView, progress: &Progress) -> Result<(), Violation> {
    let machine = &view.machine;
    let is_held = machine.has_finalizer || matches!(progress.claim, Some(Ok(())));
    if !is_held {
        return Err(Violation::CreateWithoutFinalizer);
    }
    if machine.provider_id.is_some() || matches!(&progress.probe, Some(look) if names_a_vm(look)) {
        return Err(Violation::SecondVm);
    }
    let Some(driver) = driver(view) else { return Err(Violation::CreateWithoutLook) };
    let has_looked = progress.probe.is_some() || !driver.capabilities.status;
    let is_first = (!machine.has_finalizer || machine.is_newborn) && machine.create_intent.is_none();
    let is_resumed = machine.last_known_state.is_some() && machine.operation.is_some();
    if !has_looked && !is_first && !is_resumed {
        return Err(Violation::CreateWithoutLook);
    }
    let is_noted = matches!(progress.intent, Some(Ok(()))) || (is_resumed && machine.create_intent.is_some());
    let keeps_keys = driver.capabilities.idempotency_key;
    let is_in_doubt = |intent: &CreateIntent| intent.is_in_doubt(driver.consistency_window);
    if !keeps_keys && !is_resumed && machine.create_intent.as_ref().is_some_and(is_in_doubt) {
        return Err(Violation::CreateInDoubt);
    }
    if !keeps_keys && !is_noted {
        return Err(Violation::CreateWithoutIntent);
    }
    Ok(())
}

fn names_a_vm<T>(look: &Result<T, CallError>) -> bool {
    match look {
        Ok(_) => true,
        Err(CallError::Guest(DriverError { code: Code::Uninitialized, provider_id, .. })) => {
            provider_id.is_some()
        }
        Err(CallError::Guest(_) | CallError::Broken(_) | CallError::Refused(_)) => false,
    }
}

fn driver(view: &MachineView) -> Option<&DriverFacts> {
    match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => Some(driver),
        DriverFact::NotChosen | DriverFact::Refused(_) => None,
    }
}

/// The VM is gone: seen, or never made, or said so by somebody about a VM that no look shows.
fn may_leave(view: &MachineView, progress: &Progress) -> bool {
    let is_seen = matches!(&progress.probe, Some(look) if names_a_vm(look));
    let is_declared = view.machine.going.is_vm_declared_gone && !is_seen;
    is_proven_gone(view, progress) || is_declared || was_never_made(view)
}

/// The driver took the order to remove the VM, in this pass or in an earlier one, and no look that it offers has found it.
fn is_proven_gone(view: &MachineView, progress: &Progress) -> bool {
    let is_ordered = match &progress.delete_vm {
        Some(Ok(Deletion::Deleted { .. })) => true,
        Some(Ok(Deletion::InProgress(_))) => false,
        None => view.machine.going.order.is_some(),
        Some(Err(error)) => is_not_found(error),
    };
    let offers_status = driver(view).is_some_and(|driver| driver.capabilities.status);
    let is_unseen = match &progress.probe {
        Some(Err(error)) => is_not_found(error) || error.code() == Code::Unimplemented,
        Some(Ok(_)) => false,
        None => !offers_status,
    };
    is_ordered && is_unseen
}

fn is_done(progress: &Progress, effect: &Effect) -> bool {
    match effect {
        Effect::Claim => progress.claim.is_some(),
        Effect::EnsureToken => progress.token.is_some(),
        Effect::NoteIntent => progress.intent.is_some(),
        Effect::CloseIntent => progress.close_intent.is_some(),
        Effect::ProbeVm => progress.probe.is_some(),
        Effect::CreateVm => progress.create.is_some(),
        Effect::InitializeVm => progress.initialize.is_some(),
        Effect::RecordVm { .. } => progress.record.is_some(),
        Effect::SyncNode { .. } => progress.sync_node.is_some(),
        Effect::ForgetToken => progress.forget_token.is_some(),
        Effect::DeleteVm => progress.delete_vm.is_some(),
        Effect::DeleteNode { .. } => progress.delete_node.is_some(),
        Effect::ReleaseFinalizer => progress.release.is_some(),
        Effect::WriteMachine(_) => progress.write_machine.is_some(),
        Effect::DeleteMachine => progress.delete_machine.is_some(),
        Effect::Cordon { .. } => progress.cordon.is_some(),
        Effect::SetNodeCondition { .. } => progress.node_condition.is_some(),
        Effect::NoteHooks => progress.note_hooks.is_some(),
        Effect::AskPolicies => progress.opinions.is_some(),
        Effect::NoteReboot(_) => progress.note_reboot.is_some(),
        Effect::RebootVm => progress.reboot.is_some(),
        Effect::Drain(effect) => is_drain_done(&progress.drain, effect),
        Effect::AskPermit(_) => progress.permit.is_some(),
        Effect::ExtendToken { .. } => progress.extend_token.is_some(),
        Effect::WriteCapacity { .. } => progress.capacity.is_some(),
    }
}

fn is_drain_done(progress: &drain::Progress, effect: &drain::Effect) -> bool {
    match effect {
        // What was asked for changes what there is to see.
        drain::Effect::LookAtPods { .. } => false,
        drain::Effect::Evict(pod) => progress.evictions.contains_key(pod),
        drain::Effect::DeletePod(pod) => progress.deletions.contains_key(pod),
        drain::Effect::DeleteAttachment { name, .. } => progress.attachments.contains_key(name),
    }
}

/// Whether a pass that has come so far may end so.
pub fn conclusion(view: &MachineView, progress: &Progress, conclusion: &Conclusion) -> Result<(), Violation> {
    let machine = &view.machine;
    let phase = conclusion.status.phase;
    if !permits(view.gate, conclusion.status.kind()) {
        return Err(Violation::Frozen);
    }
    if phase == Some(Phase::Failed) && is_shared(view) {
        return Err(Violation::Contested);
    }
    if phase == Some(Phase::Failed) && mark::held(view).is_some() {
        return Err(Violation::OtherMark);
    }
    if phase == Some(Phase::Failed) && is_held_by_policy(view, progress) {
        return Err(Violation::FailedWhileHeld);
    }
    if phase.is_some_and(|phase| (phase == Phase::Terminating) != machine.deletion.is_some()) {
        return Err(Violation::WrongWay);
    }
    let is_stored = machine.provider_id.is_some() || matches!(progress.record, Some(Ok(())));
    if matches!(phase, Some(Phase::Pending | Phase::Available | Phase::Running)) && !is_stored {
        return Err(Violation::Unrecorded);
    }
    if phase == Some(Phase::Failed) {
        fails(view, progress)?;
    }
    wake(view, progress, conclusion)
}

/// Another Machine stores the same provider id, and nobody deletes it.
fn is_shared(view: &MachineView) -> bool {
    view.machine.provider_id.is_some() && !view.rivals.living_on_vm.is_empty()
}

/// One that decides does not know what to think of the Machine, and none of its opinions may be missing.
fn is_held_by_policy(view: &MachineView, progress: &Progress) -> bool {
    let opinions = policies::opinions(view, progress);
    opinions.iter().any(|opinion| opinion.mode == Mode::Enforce && opinion.verdict == Verdict::Unknown)
}

/// A Machine that has joined fails with a permit, and none with a VM fails because the way to its zone is broken.
fn fails(view: &MachineView, progress: &Progress) -> Result<(), Violation> {
    let machine = &view.machine;
    let has_no_vm = machine.phase == Phase::Pending && machine.provider_id.is_none();
    if has_no_vm || matches!(machine.phase, Phase::New | Phase::CrashLoopBackOff) {
        return Ok(());
    }
    permitted(view, progress, Violation::FailedWithoutPermit)
}

/// It is the Machine's turn, and its zone does not speak against it. `otherwise`: what it is when it is not its turn.
fn permitted(view: &MachineView, progress: &Progress, otherwise: Violation) -> Result<(), Violation> {
    let Some(Ok(Permit::Granted { zone })) = &progress.permit else {
        return Err(otherwise);
    };
    let is_silent = zone.as_ref().is_some_and(|zone| zone.is_silent);
    let is_alive = match &progress.probe {
        Some(Ok(vm)) => !matches!(vm.state, VmState::Stopping | VmState::Stopped),
        Some(Err(error)) => !is_not_found(error) && error.code() != Code::Unimplemented,
        None => driver(view).is_none_or(|driver| driver.capabilities.status),
    };
    if is_silent && is_alive { Err(Violation::SilentZone) } else { Ok(()) }
}

fn wake(view: &MachineView, progress: &Progress, conclusion: &Conclusion) -> Result<(), Violation> {
    let machine = &view.machine;
    match conclusion.wake {
        Wake::Gone => {
            let is_released = !machine.has_finalizer || matches!(progress.release, Some(Ok(())));
            let is_gone = machine.deletion.is_some() && is_released;
            if is_gone { Ok(()) } else { Err(Violation::NoWake) }
        }
        Wake::Now => {
            let is_other_phase = conclusion.status.phase.is_some_and(|phase| phase != machine.phase);
            let is_change = is_other_phase
                || conclusion.status.preserve_until.is_some()
                || matches!(progress.record, Some(Ok(())));
            if is_change { Ok(()) } else { Err(Violation::HotLoop) }
        }
        Wake::After(after) | Wake::Look(after) if after <= SignedDuration::ZERO => Err(Violation::HotLoop),
        Wake::Retry { policy, .. } if policy.base.max(policy.cap) <= SignedDuration::ZERO => {
            Err(Violation::HotLoop)
        }
        Wake::After(_) | Wake::Look(_) | Wake::Retry { .. } | Wake::Resync => Ok(()),
    }
}
