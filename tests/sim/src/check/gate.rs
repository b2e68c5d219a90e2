//! Forbidden actions while an API server is away.

use jiff::{SignedDuration, Timestamp};
use memory_api::Change;

use super::facts::{Facts, text};
use crate::names::to_target;

/// From the moment when an API server is away until the gate must be closed: the period of the check, its time-out, and
/// one more round because calls in flight may take so long.
const CLOSES_AFTER: SignedDuration = SignedDuration::from_mins(4);

/// A call that creates, deletes or reboots a VM without a request.
pub(super) fn of_action(facts: &Facts, actor: &str, action: &str, now: Timestamp) -> Option<String> {
    let since = facts.cut_off.get(actor).or_else(|| facts.cut_off.get(&to_target(actor)))?;
    let away_for = now.duration_since(*since);
    (away_for > CLOSES_AFTER)
        .then(|| format!("{actor} {action} although the API server has been away for {away_for:#}"))
}

/// A Machine that a host fails or deletes.
pub(super) fn of_machine(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let name = text(change.new.or(change.old), "/metadata/name");
    let has_failed = |object| text(object, "/status/currentStatus/phase") == "Failed";
    let is_going = |object| !text(object, "/metadata/deletionTimestamp").is_empty();
    if has_failed(change.new) && !has_failed(change.old) {
        return of_action(facts, change.actor, &format!("fails Machine {name}"), now);
    }
    // Machines go with their set while only the cluster of their Nodes is away.
    let goes_with_set = || {
        let uid = text(change.new, "/metadata/uid");
        let is_asked = facts.machines.get(uid).is_some_and(|machine| facts.owners.is_going(&machine.set));
        !facts.cut_off.contains_key(change.actor) && is_asked
    };
    if is_going(change.new) && !is_going(change.old) && !goes_with_set() {
        return of_action(facts, change.actor, &format!("deletes Machine {name}"), now);
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const HOST: &str = "host-0";

    fn machine(phase: &str, is_going: bool) -> Value {
        let deletion = is_going.then_some("2026-01-01T00:00:00Z");
        json!({
            "metadata": { "name": "m", "deletionTimestamp": deletion },
            "status": { "currentStatus": { "phase": phase } },
        })
    }

    /// Returns the complaint about this change, some minutes after the way to the cluster of the Nodes was cut.
    fn after(minutes: i64, old: &Value, new: &Value) -> Option<String> {
        let cut = Timestamp::UNIX_EPOCH;
        let mut facts = Facts::default();
        facts.cut_off.insert(to_target(HOST), cut);
        let change =
            Change { actor: HOST, is_eviction: false, plural: "machines", old: Some(old), new: Some(new) };
        of_machine(&facts, &change, cut + SignedDuration::from_mins(minutes))
    }

    #[test]
    fn a_machine_is_neither_failed_nor_deleted_behind_a_closed_gate() {
        let (unknown, failed, going) =
            (machine("Unknown", false), machine("Failed", false), machine("Unknown", true));
        assert!(after(5, &unknown, &failed).unwrap().contains("fails Machine m"));
        assert!(after(5, &unknown, &going).unwrap().contains("deletes Machine m"));
        for [old, new] in [[&unknown, &unknown], [&failed, &failed], [&going, &going], [&failed, &unknown]] {
            assert_eq!(after(5, old, new), None);
        }
        assert_eq!(after(3, &unknown, &failed), None, "it may not have closed yet");
    }
}
