//! The next steps of a Machine, with their latest times. Pure.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use machinist_api::{Machine, names};
use machinist_core::machine::MachineReason;
use machinist_core::safety::thaw;
use machinist_core::value::duration;
use machinist_core::value::phase::Phase;
use machinist_runtime::machine_query::MachineDetails;

use crate::explain::read::Lookup;
use crate::explain::turn::{count, turn};

/// Returns the next steps in order, with the times that are known. `awaited`: the reason of its condition Ready.
pub(super) fn next(
    machine: &Machine,
    node: &Lookup<Node>,
    awaited: &str,
    insight: Option<&MachineDetails>,
    now: Timestamp,
) -> Vec<String> {
    let mut next = Vec::new();
    if let Some(insight) = insight {
        next.extend(turn(insight, now));
    }
    let own = machine.status.as_ref().and_then(|status| status.machinist.clone()).unwrap_or_default();
    if let (Some(at), None) = (own.next_attempt, insight) {
        let attempts = own.attempts.unwrap_or_default();
        next.push(format!("{} failed, the next attempt is at {:.0}", count(attempts, "attempt"), at.0));
    }
    let limits = Limits::of(machine, insight);
    if machine.metadata.deletion_timestamp.is_some() {
        next.extend(deletion(machine, node, &limits));
        return next;
    }
    let node = match node {
        Lookup::Found(_) | Lookup::Missing(_) | Lookup::Unreadable(_) => {
            let labels = machine.metadata.labels.as_ref();
            format!(
                "Node {}",
                labels.and_then(|labels| labels.get(names::labels::NODE)).map_or("", String::as_str)
            )
        }
        Lookup::NotNamed => "its Node".to_owned(),
    };
    let Some(phase) = machine.phase().known() else {
        next.push(
            "its phase is a word that nobody knows: the host takes it by its VM and Node, and writes one"
                .into(),
        );
        return next;
    };
    next.push(match phase {
        Phase::New => "Pending, as soon as the cloud has created the VM".to_owned(),
        Phase::CrashLoopBackOff => format!("Pending, when an attempt succeeds; Failed {}", limits.creation),
        Phase::Pending => format!("Running, when {node} is Ready; Failed {}", limits.creation),
        Phase::Available => "nothing: there is no target cluster, so no Node is awaited".to_owned(),
        Phase::Running => "nothing, while its Node is healthy; Unknown, when it is not".to_owned(),
        Phase::Unknown => format!("Running, when {node} is healthy; {}", unhealthy(awaited, &limits)),
        Phase::Failed => {
            "Running, if its Node becomes healthy; else it stays until its owner replaces it or it is deleted"
                .to_owned()
        }
        Phase::Terminating => {
            "its deletion was asked for and taken back; the host finds out by its VM and Node".to_owned()
        }
        Phase::InPlaceUpdating => {
            "InPlaceUpdateSuccessful or InPlaceUpdateFailed, as the label update-result of its Node says"
                .to_owned()
        }
        Phase::InPlaceUpdateSuccessful => format!("Running, when {node} is healthy; Unknown, when it is not"),
        Phase::InPlaceUpdateFailed => format!(
            "InPlaceUpdateSuccessful, if the label update-result of its Node says so after all; {}",
            limits.health
        ),
    });
    next
}

/// The next step of an Unknown Machine whose Node does not recover.
fn unhealthy(awaited: &str, limits: &Limits) -> String {
    let is = |reasons: &[MachineReason]| reasons.iter().any(|reason| reason.as_str() == awaited);
    if is(&[
        MachineReason::ZoneHeld,
        MachineReason::ReplacementHeld,
        MachineReason::RebootHeld,
        MachineReason::Frozen,
    ]) {
        return "nothing is done to it before what is awaited has come".to_owned();
    }
    if is(&[
        MachineReason::PolicyHolds,
        MachineReason::PolicyUnheard,
        MachineReason::VmRebooted,
        MachineReason::RebootFailed,
    ]) {
        return "it does not fail before the policies have it replaced".to_owned();
    }
    limits.health.clone()
}

/// The deadlines of a Machine, as parts of sentences.
struct Limits {
    creation: String,
    health: String,
    drain: String,
}

impl Limits {
    fn of(machine: &Machine, insight: Option<&MachineDetails>) -> Self {
        let timeouts = insight.and_then(|insight| insight.timeouts.as_ref());
        let parsed = |text: Option<&str>| text.and_then(|text| duration::parse(text).ok());
        let spec = &machine.spec;
        let creation = timeouts.map(|all| all.creation.as_str()).or(spec.creation_timeout.as_deref());
        let drain = timeouts.map(|all| all.drain.as_str()).or(spec.drain_timeout.as_deref());
        let created = machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let deleted = machine.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        let since =
            machine.status.as_ref().and_then(|status| status.current_status.last_update_time.as_ref());
        let never_fails = spec.disable_health_timeout == Some(true);
        let health = timeouts.map_or(spec.health_timeout.as_deref(), |all| all.health.as_deref());
        // A drain goes on through an outage, so its time does too.
        let drain = end(deleted, parsed(drain))
            .map_or_else(|| by_flag("--machine-drain-timeout"), |at| format!("at {at:.0}"));
        Self {
            creation: deadline(created, parsed(creation), insight, "--machine-creation-timeout"),
            health: if never_fails {
                "it is never failed for that (spec.disableHealthTimeout)".to_owned()
            } else {
                let at =
                    deadline(since.map(|time| time.0), parsed(health), insight, "--machine-health-timeout");
                format!("Failed {at}")
            },
            drain,
        }
    }
}

