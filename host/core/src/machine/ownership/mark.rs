//! The cluster's mark as Machine and class have stored it: nothing is done to a Machine with another mark than this
//! process's.
//!
//! Drivers find VMs by the mark of the process. Under another mark a query finds no VM, a delete request reaches none,
//! and a create makes a second one. The stored mark moves with the objects, so that a control plane that was moved or
//! restored notices. It is compared and never sent to a driver: authors of Machines write annotations.

use crate::scheduling::gate::{FreezeReason, Gate, permits};
use crate::scheduling::retry::RetryPolicy;
use crate::value::phase::Phase;

use crate::machine::conclusion::{MachineConclusion, MachineReason, MachineStep, Requeue, StatusChange};
use crate::machine::effect::{EffectTrait, MachineEffect};
use crate::machine::facts::{ClassFact, MachineView};
use crate::machine::step::rest;

/// The marks that a reconcile compares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The mark that this process sends with each call of a driver.
    pub own: String,
    /// The mark that the Machine has stored with its VM.
    pub of_machine: Option<String>,
    /// The mark that the Machine's class has stored, once a VM of it was seen.
    pub of_class: Option<String>,
}

/// Returns why nothing may be done to the VM of this Machine and to its Node. `None`: no other mark is stored.
pub(crate) fn held(view: &MachineView) -> Option<String> {
    let marks = &view.marks;
    match &marks.of_machine {
        Some(stored) => (*stored != marks.own).then(|| message(view, "the Machine", stored)),
        None => other_of_class(view),
    }
}

/// Returns why no VM may be created for this Machine. The class counts as well: VMs of one class carry one mark.
pub(crate) fn forbids_creation(view: &MachineView) -> Option<String> {
    held(view).or_else(|| other_of_class(view))
}

fn other_of_class(view: &MachineView) -> Option<String> {
    let stored = view.marks.of_class.as_ref().filter(|stored| **stored != view.marks.own)?;
    let name = match &view.class {
        ClassFact::Missing(name)
        | ClassFact::Invalid { name, .. }
        | ClassFact::Deleting(name)
        | ClassFact::Ready(name) => name,
    };
    Some(message(view, &format!("MachineClass {name}"), stored))
}

fn message(view: &MachineView, subject: &str, stored: &str) -> String {
    let (own, annotation) = (&view.marks.own, view.names.cluster_mark);
    format!(
        "{subject} carries the mark of cluster {stored}, and this process has the mark {own}: start it with \
         --cluster-id={stored}; until then no VM is created, emptied or removed. If the VM carries the mark {own}, take the \
         annotation {annotation} off"
    )
}

/// Blocks harmful effects on a Machine that is not being deleted: its health is still checked, and `Ready` has the
/// reason.
pub(crate) fn guarded(view: &MachineView, step: MachineStep) -> MachineStep {
    let Some(message) = held(view) else { return step };
    let is_harmful = match &step {
        MachineStep::Act(effects) => effects.iter().any(is_held),
        MachineStep::Finish(conclusion) => conclusion.status.phase == Some(Phase::Failed),
    };
    match step {
        _ if is_harmful => rest(MachineReason::ClusterMarkDiffers, message, Requeue::Resync),
        MachineStep::Act(effects) => MachineStep::Act(effects),
        MachineStep::Finish(conclusion) => MachineStep::Finish(MachineConclusion {
            reason: MachineReason::ClusterMarkDiffers,
            message,
            ..conclusion
        }),
    }
}

/// While another control plane holds the mark, this Machine may be a copy of that one's: effects that the gate forbids
/// are blocked, and `Ready` has the reason.
pub(crate) fn held_elsewhere(view: &MachineView, step: MachineStep) -> MachineStep {
    let Gate::Frozen { reason: reason @ FreezeReason::ClusterMarkHeld, .. } = view.gate else { return step };
    match &step {
        MachineStep::Act(effects)
            if effects.iter().any(|effect| !permits(view.gate, effect.kind(&view.machine))) =>
        {
            rest(MachineReason::Frozen, format!("held: {}", reason.sentence()), Requeue::Resync)
        }
        MachineStep::Act(_) | MachineStep::Finish(_) => step,
    }
}

/// Ends a reconcile of a Machine that is being deleted, or created.
pub(crate) fn waiting(message: String) -> MachineConclusion {
    let wake = Requeue::retry(RetryPolicy::LONG);
    MachineConclusion {
        status: StatusChange::default(),
        reason: MachineReason::ClusterMarkDiffers,
        message,
        wake,
    }
}

/// Returns true for effects that harm the VM or its pods, and for calls to the cloud with the wrong mark.
pub(crate) fn is_held(effect: &MachineEffect) -> bool {
    effect.is(EffectTrait::HarmsOthers)
        || matches!(
            effect,
            MachineEffect::ProbeVm | MachineEffect::RecordVm { .. } | MachineEffect::AskPermit(_)
        )
}
