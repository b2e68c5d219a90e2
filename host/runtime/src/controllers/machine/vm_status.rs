//! Reports of drivers about VMs, in the status and in Events.

use machinist_api::own_status::{VmCondition, VmStatus};
use machinist_core::driver::VmState;
use machinist_core::machine::VmReport;

use crate::controllers::objects::conditions::MESSAGE_BYTES;
use crate::events::clip;

/// So many conditions of a VM are told. The status is for people.
const MAX_CONDITIONS: usize = 16;

/// As the status has it.
pub(super) fn of(report: &VmReport) -> VmStatus {
    let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(|text| clip(text, MESSAGE_BYTES));
    let condition = |reported: &machinist_core::driver::CloudCondition| VmCondition {
        type_: text(&reported.kind),
        status: text(&reported.status),
        reason: text(&reported.reason),
        message: text(&reported.message),
    };
    VmStatus {
        state: Some(word(report.state).to_owned()),
        conditions: report.conditions.iter().take(MAX_CONDITIONS).map(condition).collect(),
    }
}

/// The change, for an Event. That a VM boots and runs as it should is no news.
pub(super) fn change_message(old: Option<&VmStatus>, new: &VmStatus) -> Option<String> {
    let empty = VmStatus::default();
    let old = old.unwrap_or(&empty);
    let mut changes = Vec::new();
    let is_off = |vm: &VmStatus| matches!(vm.state.as_deref(), Some("Stopping" | "Stopped"));
    if old.state != new.state && (is_off(old) || is_off(new)) {
        changes.push(format!("the VM is {}", new.state.as_deref().unwrap_or("Unknown")));
    }
    let same = |one: &VmCondition, other: &VmCondition| {
        one.type_ == other.type_ && one.status == other.status && one.reason == other.reason
    };
    for condition in new.conditions.iter().filter(|new| !old.conditions.iter().any(|old| same(old, new))) {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let (kind, status) = (part(&condition.type_), part(&condition.status));
        changes.push(format!("{kind}={status} {}: {}", part(&condition.reason), part(&condition.message)));
    }
    let is_there = |kind: &Option<String>| new.conditions.iter().any(|new| new.type_ == *kind);
    let gone = old.conditions.iter().filter(|old| !is_there(&old.type_));
    changes.extend(gone.map(|old| format!("{} is told no more", old.type_.as_deref().unwrap_or_default())));
    (!changes.is_empty()).then(|| format!("the cloud says of the VM: {}", changes.join("; ")))
}

fn word(state: VmState) -> &'static str {
    match state {
        VmState::Pending => "Pending",
        VmState::Running => "Running",
        VmState::Stopping => "Stopping",
        VmState::Stopped => "Stopped",
        VmState::Unknown => "Unknown",
    }
}
