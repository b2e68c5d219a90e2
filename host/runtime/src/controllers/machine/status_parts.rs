//! Parts of `status.machinist`: the memory of a drain, and the reports of drivers about VMs.

use jiff::{SignedDuration, Timestamp};
use machinist_api::own_status::{
    AwaitedVolume as Stored, DrainStatus, OwnMachineStatus, VmCondition, VmStatus,
};
use machinist_api::value;
use machinist_core::drain::{AwaitedVolume, DrainMemory, VolumeName};
use machinist_core::driver::VmState;
use machinist_core::machine::VmReport;
use machinist_core::value::id::ObjectKey;

use crate::controllers::objects::conditions::MESSAGE_BYTES;
use crate::events::clip;

/// Conditions of a VM in the status, which is for operators.
const MAX_CONDITIONS: usize = 16;

/// The report as the status has it.
pub(super) fn vm_status(report: &VmReport) -> VmStatus {
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

/// Returns the change, for an Event. A VM that boots and runs needs none.
pub(super) fn vm_change(old: Option<&VmStatus>, new: &VmStatus) -> Option<String> {
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

/// Reads the memory that an earlier reconcile has stored. A volume without a name or a time is none.
pub(crate) fn drain_memory(own: &OwnMachineStatus) -> DrainMemory {
    let stored = own.drain.as_ref().map(|drain| drain.volumes.as_slice());
    DrainMemory { volumes: stored.unwrap_or_default().iter().filter_map(volume).collect() }
}

fn volume(stored: &Stored) -> Option<AwaitedVolume> {
    let key = |text: &String| text.split_once('/').map(|(namespace, name)| ObjectKey::new(namespace, name));
    Some(AwaitedVolume {
        volume: VolumeName::new(stored.name.as_deref()?),
        ids: stored.ids.iter().cloned().collect(),
        pod: stored.pod.as_ref().and_then(key),
        since: stored.since.as_ref()?.0,
        grace: SignedDuration::from_secs(stored.grace_seconds.unwrap_or_default().max(0)),
        detached: stored.detached.as_ref().map(|time| time.0),
    })
}

/// The memory as it is stored. Times are whole seconds there.
pub(super) fn drain_status(memory: &DrainMemory, reported_at: Option<Timestamp>) -> DrainStatus {
    let one = |volume: &AwaitedVolume| Stored {
        name: Some(volume.volume.as_str().to_owned()),
        ids: volume.ids.iter().cloned().collect(),
        pod: volume.pod.as_ref().map(ToString::to_string),
        since: Some(value::time(volume.since)),
        grace_seconds: Some(volume.grace.as_secs()),
        detached: volume.detached.map(value::time),
    };
    DrainStatus {
        reported_at: reported_at.map(value::time),
        volumes: memory.volumes.iter().map(one).collect(),
    }
}
