//! Rules that always hold. Tests, assertions and the simulator use the same functions.

use jiff::{SignedDuration, Timestamp};

use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Deletion, DriverFacts, VmState, is_not_found};
use crate::health_policy::{Mode, PolicyVerdict};
use crate::safety::meltdown::Permit;
use crate::scheduling::gate::permits;
use crate::value::phase::Phase;

use super::conclusion::{MachineConclusion, Requeue};
use super::creation::doubt::CreateIntent;
use super::delete::hooks::{self, HookPoint};
use super::delete::{is_drain_over, is_past, was_never_made};
use super::effect::{EffectTrait, MachineEffect, MachineProgress};
use super::facts::{DriverFact, MachineView};
use super::join::in_place;
use super::join::policies;
use super::ownership::mark;

/// A rule that a step has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineViolation {
    /// The cloud was to create a VM before the Machine had the finalizer.
    #[error("a VM is created for a Machine without our finalizer")]
    CreateWithoutFinalizer,
    /// A restart of the host would reboot the VM once more.
    #[error("a VM is rebooted before that is written down, or during its deletion")]
    RebootUnwritten,
    /// An enforcing policy does not know, or wants another action.
    #[error("a Machine fails although a policy that enforces holds it")]
    FailedWhileHeld,
    /// A VM of this Machine is known, and another was to be made.
    #[error("a VM is created for a Machine that has one")]
    SecondVm,
    /// An earlier reconcile may have made a VM, and nobody has looked for it.
    #[error("a VM is created without a look for one that may be there")]
    CreateWithoutQuery,
    /// The cloud keeps no idempotency keys, and the next reconcile could not know that this create had begun.
    #[error("a VM is created without a note of it where the cloud keeps no keys")]
    CreateWithoutIntent,
    /// An earlier create may have made a VM that reads do not show yet.
    #[error("a VM is created although an earlier create may have made one that reads do not show yet")]
    CreateInDoubt,
    /// The class pins a version of the driver, and another one was to make or finish the VM.
    #[error("a VM is created by another version of the driver than the class pins")]
    CreateBySubstitute,
    /// The status says that there is a VM, and nobody would know which.
    #[error("a Machine counts as created and the id of its VM is not stored")]
    Unrecorded,
    /// The finalizer was to be removed before the VM.
    #[error("the finalizer is released before the VM is proven gone")]
    ReleaseBeforeVmGone,
    /// The Machine's objects in the target cluster were to be deleted before its VM.
    #[error("a Node or token is removed before the VM is proven gone")]
    CleanUpBeforeVmGone,
    /// A Machine that is being deleted was to get a VM.
    #[error("a VM is created for a Machine that is being deleted")]
    CreateWhileDeleting,
    /// The Machine's VM or Node was to be removed although nobody requested it.
    #[error("a VM, Node or finalizer is removed whose Machine is not being deleted")]
    DeleteWithoutRequest,
    /// The VM was to be deleted before its pods had left, and nothing forced that.
    #[error("a VM is removed before its Node is drained, and nothing forces that")]
    VmBeforeDrain,
    /// Pods were to be evicted from a Node that stays.
    #[error("a Node is cordoned or drained whose Machine goes on as it is")]
    DrainWithoutRequest,
    /// A hook of others blocks the effect.
    #[error("a hook is not waited for")]
    HookIgnored,
    /// A Node was to be written or deleted that is not the Machine's.
    #[error("a Node is touched that is not the Machine's")]
    ForeignNode,
    /// Another Machine also claims the VM.
    #[error("something is done to a VM, or to what runs on it, that is another living Machine's as well")]
    Contested,
    /// The VM carries another mark than the one that this process uses.
    #[error("something is done to a VM whose Machine has stored another cluster's mark")]
    OtherMark,
    /// The gate forbids it.
    #[error("a frozen gate is passed")]
    Frozen,
    /// The same effect twice: its outcome is known already.
    #[error("an effect is done twice in one pass")]
    Repeated,
    /// A reconcile without an end.
    #[error("a batch has no effects")]
    EmptyBatch,
    /// The Machine would never be reconciled again.
    #[error("a Machine that is not gone has no wake-up")]
    NoWake,
    /// The next reconcile would follow at once and see the same.
    #[error("a pass follows at once although nothing has changed")]
    HotLoop,
    /// Too many may be replaced at a time.
    #[error("a Machine is failed for its health without a permit")]
    FailedWithoutPermit,
    /// Too many VMs would be rebooted at a time.
    #[error("a VM is rebooted for its Machine's health without a permit")]
    RebootWithoutPermit,
    /// The network to the Nodes is more likely broken than the Nodes.
    #[error("a Machine is failed or rebooted whose VM is alive and whose zone is silent")]
    SilentZone,
    /// The Machine's health still counts.
    #[error("a Node is handed over for an update before its Machine says so")]
    HandedOverTooEarly,
    /// A Machine that is being deleted stays in that phase, and no other Machine enters it.
    #[error("a deletion is left or a Machine that nobody deletes enters it")]
    WrongWay,
}