/// When a time-out ends that an outage of an API server gives back. Only the leader knows of one, and when it is over.
fn deadline(
    since: Option<Timestamp>,
    limit: Option<SignedDuration>,
    insight: Option<&MachineDetails>,
    flag: &str,
) -> String {
    let thawed_at = insight.and_then(|insight| insight.thawed_at);
    let at = end(since.map(|since| thaw::counts_from(since, thawed_at)), limit);
    match (at, insight) {
        (None, _) => by_flag(flag),
        (Some(at), Some(MachineDetails { frozen: None, .. })) => format!("at {at:.0}"),
        (Some(at), Some(_)) => format!("not before {at:.0}, and not while work is held"),
        (Some(at), None) => format!("not before {at:.0}"),
    }
}

fn end(since: Option<Timestamp>, limit: Option<SignedDuration>) -> Option<Timestamp> {
    since?.checked_add(limit?).ok()
}

fn by_flag(flag: &str) -> String {
    format!("after the time-out of the host's flag {flag}")
}

/// The remaining steps of a deletion.
fn deletion(machine: &Machine, node: &Lookup<Node>, limits: &Limits) -> Vec<String> {
    let mut next = Vec::new();
    let finalizers = machine.metadata.finalizers.clone().unwrap_or_default();
    if finalizers.iter().any(|name| name == names::finalizers::MACHINE) {
        if let Lookup::Found(node) = node {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            next.push(format!("Node {name} is drained; pods that do not leave are forced {}", limits.drain));
        }
        if let Some(id) = machine.provider_id() {
            next.push(format!("VM {id} is deleted, and a look must show that it is gone"));
        }
        if let Lookup::Found(node) = node {
            next.push(format!("Node {} is deleted", node.metadata.name.as_deref().unwrap_or_default()));
        }
        next.push("the finalizer is taken off".to_owned());
    }
    let foreign: Vec<&String> =
        finalizers.iter().filter(|name| *name != names::finalizers::MACHINE).collect();
    if foreign.is_empty() {
        next.push("the Machine is gone".to_owned());
    } else {
        let list = foreign.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        next.push(format!("then it stays until others take their finalizers off: {list}"));
    }
    next
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// The last sentence about a Machine that is in this phase since a minute after its creation.
    fn last_sentence(phase: &str, insight: Option<&MachineDetails>) -> String {
        let machine = json!({
            "metadata": { "name": "m", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": { "node": "n1" } },
            "spec": { "healthTimeout": "10m", "creationTimeout": "20m", "providerID": "sim:///a" },
            "status": { "currentStatus": { "phase": phase, "lastUpdateTime": "2026-01-01T00:01:00Z" } },
        });
        let machine: Machine = serde_json::from_value(machine).unwrap();
        next(&machine, &Lookup::Missing("n1".into()), "", insight, at("2026-01-01T00:05:00Z")).pop().unwrap()
    }

    fn insight(frozen: Option<&str>, thawed_at: Option<&str>) -> MachineDetails {
        serde_json::from_value(json!({
            "now": "2026-01-01T00:05:00Z", "leads": true, "synced": true, "known": true, "passRuns": false,
            "nextPass": "2026-01-01T00:06:30Z", "awaitsOwnWrites": false, "failures": 0, "frozen": frozen,
            "thawedAt": thawed_at, "timeouts": { "creation": "20m0s", "health": "10m0s", "drain": "2h0m0s" },
            "calls": [],
        }))
        .unwrap()
    }

    #[test]
    fn an_outage_gives_its_time_back_to_creation_and_health() {
        let (before, after) = (insight(None, None), insight(None, Some("2026-01-01T00:04:00Z")));
        assert!(last_sentence("Unknown", Some(&before)).ends_with("Failed at 2026-01-01T00:11:00Z"));
        assert!(last_sentence("Unknown", Some(&after)).ends_with("Failed at 2026-01-01T00:14:00Z"));
        assert!(last_sentence("Pending", Some(&before)).ends_with("Failed at 2026-01-01T00:20:00Z"));
        assert!(last_sentence("Pending", Some(&after)).ends_with("Failed at 2026-01-01T00:24:00Z"));
        let early = insight(None, Some("2025-12-31T00:00:00Z"));
        assert!(
            last_sentence("Unknown", Some(&early)).ends_with("Failed at 2026-01-01T00:11:00Z"),
            "long over"
        );
    }

    #[test]
    fn a_time_that_an_outage_may_move_is_said_to_be_the_earliest() {
        assert!(last_sentence("Unknown", None).ends_with("Failed not before 2026-01-01T00:11:00Z"));
        let held = insight(Some("ControlClusterUnreachable"), None);
        let last_sentence = last_sentence("Unknown", Some(&held));
        assert!(
            last_sentence.ends_with("not before 2026-01-01T00:11:00Z, and not while work is held"),
            "{last_sentence}"
        );
    }

    #[test]
    fn an_update_in_place_ends_by_the_health_of_its_node_or_by_time() {
        let insight = insight(None, None);
        assert_eq!(
            last_sentence("InPlaceUpdateSuccessful", Some(&insight)),
            "Running, when Node n1 is healthy; Unknown, when it is not"
        );
        assert_eq!(
            last_sentence("InPlaceUpdateFailed", Some(&insight)),
            "InPlaceUpdateSuccessful, if the label update-result of its Node says so after all; Failed at \
             2026-01-01T00:11:00Z"
        );
    }
}
