//! Queries the VM of a Machine in service from time to time: its state, its addresses, and whether it exists.
//!
//! The result is reported, and steps that the driver has left are done. The Node decides about the Machine: a healthy
//! one does not fail because a cloud says that it has no VM, and one without a VM is not healthy for long.

use jiff::{SignedDuration, Timestamp};

use crate::driver::addresses;
use crate::driver::error::{CallError, Code};
use crate::driver::{Address, Vm, is_not_found};
use crate::machine::node::health::ConditionStatus;
use crate::scheduling::gate::{EffectKind, permits};
use crate::scheduling::vm_checks::{SECOND_CHECK, VM_FOUND, VmCheckFact};
use crate::value::duration;
use crate::value::id::ProviderId;
use crate::value::phase::Phase;

use super::super::conclusion::{MachineCondition, MachineConditionKind, Requeue, VmReport};
use super::super::effect::{MachineEffect, MachineProgress};
use super::conclusion_part::{ConclusionPart, TaskResult, wake_at};
use crate::machine::creation::create::found_in;
use crate::machine::facts::{DriverFact, MachineView};
use crate::machine::ownership::unproven;

/// Queries the VM when it is time.
pub(super) fn turn(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> TaskResult {
    let Some((check, second)) = due(view) else { return TaskResult::nothing() };
    let at = check
        .missed
        .and_then(|missed| missed.checked_add(second).ok())
        .map_or(check.next, |at| at.min(check.next));
    if now < at {
        return TaskResult::Report(ConclusionPart {
            wake: Some(wake_at(at, now)),
            ..ConclusionPart::default()
        });
    }
    let next = check.next.max(now).checked_add(check.interval).unwrap_or(Timestamp::MAX);
    let wake = Some(wake_at(next, now));
    match &progress.probe {
        None => TaskResult::act(MachineEffect::ProbeVm),
        Some(Ok(vm)) => TaskResult::Report(ConclusionPart { wake, ..found(view, vm, check) }),
        Some(Err(error)) if is_not_found(error) => match check.missed {
            Some(missed) if now.duration_since(missed) >= second => TaskResult::Report(ConclusionPart {
                wake,
                condition: Some(gone(view, second)),
                ..ConclusionPart::default()
            }),
            Some(missed) => {
                let at = missed.checked_add(second).unwrap_or(Timestamp::MAX);
                TaskResult::Report(ConclusionPart {
                    wake: Some(wake_at(at, now)),
                    ..ConclusionPart::default()
                })
            }
            None => {
                let at = now.checked_add(second).unwrap_or(Timestamp::MAX);
                TaskResult::Report(ConclusionPart {
                    wake: Some(wake_at(at, now)),
                    ..ConclusionPart::default()
                })
            }
        },
        Some(Err(error)) if error.code() == Code::Uninitialized => {
            unfinished(view, progress, error, check, wake)
        }
        // The next query shows any other error.
        Some(Err(error)) => {
            let condition = unproven::refusal(error).map(unproven::condition);
            TaskResult::Report(ConclusionPart { wake, condition, ..ConclusionPart::default() })
        }
    }
}

/// Initializes a VM in service, such as an adopted one that gets its mark. It gets no bootstrap token: it has joined.
fn unfinished(
    view: &MachineView,
    progress: &MachineProgress,
    error: &CallError,
    check: &VmCheckFact,
    wake: Option<Requeue>,
) -> TaskResult {
    let can = matches!(&view.driver, DriverFact::Ready(driver) if driver.capabilities.initialize);
    let is_own = found_in(error).is_some_and(|found| is_own(view, &found.provider_id));
    match &progress.initialize {
        None if can && is_own && permits(view.gate, EffectKind::Initialize) => {
            TaskResult::act(MachineEffect::InitializeVm)
        }
        Some(Ok(vm)) => TaskResult::Report(ConclusionPart { wake, ..found(view, vm, check) }),
        Some(Err(error)) if error.code() != Code::Unimplemented => {
            let condition = MachineCondition {
                kind: MachineConditionKind::VmPresent,
                status: ConditionStatus::True,
                reason: "InitializationFailed",
                message: error.to_string(),
            };
            TaskResult::Report(ConclusionPart {
                wake,
                condition: Some(condition),
                ..ConclusionPart::default()
            })
        }
        None | Some(Err(_)) => TaskResult::Report(ConclusionPart { wake, ..ConclusionPart::default() }),
    }
}

fn is_own(view: &MachineView, id: &ProviderId) -> bool {
    view.machine.provider_id.as_ref().is_some_and(|own| id.names_same_vm(own))
}

/// Returns when to query, and the pause after a query that finds nothing; `None` when the Machine's VM is not queried.
fn due(view: &MachineView) -> Option<(&VmCheckFact, SignedDuration)> {
    let machine = &view.machine;
    let DriverFact::Ready(driver) = &view.driver else { return None };
    let is_looked_at = matches!(machine.phase, Phase::Running | Phase::Available)
        && machine.provider_id.is_some()
        && driver.capabilities.status
        && permits(view.gate, EffectKind::CloudRead);
    let check = view.vm_check.as_ref().filter(|_| is_looked_at)?;
    Some((check, SECOND_CHECK.max(driver.consistency_window)))
}

fn found(view: &MachineView, vm: &Vm, check: &VmCheckFact) -> ConclusionPart {
    if !is_own(view, &vm.provider_id) {
        return ConclusionPart::default();
    }
    let back = MachineCondition {
        kind: MachineConditionKind::VmPresent,
        status: ConditionStatus::True,
        reason: VM_FOUND,
        message: "the cloud shows the VM".to_owned(),
    };
    ConclusionPart {
        condition: check.is_doubted.then_some(back),
        vm: Some(VmReport::of(vm)),
        addresses: current_addresses(view, vm),
        ..ConclusionPart::default()
    }
}

/// Returns the cloud's addresses, which replace the stored ones; an empty list changes nothing.
fn current_addresses(view: &MachineView, vm: &Vm) -> Option<Vec<Address>> {
    if vm.addresses.is_empty() {
        return None;
    }
    let host = Address { kind: "Hostname".into(), address: vm.node_name.to_string() };
    let hosts = if vm.node_name.is_empty() { Vec::new() } else { vec![host] };
    let reported = addresses::union([vm.addresses.as_slice(), hosts.as_slice()]);
    Some(reported).filter(|reported| *reported != view.machine.addresses)
}

fn gone(view: &MachineView, second: SignedDuration) -> MachineCondition {
    let vm = view.machine.provider_id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
    let apart = duration::format(second);
    MachineCondition {
        kind: MachineConditionKind::VmPresent,
        status: ConditionStatus::False,
        reason: "VmGone",
        message: format!(
            "two looks, {apart} apart, have not found VM{vm} in the cloud: the Machine fails when its Node is not healthy any more"
        ),
    }
}