/// Returns the rule that a batch breaks, if any.
pub fn batch(
    view: &MachineView,
    progress: &MachineProgress,
    effects: &[MachineEffect],
    now: Timestamp,
) -> Result<(), MachineViolation> {
    if effects.is_empty() {
        return Err(MachineViolation::EmptyBatch);
    }
    let mut rest = effects;
    while let Some((first, others)) = rest.split_first() {
        if others.iter().any(|other| is_same(first, other)) {
            return Err(MachineViolation::Repeated);
        }
        rest = others;
    }
    effects
        .iter()
        .try_for_each(|effect| held(view, progress, effect, now).and_then(|()| one(view, progress, effect)))
}

/// Returns whether two effects are the same. A drain does the same to many pods.
fn is_same(a: &MachineEffect, b: &MachineEffect) -> bool {
    match (a, b) {
        (MachineEffect::Drain(a), MachineEffect::Drain(b)) => a == b,
        (a, b) => a.name() == b.name(),
    }
}

/// Checks effects that must wait for other Machines, for pods, or for hooks of others.
fn held(
    view: &MachineView,
    progress: &MachineProgress,
    effect: &MachineEffect,
    now: Timestamp,
) -> Result<(), MachineViolation> {
    if is_shared(view) && effect.is(EffectTrait::HarmsOthers) {
        return Err(MachineViolation::Contested);
    }
    if mark::held(view).is_some() && mark::is_held(effect) {
        return Err(MachineViolation::OtherMark);
    }
    if *effect == MachineEffect::CreateVm && mark::forbids_creation(view).is_some() {
        return Err(MachineViolation::OtherMark);
    }
    let is_deleting = view.machine.deletion.is_some();
    let empties = effect.is(EffectTrait::EmptiesNode);
    if empties && !is_deleting && !is_to_be_emptied(view, effect) {
        return Err(MachineViolation::DrainWithoutRequest);
    }
    if empties && is_deleting && hooks::wait(view, HookPoint::Drain, now).is_some() {
        return Err(MachineViolation::HookIgnored);
    }
    if *effect == MachineEffect::DeleteVm && is_deleting {
        let is_held = hooks::wait(view, HookPoint::Vm, now).is_some()
            || (hooks::wait(view, HookPoint::Drain, now).is_some() && view.has_target() && !is_past(view));
        if is_held {
            return Err(MachineViolation::HookIgnored);
        }
        if !is_drain_over(view, progress, now) {
            return Err(MachineViolation::VmBeforeDrain);
        }
    }
    Ok(())
}

/// Apart from deletion a Node is emptied for an update in place, and without being cordoned when its failed Machine is
/// kept.
fn is_to_be_emptied(view: &MachineView, effect: &MachineEffect) -> bool {
    let is_selected = view
        .node()
        .and_then(|node| node.in_place.as_ref())
        .is_some_and(|reported| reported.reason == in_place::words::SELECTED);
    let is_kept = view.machine.preservation.until.is_some() && view.machine.phase == Phase::Failed;
    is_selected || (is_kept && !matches!(effect, MachineEffect::Cordon { .. }))
}

