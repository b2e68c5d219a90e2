//! Ownership conflicts: several Machines name one VM or one Node. Decides the owner, and which effects are blocked
//! until one gives it up.
//!
//! The provider id decides, in any form, then the label with which its Machine marked the Node. Machines that are not
//! the owner leave the Node alone. A VM whose id is stored on several Machines is not deleted, drained, rebooted or
//! failed for any of them while another one uses it: drivers delete by id, and the owner is unknown.

use jiff::Timestamp;

use crate::machine::node::health::ConditionStatus;
use crate::scheduling::retry::RetryPolicy;
use crate::value::id::{ObjectKey, ProviderId};
use crate::value::phase::Phase;
use crate::value::same_vm::SameVm;

use crate::machine::conclusion::{
    MachineConclusion, MachineCondition, MachineConditionKind, MachineReason, MachineStep, Requeue,
    StatusChange,
};
use crate::machine::effect::EffectTrait;
use crate::machine::facts::{MachineView, NodePresence, TargetFact};
use crate::machine::step::{rest, with_condition};

/// Other Machines that name the same VM or Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnershipConflict {
    /// They store its provider id, and are not being deleted.
    pub vm_users: Vec<ObjectKey>,
    /// They store its provider id, and are being deleted too.
    pub vm_users_in_deletion: Vec<ObjectKey>,
    /// They name its Node, and do not own it.
    pub of_node: Vec<ObjectKey>,
    /// The Node with its Node's name belongs to another Machine, by that Node's own metadata.
    pub name_holder: Option<NodeNameHolder>,
    /// The Machine's status reports a conflict.
    pub is_reported: bool,
}

/// The state of a Node that has the name of a Machine's Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeNameHolder {
    /// The Node or its Machine is being deleted: the name will be free.
    Leaving,
    Staying,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamingMachine {
    pub key: ObjectKey,
    pub created: Timestamp,
    /// The id that it stores.
    pub provider_id: Option<ProviderId>,
    /// Its deletion was asked for.
    pub is_deleting: bool,
    /// Its status says that its Node has joined, so that a Node of that name was its own.
    pub has_joined: bool,
}

/// The facts of a Node about its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOwnership {
    pub provider_id: Option<ProviderId>,
    /// The name of the Machine that has marked it.
    pub mark: Option<String>,
}

impl NodeOwnership {
    /// Compares the VMs of the Node and of this Machine by their ids.
    fn vms(&self, naming_machine: &NamingMachine) -> SameVm {
        SameVm::of(self.provider_id.as_ref(), naming_machine.provider_id.as_ref())
    }
}

/// The owner of a Node, as seen by a Machine that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeOwner {
    /// That of another VM, for certain.
    Foreign(ProviderId),
    /// It belongs to another Machine, or the owner is unknown.
    Contested(Vec<ObjectKey>),
    /// It belongs to this Machine, although these others name it.
    Own(Vec<ObjectKey>),
}

/// Returns the owner of a Node that `own` and the others name. At most one of them gets it.
pub fn owner_of(node: &NodeOwnership, own: &NamingMachine, others: &[NamingMachine]) -> NodeOwner {
    if let (Some(of_node), SameVm::Different) = (&node.provider_id, node.vms(own)) {
        return NodeOwner::Foreign(of_node.clone());
    }
    let may_be = |naming_machine: &&NamingMachine| node.vms(naming_machine) != SameVm::Different;
    let others: Vec<&NamingMachine> = others.iter().filter(may_be).collect();
    let mut keys: Vec<ObjectKey> = others.iter().map(|other| other.key.clone()).collect();
    keys.sort();
    let all: Vec<&NamingMachine> = others.into_iter().chain([own]).collect();
    match owner(node, &all) {
        Some(owner) if owner.key == own.key => NodeOwner::Own(keys),
        Some(_) => NodeOwner::Contested(keys),
        None => {
            // The Machine that its label names owns it, whether that Machine exists or not.
            let marked =
                node.mark.as_ref().map(|name| ObjectKey::new(own.key.namespace.as_str(), name.as_str()));
            keys.extend(marked.filter(|key| *key != own.key));
            keys.sort();
            keys.dedup();
            NodeOwner::Contested(keys)
        }
    }
}

/// Returns whether the Node belongs to another Machine than `own`: by its provider id, or if that is unclear, by its
/// label, which names a Machine that does not name the Node. A Node of another VM with the label of `own` contradicts
/// itself, and proves nothing.
pub fn is_anothers(node: &NodeOwnership, own: &NamingMachine, others: &[NamingMachine]) -> bool {
    let is_marked =
        |naming_machine: &NamingMachine| node.mark.as_deref() == Some(naming_machine.key.name.as_str());
    match owner_of(node, own, others) {
        NodeOwner::Own(_) => false,
        NodeOwner::Foreign(_) => !is_marked(own),
        NodeOwner::Contested(_) => {
            let is_proven = |naming_machine: &NamingMachine| node.vms(naming_machine) == SameVm::Same;
            let all = || others.iter().chain([own]);
            node.mark.is_some() && !all().any(is_marked) && !all().any(is_proven)
        }
    }
}

