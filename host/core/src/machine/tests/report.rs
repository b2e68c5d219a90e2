//! Effects and conclusions as text.

use crate::drain;
use crate::machine::node::sync::NodeChange;
use crate::machine::{MachineConclusion, MachineEffect, Requeue, StatusChange};
use crate::safety::meltdown::PermitRequest;
use crate::value::duration;

pub(super) fn effect_text(effect: &MachineEffect) -> String {
    let name = effect.name();
    match effect {
        MachineEffect::RecordVm { provider_id, node_name: Some(node), .. } => {
            format!("{name} {provider_id} {node}")
        }
        MachineEffect::RecordVm { provider_id, node_name: None, .. } => format!("{name} {provider_id}"),
        MachineEffect::SyncNode { node, change } => format!("{name} {node}{}", change_text(change)),
        MachineEffect::DeleteNode { node, uid } => format!("{name} {node} {uid}"),
        MachineEffect::AddFinalizer
        | MachineEffect::EnsureToken
        | MachineEffect::NoteIntent
        | MachineEffect::CloseIntent
        | MachineEffect::ProbeVm
        | MachineEffect::CreateVm
        | MachineEffect::InitializeVm
        | MachineEffect::ForgetToken
        | MachineEffect::DeleteVm
        | MachineEffect::ReleaseFinalizer
        | MachineEffect::DeleteMachine
        | MachineEffect::NoteHooks
        | MachineEffect::AskInterruptible
        | MachineEffect::AskPolicies
        | MachineEffect::RebootVm => name.to_owned(),
        MachineEffect::NoteReboot(reboots) => format!("{name} {} in all", reboots.times().len()),
        MachineEffect::Drain(drain::DrainEffect::ListPods { node, .. }) => format!("{name} {node}"),
        MachineEffect::Drain(drain::DrainEffect::Evict(pod) | drain::DrainEffect::DeletePod(pod)) => {
            format!("{name} {pod}")
        }
        MachineEffect::Drain(drain::DrainEffect::DeleteAttachment { name: attachment, .. }) => {
            format!("{name} {attachment}")
        }
        MachineEffect::WriteMachine(change) => {
            let mut text = name.to_owned();
            for (key, value) in change.labels.iter().chain(&change.annotations) {
                text.push_str(&format!(" {key}={}", value.as_deref().unwrap_or("(none)")));
            }
            text
        }
        MachineEffect::Cordon { node } => format!("{name} {node}"),
        MachineEffect::PlaceVm { failure_domain } => format!("{name} {failure_domain}"),
        MachineEffect::NameNode(vm) => format!("{name} {}", vm.provider_id),
        MachineEffect::AskPermit(PermitRequest::Turn(limit)) => format!("{name} {limit}"),
        MachineEffect::AskPermit(PermitRequest::ZoneOnly) => format!("{name} of the zone"),
        MachineEffect::AskPermit(PermitRequest::NameTaken) => format!("{name} of the name"),
        MachineEffect::ExtendToken { until } => format!("{name} {until}"),
        MachineEffect::WriteCapacity { node, resources } => {
            let mut text = format!("{name} {node}");
            for (key, value) in resources {
                text.push_str(&format!(" {key}={}", value.as_deref().unwrap_or("(none)")));
            }
            text
        }
        MachineEffect::SetNodeCondition { node, condition } => {
            format!("{name} {node} {}={} {}", condition.kind, condition.status, condition.reason)
        }
    }
}

fn change_text(change: &NodeChange) -> String {
    let mut text = String::new();
    for (key, value) in change.labels.iter().chain(&change.annotations) {
        text.push_str(&format!(" {key}={}", value.as_deref().unwrap_or("(none)")));
    }
    for taint in change.taints.iter().flatten() {
        text.push_str(&format!(" taint:{}", taint.key));
    }
    if change.taints.as_ref().is_some_and(Vec::is_empty) {
        text.push_str(" no-taints");
    }
    if change.last_applied.is_some() {
        text.push_str(" last-applied");
    }
    if change.takes_finalizer {
        text.push_str(" finalizer");
    }
    match &change.capacity_note {
        None => {}
        Some(None) => text.push_str(" capacity-note=(none)"),
        Some(Some(noted)) => {
            let noted: Vec<String> = noted.iter().map(|(key, value)| format!("{key}={value}")).collect();
            text.push_str(&format!(" capacity-note={}", noted.join(",")));
        }
    }
    text
}

pub(super) fn conclusion_text(conclusion: &MachineConclusion) -> String {
    let MachineConclusion { status, reason, message, wake } = conclusion;
    format!("{}: {message}\n{}{}\n", reason.as_str(), status_text(status), wake_text(*wake))
}

fn status_text(status: &StatusChange) -> String {
    let mut words = Vec::new();
    if let Some(phase) = status.phase {
        words.push(format!("phase {phase}"));
    }
    if let Some(is_active) = status.timeout_active {
        words.push(format!("timer {}", if is_active { "on" } else { "off" }));
    }
    if let Some(operation) = &status.operation {
        words.push(format!("{} {} {:?}", operation.kind, operation.state, operation.note));
        words.extend(operation.code.map(|code| format!("code {code}")));
    }
    if status.copies_conditions {
        words.push("conditions".into());
    }
    words.extend(status.last_known_state.as_ref().map(|state| format!("state {state}")));
    for address in status.addresses.iter().flatten() {
        words.push(format!("{} {}", address.kind, address.address));
    }
    words.extend(status.vm.as_ref().map(|vm| format!("VM {:?}", vm.state)));
    words.extend(status.failure_domain.as_ref().map(|domain| format!("in {domain}")));
    match status.preserve_until {
        None => {}
        Some(None) => words.push("preserved no more".into()),
        Some(Some(until)) => words.push(format!("preserved until {until}")),
    }
    for condition in &status.conditions {
        let kind = condition.kind.as_str();
        words.push(format!("{kind}={} {} ({})", condition.status, condition.reason, condition.message));
    }
    if words.is_empty() { String::new() } else { format!("status: {}\n", words.join(", ")) }
}

fn wake_text(wake: Requeue) -> String {
    match wake {
        Requeue::Resync => "again at the next resync".into(),
        Requeue::Now => "again at once".into(),
        Requeue::After(after) => format!("again after {}", duration::format(after)),
        Requeue::Check(after) => format!("looks after {}", duration::format(after)),
        Requeue::Retry { policy, hint } => {
            let hint = hint.map(|hint| format!(", not before {}", duration::format(hint)));
            let (base, cap) = (duration::format(policy.base), duration::format(policy.cap));
            format!("retry from {base} to {cap}{}", hint.unwrap_or_default())
        }
        Requeue::Gone => "never again".into(),
    }
}
