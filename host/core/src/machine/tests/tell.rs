//! Effects and conclusions as text.

use crate::drain;
use crate::machine::node::sync::NodeChange;
use crate::machine::{Conclusion, Effect, Outcome, StatusChange, Wake};
use crate::safety::meltdown::Question;
use crate::value::duration;

/// The name of the effect that an outcome is of.
pub(super) fn effect_of(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Claim(_) => "claim",
        Outcome::EnsureToken(_) => "ensure-token",
        Outcome::NoteIntent(_) => "note-intent",
        Outcome::CloseIntent(_) => "close-intent",
        Outcome::ProbeVm(_) => "probe-vm",
        Outcome::CreateVm(_) => "create-vm",
        Outcome::InitializeVm(_) => "initialize-vm",
        Outcome::RecordVm(_) => "record-vm",
        Outcome::SyncNode(_) => "sync-node",
        Outcome::ForgetToken(_) => "forget-token",
        Outcome::DeleteVm(_) => "delete-vm",
        Outcome::DeleteNode(_) => "delete-node",
        Outcome::ReleaseFinalizer(_) => "release-finalizer",
        Outcome::WriteMachine(_) => "write-machine",
        Outcome::DeleteMachine(_) => "delete-machine",
        Outcome::Cordon(_) => "cordon",
        Outcome::SetNodeCondition(_) => "set-node-condition",
        Outcome::NoteHooks(_) => "note-hooks",
        Outcome::AskPermit(_) => "ask-permit",
        Outcome::ExtendToken(_) => "extend-token",
        Outcome::WriteCapacity(_) => "write-capacity",
        Outcome::Drain(drain::Outcome::Pods(_)) => "look-at-pods",
        Outcome::Drain(drain::Outcome::Evict { .. }) => "evict",
        Outcome::Drain(drain::Outcome::DeletePod { .. }) => "delete-pod",
        Outcome::Drain(drain::Outcome::DeleteAttachment { .. }) => "delete-attachment",
        Outcome::AskPolicies(_) => "ask-policies",
        Outcome::NoteReboot(_) => "note-reboot",
        Outcome::RebootVm(_) => "reboot-vm",
    }
}

pub(super) fn effect_text(effect: &Effect) -> String {
    let name = effect.name();
    match effect {
        Effect::RecordVm { provider_id, node_name: Some(node), .. } => format!("{name} {provider_id} {node}"),
        Effect::RecordVm { provider_id, node_name: None, .. } => format!("{name} {provider_id}"),
        Effect::SyncNode { node, change } => format!("{name} {node}{}", change_text(change)),
        Effect::DeleteNode { node, uid } => format!("{name} {node} {uid}"),
        Effect::Claim
        | Effect::EnsureToken
        | Effect::NoteIntent
        | Effect::CloseIntent
        | Effect::ProbeVm
        | Effect::CreateVm
        | Effect::InitializeVm
        | Effect::ForgetToken
        | Effect::DeleteVm
        | Effect::ReleaseFinalizer
        | Effect::DeleteMachine
        | Effect::NoteHooks
        | Effect::AskPolicies
        | Effect::RebootVm => name.to_owned(),
        Effect::NoteReboot(reboots) => format!("{name} {} in all", reboots.times().len()),
        Effect::Drain(drain::Effect::LookAtPods { node, .. }) => format!("{name} {node}"),
        Effect::Drain(drain::Effect::Evict(pod) | drain::Effect::DeletePod(pod)) => format!("{name} {pod}"),
        Effect::Drain(drain::Effect::DeleteAttachment { name: attachment, .. }) => {
            format!("{name} {attachment}")
        }
        Effect::WriteMachine(change) => {
            let mut text = name.to_owned();
            for (key, value) in change.labels.iter().chain(&change.annotations) {
                text.push_str(&format!(" {key}={}", value.as_deref().unwrap_or("(none)")));
            }
            text
        }
        Effect::Cordon { node } => format!("{name} {node}"),
        Effect::AskPermit(Question::Turn(limit)) => format!("{name} {limit}"),
        Effect::AskPermit(Question::ZoneOnly) => format!("{name} of the zone"),
        Effect::AskPermit(Question::NameTaken) => format!("{name} of the name"),
        Effect::ExtendToken { until } => format!("{name} {until}"),
        Effect::WriteCapacity { node, resources } => {
            let mut text = format!("{name} {node}");
            for (key, value) in resources {
                text.push_str(&format!(" {key}={}", value.as_deref().unwrap_or("(none)")));
            }
            text
        }
        Effect::SetNodeCondition { node, condition } => {
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

pub(super) fn conclusion_text(conclusion: &Conclusion) -> String {
    let Conclusion { status, reason, message, wake } = conclusion;
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

fn wake_text(wake: Wake) -> String {
    match wake {
        Wake::Resync => "again at the next resync".into(),
        Wake::Now => "again at once".into(),
        Wake::After(after) => format!("again after {}", duration::format(after)),
        Wake::Look(after) => format!("looks after {}", duration::format(after)),
        Wake::Retry { policy, hint } => {
            let hint = hint.map(|hint| format!(", not before {}", duration::format(hint)));
            let (base, cap) = (duration::format(policy.base), duration::format(policy.cap));
            format!("retry from {base} to {cap}{}", hint.unwrap_or_default())
        }
        Wake::Gone => "never again".into(),
    }
}