fn one(
    view: &MachineView,
    progress: &MachineProgress,
    effect: &MachineEffect,
) -> Result<(), MachineViolation> {
    let is_deleting = view.machine.deletion.is_some();
    if progress.has(effect) {
        return Err(MachineViolation::Repeated);
    }
    if !permits(view.gate, effect.kind(&view.machine)) {
        return Err(MachineViolation::Frozen);
    }
    if is_deleting && effect.is(EffectTrait::NotInDeletion) {
        return Err(MachineViolation::CreateWhileDeleting);
    }
    match effect {
        // The id of a VM that a query finds is stored, so that the deletion finds it again; after the delete request
        // nothing is stored.
        MachineEffect::RecordVm { .. } if is_deleting && progress.delete_vm.is_some() => {
            Err(MachineViolation::CreateWhileDeleting)
        }
        MachineEffect::CreateVm | MachineEffect::InitializeVm
            if matches!(view.driver, DriverFact::Substitute { .. }) =>
        {
            Err(MachineViolation::CreateBySubstitute)
        }
        MachineEffect::DeleteMachine if is_deleting || view.node().is_none_or(|node| !node.is_deleting) => {
            Err(MachineViolation::DeleteWithoutRequest)
        }
        MachineEffect::CreateVm => create(view, progress),
        MachineEffect::DeleteVm | MachineEffect::DeleteNode { .. } | MachineEffect::ReleaseFinalizer
            if !is_deleting =>
        {
            Err(MachineViolation::DeleteWithoutRequest)
        }
        MachineEffect::ReleaseFinalizer if !may_leave(view, progress) => {
            Err(MachineViolation::ReleaseBeforeVmGone)
        }
        MachineEffect::DeleteNode { .. } | MachineEffect::ForgetToken
            if is_deleting && !may_leave(view, progress) =>
        {
            Err(MachineViolation::CleanUpBeforeVmGone)
        }
        MachineEffect::DeleteNode { node, uid }
            if view.node().is_none_or(|own| (&own.name, &own.uid) != (node, uid)) =>
        {
            Err(MachineViolation::ForeignNode)
        }
        MachineEffect::SetNodeCondition { condition, .. }
            if condition.reason == in_place::words::READY && view.machine.phase != Phase::InPlaceUpdating =>
        {
            Err(MachineViolation::HandedOverTooEarly)
        }
        MachineEffect::SyncNode { node, .. }
        | MachineEffect::Cordon { node }
        | MachineEffect::WriteCapacity { node, .. }
        | MachineEffect::SetNodeCondition { node, .. }
            if view.node().is_none_or(|own| own.name != *node) =>
        {
            Err(MachineViolation::ForeignNode)
        }
        MachineEffect::RebootVm if is_deleting || !matches!(progress.note_reboot, Some(Ok(()))) => {
            Err(MachineViolation::RebootUnwritten)
        }
        MachineEffect::NoteReboot(_) | MachineEffect::RebootVm => {
            permitted(view, progress, MachineViolation::RebootWithoutPermit)
        }
        _ => Ok(()),
    }
}

/// Never two VMs for one Machine.
fn create(view: &MachineView, progress: &MachineProgress) -> Result<(), MachineViolation> {
    let machine = &view.machine;
    let is_held = machine.has_finalizer || matches!(progress.claim, Some(Ok(())));
    if !is_held {
        return Err(MachineViolation::CreateWithoutFinalizer);
    }
    if machine.provider_id.is_some() || matches!(&progress.probe, Some(query) if names_a_vm(query)) {
        return Err(MachineViolation::SecondVm);
    }
    let Some(driver) = driver(view) else { return Err(MachineViolation::CreateWithoutQuery) };
    let has_looked = progress.probe.is_some() || !driver.capabilities.status;
    let is_first = (!machine.has_finalizer || machine.is_unstarted) && machine.create_intent.is_none();
    let is_resumed = machine.last_known_state.is_some() && machine.operation.is_some();
    if !has_looked && !is_first && !is_resumed {
        return Err(MachineViolation::CreateWithoutQuery);
    }
    let is_noted = matches!(progress.intent, Some(Ok(()))) || (is_resumed && machine.create_intent.is_some());
    let keeps_keys = driver.capabilities.idempotency_key;
    let is_in_doubt = |intent: &CreateIntent| intent.is_in_doubt(driver.consistency_window);
    if !keeps_keys && !is_resumed && machine.create_intent.as_ref().is_some_and(is_in_doubt) {
        return Err(MachineViolation::CreateInDoubt);
    }
    if !keeps_keys && !is_noted {
        return Err(MachineViolation::CreateWithoutIntent);
    }
    Ok(())
}

