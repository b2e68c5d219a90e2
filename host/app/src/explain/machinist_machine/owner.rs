//! Cluster API's core, which owns the Machine of a MachinistMachine. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::infrastructure::core_kinds::{CoreMachine, annotations};

use crate::explain::explanation::{Link, LinkState};
use crate::explain::read::Lookup;

/// How far core is with the deletion of a Machine. It deletes the MachinistMachine only when the Node is drained.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CoreStage {
    /// Nobody deletes the Machine.
    Stays,
    /// Others hold the drain by these annotations.
    PreDrainHooks(Vec<String>),
    /// The Node's pods are leaving, as the message says.
    Draining { since: Option<Timestamp>, message: String },
    /// Volumes of the Node are being detached.
    Detaching { since: Option<Timestamp>, message: String },
    /// Others hold the deletion of the VM by these annotations.
    PreTerminateHooks(Vec<String>),
    /// Core waits for the end of the MachinistMachine.
    AwaitsVm,
    /// The words of core.
    Other { reason: String, message: String },
    /// Core has said nothing about it.
    Begins,
}

/// Returns how far core is, by its condition Deleting.
pub(super) fn stage(machine: &CoreMachine) -> CoreStage {
    if machine.metadata.deletion_timestamp.is_none() {
        return CoreStage::Stays;
    }
    let hooks = |prefix| -> Vec<String> { machine.hooks(prefix).into_iter().map(str::to_owned).collect() };
    let (drain, terminate) = (hooks(annotations::PRE_DRAIN_HOOK), hooks(annotations::PRE_TERMINATE_HOOK));
    let Some(deleting) = condition(machine, "Deleting").filter(|deleting| deleting.status == "True") else {
        return if drain.is_empty() { CoreStage::Begins } else { CoreStage::PreDrainHooks(drain) };
    };
    let deletion = &machine.status.deletion;
    let message = deleting.message.split_whitespace().collect::<Vec<_>>().join(" ");
    match deleting.reason.as_str() {
        "WaitingForPreDrainHook" => CoreStage::PreDrainHooks(drain),
        "DrainingNode" => {
            let since = deletion.node_drain_start_time.as_ref().map(|time| time.0);
            CoreStage::Draining { since, message }
        }
        "WaitingForVolumeDetach" => {
            let since = deletion.wait_for_node_volume_detach_start_time.as_ref().map(|time| time.0);
            CoreStage::Detaching { since, message }
        }
        "WaitingForPreTerminateHook" => CoreStage::PreTerminateHooks(terminate),
        "WaitingForInfrastructureDeletion" => CoreStage::AwaitsVm,
        reason => CoreStage::Other { reason: reason.to_owned(), message },
    }
}

impl CoreStage {
    /// Returns what core does, in words. `None` if it deletes nothing.
    pub(super) fn sentence(&self) -> Option<String> {
        let since =
            |since: &Option<Timestamp>| since.map(|since| format!(" since {since:.0}")).unwrap_or_default();
        let after = |message: &str| if message.is_empty() { String::new() } else { format!(": {message}") };
        Some(match self {
            Self::Stays => return None,
            Self::PreDrainHooks(hooks) => {
                format!("Cluster API's core drains its Node when others have taken these annotations off the Machine: {}", list(hooks))
            }
            Self::Draining { since: begun, message } => {
                format!("Cluster API's core drains its Node{}{}", since(begun), after(message))
            }
            Self::Detaching { since: begun, message } => {
                format!("Cluster API's core waits for the volumes of its Node{}{}", since(begun), after(message))
            }
            Self::PreTerminateHooks(hooks) => {
                format!("Cluster API's core goes on when others have taken these annotations off the Machine: {}", list(hooks))
            }
            Self::AwaitsVm => "Cluster API's core waits until this MachinistMachine is gone".to_owned(),
            Self::Other { reason, message } => format!("Cluster API's core says {reason}{}", after(message)),
            Self::Begins => "Cluster API's core has not begun with it: `kubectl get machines.cluster.x-k8s.io` and its log say why".to_owned(),
        })
    }
}

fn list(hooks: &[String]) -> String {
    if hooks.is_empty() { "none is there any more".to_owned() } else { hooks.join(", ") }
}

fn condition<'a>(machine: &'a CoreMachine, kind: &str) -> Option<&'a Condition> {
    machine.status.conditions.iter().find(|condition| condition.type_ == kind)
}

/// The Machine of Cluster API, as a part of the chain. `bootstrap`: its Secret, as long as that is needed.
pub(super) fn link(owner: &Lookup<CoreMachine>, bootstrap: &Lookup<()>, has_vm: bool) -> Link {
    let link = |state, says: String| Link::new("Machine", state, says);
    let machine = match owner {
        Lookup::NotNamed => return link(LinkState::Bad, "no Machine of Cluster API owns it".into()),
        Lookup::Missing(name) => {
            return link(LinkState::Bad, format!("{name}, which owned it, is not there"));
        }
        Lookup::Unreadable(why) => return link(LinkState::Unknown, why.clone()),
        Lookup::Found(machine) => machine,
    };
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    let phase = match machine.status.phase.as_str() {
        "" => "without a phase",
        phase => phase,
    };
    let text = |rest: &str| format!("{name} is {phase}{rest}");
    if let Some(sentence) = stage(machine).sentence() {
        return link(LinkState::Absent, text(&format!("; {sentence}")));
    }
    if has_vm {
        return link(LinkState::Good, text(""));
    }
    match bootstrap {
        Lookup::NotNamed => {
            let why = condition(machine, "BootstrapConfigReady").filter(|ready| ready.status != "True");
            let why = why.map(|ready| format!(": {}: {}", ready.reason, ready.message)).unwrap_or_default();
            link(LinkState::Absent, text(&format!(", and its bootstrap provider has made no data yet{why}")))
        }
        Lookup::Missing(secret) => link(
            LinkState::Bad,
            text(&format!(", and Secret {secret} with its bootstrap data does not exist")),
        ),
        Lookup::Unreadable(why) => link(
            LinkState::Unknown,
            text(&format!("; whether its bootstrap data is there is not known: {why}")),
        ),
        Lookup::Found(()) => link(LinkState::Good, text(", and its bootstrap data is there")),
    }
}

/// The Node, as core sees it: this program has no access to workload clusters.
pub(super) fn node(owner: Option<&CoreMachine>) -> Link {
    let link = |state, says: String| Link::new("Node", state, says);
    let Some(machine) = owner else {
        return link(LinkState::Unknown, "only Cluster API's core knows it, by its Machine".into());
    };
    let name = machine.status.node_ref.name.as_str();
    if name.is_empty() {
        return link(LinkState::Absent, "none has joined, as far as Cluster API's core knows".into());
    }
    match condition(machine, "NodeHealthy").filter(|healthy| healthy.status != "True") {
        None => link(LinkState::Good, format!("{name} has joined")),
        Some(ill) => {
            let state = if ill.status == "False" { LinkState::Bad } else { LinkState::Unknown };
            link(state, format!("{name} has NodeHealthy={} {}: {}", ill.status, ill.reason, ill.message))
        }
    }
}