fn owner<'a>(node: &NodeOwnership, all: &[&'a NamingMachine]) -> Option<&'a NamingMachine> {
    let is_proven = |naming_machine: &&&NamingMachine| node.vms(naming_machine) == SameVm::Same;
    let proven: Vec<&NamingMachine> = all.iter().filter(is_proven).copied().collect();
    if let [only] = proven.as_slice() {
        return Some(only);
    }
    let candidates = if proven.is_empty() { all } else { proven.as_slice() };
    let is_marked =
        |naming_machine: &&&NamingMachine| node.mark.as_deref() == Some(naming_machine.key.name.as_str());
    if let Some(marked) = candidates.iter().find(is_marked) {
        return Some(marked);
    }
    // No id decides, and the label names a Machine that does not name the Node: the Node was left behind, or belongs to
    // others. A Machine that has joined has marked it then, and does so again.
    let is_of_others = proven.is_empty() && node.mark.is_some();
    if let [only] = candidates {
        return Some(*only).filter(|only| !is_of_others || only.has_joined);
    }
    if is_of_others && candidates.iter().all(|naming_machine| !naming_machine.has_joined) {
        return None;
    }
    // All of its Machines are being deleted, and one of them must drain it.
    let all_leave = candidates.iter().all(|naming_machine| naming_machine.is_deleting);
    let oldest = candidates.iter().min_by_key(|naming_machine| (naming_machine.created, &naming_machine.key));
    oldest.copied().filter(|_| all_leave)
}

/// Returns why nothing may be done to this Machine's VM and its pods. `None`: no other Machine names it.
pub(crate) fn held(view: &MachineView) -> Option<String> {
    let OwnershipConflict { vm_users, vm_users_in_deletion, .. } = &view.conflict;
    let vm = view.machine.provider_id.as_ref()?;
    let is_deleting = view.machine.deletion.is_some();
    if !vm_users.is_empty() {
        let others = names(vm_users);
        return Some(if is_deleting {
            format!(
                "VM {vm} is that of {others} as well, which nobody deletes, so that nothing of it is removed: take spec.providerID \
                 off the Machine whose VM it is not, or delete {others} too"
            )
        } else {
            format!(
                "VM {vm} is that of {others} as well, so that nobody removes, empties or fails it: take spec.providerID off the \
                 Machine whose VM it is not, and delete that Machine"
            )
        });
    }
    let is_of_another = matches!(view.target, TargetFact::Cluster(NodePresence::Contested(_)));
    let waits = is_deleting && is_of_another && !vm_users_in_deletion.is_empty();
    waits.then(|| {
        let others = names(vm_users_in_deletion);
        format!("VM {vm} is that of {others} as well, being deleted too: it goes once its Node is drained for them")
    })
}

/// Blocks the effects of a Machine that is not being deleted on a VM that others use.
pub(crate) fn guarded(view: &MachineView, step: MachineStep) -> MachineStep {
    let Some(message) = held(view) else { return step };
    let is_harmful = match &step {
        MachineStep::Act(effects) => effects.iter().any(|effect| effect.is(EffectTrait::HarmsOthers)),
        MachineStep::Finish(conclusion) => conclusion.status.phase == Some(Phase::Failed),
    };
    if is_harmful { rest(MachineReason::VmContested, message, Requeue::Resync) } else { step }
}

/// Ends a reconcile of a Machine that is being deleted while others name its VM.
pub(crate) fn waiting(message: String) -> MachineConclusion {
    let wake = Requeue::retry(RetryPolicy::LONG);
    MachineConclusion { status: StatusChange::default(), reason: MachineReason::VmContested, message, wake }
}

/// Adds condition `Contested` to each Machine of a conflict, the owner included, and clears it when the conflict is
/// over.
pub(crate) fn reported(view: &MachineView, step: MachineStep) -> MachineStep {
    with_condition(step, || condition(view))
}

fn condition(view: &MachineView) -> Option<MachineCondition> {
    let kind = MachineConditionKind::Contested;
    let conflict = &view.conflict;
    let on_vm: Vec<ObjectKey> =
        conflict.vm_users.iter().chain(&conflict.vm_users_in_deletion).cloned().collect();
    if let Some(vm) = view.machine.provider_id.as_ref().filter(|_| !on_vm.is_empty()) {
        let message = held(view).unwrap_or_else(|| {
            format!("VM {vm} is that of {} as well, all of which are being deleted", names(&on_vm))
        });
        return Some(MachineCondition {
            kind,
            status: ConditionStatus::True,
            reason: "VmContested",
            message,
        });
    }
    let (others, whose) = match &view.target {
        // It belongs to another Machine, which is no conflict.
        TargetFact::Cluster(NodePresence::Contested(_)) if conflict.name_holder.is_some() => {
            (&conflict.of_node, "and it is this Machine's")
        }
        TargetFact::Cluster(NodePresence::Contested(others)) => {
            (others, "and it is not told to be this Machine's")
        }
        TargetFact::Cluster(NodePresence::Present(_) | NodePresence::Absent | NodePresence::Foreign(_))
        | TargetFact::None => (&conflict.of_node, "and it is this Machine's"),
    };
    if others.is_empty() {
        let message = "no other Machine claims the VM or the Node".to_owned();
        let is_over =
            MachineCondition { kind, status: ConditionStatus::False, reason: "NotContested", message };
        return conflict.is_reported.then_some(is_over);
    }
    let message = format!(
        "label node of {} names the Node as well, {whose}: take the label off the Machine that it is not of, or delete that",
        names(others)
    );
    Some(MachineCondition { kind, status: ConditionStatus::True, reason: "NodeContested", message })
}

fn names(keys: &[ObjectKey]) -> String {
    let all: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    match all.as_slice() {
        [only] => format!("Machine {only}"),
        several => format!("Machines {}", several.join(", ")),
    }
}