fn names_a_vm<T>(vm_check: &Result<T, CallError>) -> bool {
    match vm_check {
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
fn may_leave(view: &MachineView, progress: &MachineProgress) -> bool {
    let is_seen = matches!(&progress.probe, Some(query) if names_a_vm(query));
    let is_declared = view.machine.deletion_facts.is_vm_declared_gone && !is_seen;
    is_proven_gone(view, progress) || is_declared || was_never_made(view)
}

/// The driver took the order to remove the VM, in this reconcile or in an earlier one, and no look that it offers has
/// found it.
fn is_proven_gone(view: &MachineView, progress: &MachineProgress) -> bool {
    let is_ordered = match &progress.delete_vm {
        Some(Ok(Deletion::Deleted { .. })) => true,
        Some(Ok(Deletion::InProgress(_))) => false,
        None => view.machine.deletion_facts.delete_request.is_some(),
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

/// Returns the rule that the end of a reconcile breaks, if any.
pub fn conclusion(
    view: &MachineView,
    progress: &MachineProgress,
    conclusion: &MachineConclusion,
) -> Result<(), MachineViolation> {
    let machine = &view.machine;
    let phase = conclusion.status.phase;
    if !permits(view.gate, conclusion.status.kind()) {
        return Err(MachineViolation::Frozen);
    }
    if phase == Some(Phase::Failed) && is_shared(view) {
        return Err(MachineViolation::Contested);
    }
    if phase == Some(Phase::Failed) && mark::held(view).is_some() {
        return Err(MachineViolation::OtherMark);
    }
    if phase == Some(Phase::Failed) && is_held_by_policy(view, progress) {
        return Err(MachineViolation::FailedWhileHeld);
    }
    if phase.is_some_and(|phase| (phase == Phase::Terminating) != machine.deletion.is_some()) {
        return Err(MachineViolation::WrongWay);
    }
    let is_stored = machine.provider_id.is_some() || matches!(progress.record, Some(Ok(())));
    if matches!(phase, Some(Phase::Pending | Phase::Available | Phase::Running)) && !is_stored {
        return Err(MachineViolation::Unrecorded);
    }
    if phase == Some(Phase::Failed) {
        fails(view, progress)?;
    }
    wake(view, progress, conclusion)
}

/// Another Machine stores the same provider id, and nobody deletes it.
fn is_shared(view: &MachineView) -> bool {
    view.machine.provider_id.is_some() && !view.conflict.vm_users.is_empty()
}

/// Returns whether an enforcing policy has no verdict, or an opinion is missing.
fn is_held_by_policy(view: &MachineView, progress: &MachineProgress) -> bool {
    let opinions = policies::opinions(view, progress);
    opinions.iter().any(|opinion| opinion.mode == Mode::Enforce && opinion.verdict == PolicyVerdict::Unknown)
}

/// Checks that a Machine which has joined fails only with a permit, and that none with a VM fails because the network
/// to its zone is broken.
fn fails(view: &MachineView, progress: &MachineProgress) -> Result<(), MachineViolation> {
    let machine = &view.machine;
    let has_no_vm = machine.phase == Phase::Pending && machine.provider_id.is_none();
    if has_no_vm || matches!(machine.phase, Phase::New | Phase::CrashLoopBackOff) {
        return Ok(());
    }
    permitted(view, progress, MachineViolation::FailedWithoutPermit)
}

/// Checks that the Machine has a permit and that its zone does not object. `otherwise` is the violation without a
/// permit.
fn permitted(
    view: &MachineView,
    progress: &MachineProgress,
    otherwise: MachineViolation,
) -> Result<(), MachineViolation> {
    let Some(Ok(Permit::Granted { zone })) = &progress.permit else {
        return Err(otherwise);
    };
    let is_silent = zone.as_ref().is_some_and(|zone| zone.is_silent);
    let is_alive = match &progress.probe {
        Some(Ok(vm)) => !matches!(vm.state, VmState::Stopping | VmState::Stopped),
        Some(Err(error)) => !is_not_found(error) && error.code() != Code::Unimplemented,
        None => driver(view).is_none_or(|driver| driver.capabilities.status),
    };
    if is_silent && is_alive { Err(MachineViolation::SilentZone) } else { Ok(()) }
}

fn wake(
    view: &MachineView,
    progress: &MachineProgress,
    conclusion: &MachineConclusion,
) -> Result<(), MachineViolation> {
    let machine = &view.machine;
    match conclusion.wake {
        Requeue::Gone => {
            let is_released = !machine.has_finalizer || matches!(progress.release, Some(Ok(())));
            let is_gone = machine.deletion.is_some() && is_released;
            if is_gone { Ok(()) } else { Err(MachineViolation::NoWake) }
        }
        Requeue::Now => {
            let is_other_phase = conclusion.status.phase.is_some_and(|phase| phase != machine.phase);
            let is_change = is_other_phase
                || conclusion.status.preserve_until.is_some()
                || matches!(progress.record, Some(Ok(())));
            if is_change { Ok(()) } else { Err(MachineViolation::HotLoop) }
        }
        Requeue::After(after) | Requeue::Check(after) if after <= SignedDuration::ZERO => {
            Err(MachineViolation::HotLoop)
        }
        Requeue::Retry { policy, .. } if policy.base.max(policy.cap) <= SignedDuration::ZERO => {
            Err(MachineViolation::HotLoop)
        }
        Requeue::After(_) | Requeue::Check(_) | Requeue::Retry { .. } | Requeue::Resync => Ok(()),
    }
}
