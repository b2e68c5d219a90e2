//! From facts to an explanation. Pure.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use machinist_api::Machine;
use machinist_core::value::same_vm::SameVm;

use super::gather::MachineFacts;
use super::next::next;
use crate::explain::explanation::{Awaited, ConditionLine, Explanation, Link, LinkState};
use crate::explain::links;
use crate::explain::read::Lookup;

pub(in crate::explain) fn explain(facts: &MachineFacts, now: Timestamp) -> Explanation {
    let machine = &facts.machine;
    let status = machine.status.clone().unwrap_or_default();
    let conditions = ConditionLine::of(&status.machinist.clone().unwrap_or_default().conditions);
    let uid = machine.metadata.uid.as_deref().unwrap_or_default();
    let about = Explanation::about("Machine", &machine.metadata, &facts.leader, uid);
    let remembered = about.queue.as_ref().and_then(|queue| queue.ready.clone());
    let remembered = remembered.filter(|_| conditions.is_empty()).map(|ready| ConditionLine {
        kind: "Ready".to_owned(),
        status: ready.status,
        reason: ready.reason,
        message: ready.message,
        since: ready.since,
    });
    let is_from_memory = remembered.is_some();
    let ready = conditions.iter().find(|line| line.kind == "Ready").or(remembered.as_ref());
    let awaited: Option<Awaited> = ready.filter(|line| line.status != "True").map(ConditionLine::awaited);
    let word = machine.phase().as_str().to_owned();
    let next = next(
        machine,
        &facts.node,
        awaited.as_ref().map_or("", |awaited| awaited.reason.as_str()),
        about.queue.as_ref(),
        now,
    );
    let is_written = is_from_memory || !conditions.is_empty();
    Explanation {
        state: if word.is_empty() { "Creating".to_owned() } else { word },
        state_since: status.current_status.last_update_time.as_ref().map(|time| time.0).or(about.created),
        awaited,
        is_from_memory,
        unwritten: (!is_written)
            .then(|| "none has looked at it, or the CRDs have no status.machinist".to_owned()),
        next,
        chain: chain(facts),
        last_operation: last_operation(machine),
        conditions,
        ..about
    }
}

fn chain(facts: &MachineFacts) -> Vec<Link> {
    let class = links::class(&facts.class, "the Machine names none: set spec.class.name");
    let vm = match facts.machine.provider_id() {
        Some(id) => Link::new("VM", LinkState::Good, id),
        None => Link::new("VM", LinkState::Absent, "none is recorded on the Machine"),
    };
    vec![class, links::driver(&facts.plugin), vm, node(&facts.machine, &facts.node)]
}

fn node(machine: &Machine, node: &Lookup<Node>) -> Link {
    let link = |state, says: String| Link::new("Node", state, says);
    match node {
        Lookup::NotNamed => link(
            LinkState::Absent,
            "none is named by the Machine's label `node`, or there is no target cluster".into(),
        ),
        Lookup::Missing(name) => link(LinkState::Absent, format!("{name} is not there")),
        Lookup::Unreadable(why) => link(LinkState::Unknown, why.clone()),
        Lookup::Found(node) => {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let of_node = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
            if SameVm::of_texts(of_node, machine.provider_id().unwrap_or_default()) == SameVm::Different {
                return link(LinkState::Bad, format!("{name} belongs to another VM: {of_node}"));
            }
            let conditions =
                node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
            match ready {
                Some(ready) if ready.status == "True" => link(LinkState::Good, format!("{name} is Ready")),
                Some(ready) => {
                    let why = ready.message.as_deref().unwrap_or_default();
                    link(LinkState::Bad, format!("{name} has Ready={}: {why}", ready.status))
                }
                None => link(LinkState::Bad, format!("{name} has no condition Ready")),
            }
        }
    }
}

fn last_operation(machine: &Machine) -> Option<String> {
    let last = &machine.status.as_ref()?.last_operation;
    let kind = last.type_.as_ref().map(|word| word.as_str().to_owned())?;
    let state = last.state.as_ref().map(|word| word.as_str().to_owned()).unwrap_or_default();
    let code = last.error_code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
    let at = last.last_update_time.as_ref().map(|time| format!(" at {:.0}", time.0)).unwrap_or_default();
    Some(format!("{kind} {state}{at}{code}: {}", last.description.as_deref().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use machinist_runtime::machine_query::{MachineDetails, ReadyCondition};
    use serde_json::{Value, json};

    use super::*;
    use crate::explain::print;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn explained(
        mut machine: Value,
        node: Lookup<Node>,
        leader: Result<(String, MachineDetails), String>,
    ) -> Explanation {
        machine["metadata"]["name"] = json!("m");
        machine["metadata"]["namespace"] = json!("n");
        machine["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        let class =
            serde_json::from_value(json!({ "metadata": { "name": "small" }, "provider": "sim" })).unwrap();
        let facts = MachineFacts {
            machine: serde_json::from_value(machine).unwrap(),
            class: Lookup::Found(class),
            node,
            plugin: Lookup::Missing("sim".into()),
            leader,
        };
        explain(&facts, at("2026-01-01T00:05:00Z"))
    }

    fn insight() -> MachineDetails {
        serde_json::from_value(json!({
            "now": "2026-01-01T00:05:00Z", "leads": true, "synced": true, "known": true, "passRuns": false,
            "nextPass": "2026-01-01T00:06:30Z", "awaitsOwnWrites": false, "failures": 2, "frozen": null,
            "timeouts": { "creation": "20m0s", "health": "10m0s", "drain": "2h0m0s" }, "calls": [],
        }))
        .unwrap()
    }

    fn pending() -> Value {
        json!({
            "metadata": { "labels": { "node": "n1" } },
            "spec": { "providerID": "sim:///a" },
            "status": {
                "currentStatus": { "phase": "Pending", "lastUpdateTime": "2026-01-01T00:01:00Z" },
                "machinist": { "conditions": [{
                    "type": "Ready", "status": "False", "reason": "WaitingForNode", "message": "n1 has not joined yet",
                    "lastTransitionTime": "2026-01-01T00:01:00Z",
                }] },
            },
        })
    }

    #[test]
    fn an_awaited_condition_has_its_time_and_the_next_step_its_latest_time() {
        let explanation = explained(pending(), Lookup::Missing("n1".into()), Ok(("pod a".into(), insight())));
        let awaited = explanation.awaited.as_ref().unwrap();
        assert_eq!((awaited.reason.as_str(), awaited.since), ("WaitingForNode", at("2026-01-01T00:01:00Z")));
        assert_eq!(
            explanation.next,
            [
                "the host looks again in 1m30s (2 passes failed in a row), or when something changes",
                "Running, when Node n1 is Ready; Failed at 2026-01-01T00:20:00Z",
            ]
        );
        let states: Vec<LinkState> = explanation.chain.iter().map(|link| link.state).collect();
        assert_eq!(states, [LinkState::Good, LinkState::Bad, LinkState::Good, LinkState::Absent]);
        let text = print::text(&explanation, at("2026-01-01T00:05:00Z"));
        assert!(text.contains("Awaited:   WaitingForNode, since 2026-01-01T00:01:00Z (4m0s ago)"), "{text}");
    }

    #[test]
    fn where_the_crds_keep_no_conditions_the_leader_says_what_is_awaited() {
        let mut machine = pending();
        machine["status"]["machinist"] = Value::Null;
        let (status, since) = ("False".to_owned(), at("2026-01-01T00:02:00Z"));
        let (reason, message) = ("WaitingForNode".to_owned(), "n1 has not joined yet".to_owned());
        let said = ReadyCondition { status, reason, message, since };
        let leader = Ok(("pod a".into(), MachineDetails { ready: Some(said.clone()), ..insight() }));
        let explanation = explained(machine.clone(), Lookup::Missing("n1".into()), leader);
        assert_eq!(
            explanation.awaited.as_ref().map(|awaited| awaited.reason.as_str()),
            Some("WaitingForNode")
        );
        let text = print::text(&explanation, at("2026-01-01T00:05:00Z"));
        assert!(text.contains("Awaited:   WaitingForNode, since 2026-01-01T00:02:00Z (3m0s ago)"), "{text}");
        assert!(text.contains("from the memory of pod a"), "{text}");

        let healthy = ReadyCondition { status: "True".into(), ..said };
        let leader = Ok(("pod a".into(), MachineDetails { ready: Some(healthy), ..insight() }));
        let explanation = explained(machine, Lookup::Missing("n1".into()), leader);
        let text = print::text(&explanation, at("2026-01-01T00:05:00Z"));
        assert!(text.contains("Awaited:   nothing"), "{text}");
    }

    #[test]
    fn without_the_leader_the_rest_is_shown_with_the_reason() {
        let explanation =
            explained(pending(), Lookup::Missing("n1".into()), Err("pod n/a cannot be asked".into()));
        assert_eq!(
            explanation.next,
            [
                "Running, when Node n1 is Ready; Failed after the time-out of the host's flag --machine-creation-timeout"
            ]
        );
        let text = print::text(&explanation, at("2026-01-01T00:05:00Z"));
        assert!(text.contains("not known: pod n/a cannot be asked"), "{text}");
    }

    #[test]
    fn no_failure_is_announced_that_a_policy_or_a_limit_holds() {
        for (reason, expected) in [
            ("NodeUnhealthy", "Failed at 2026-01-01T00:11:00Z"),
            ("ZoneHeld", "nothing is done to it before what is awaited has come"),
            ("RebootHeld", "nothing is done to it before what is awaited has come"),
            ("VmRebooted", "it does not fail before the policies have it replaced"),
        ] {
            let mut machine = pending();
            machine["status"]["currentStatus"]["phase"] = json!("Unknown");
            machine["status"]["machinist"]["conditions"][0]["reason"] = json!(reason);
            let explanation =
                explained(machine, Lookup::Missing("n1".into()), Ok(("pod a".into(), insight())));
            let next = explanation.next.last().unwrap();
            assert_eq!(*next, format!("Running, when Node n1 is healthy; {expected}"));
        }
    }

    #[test]
    fn a_deletion_lists_what_is_left_and_whose_finalizers_remain() {
        let machine = json!({
            "metadata": {
                "deletionTimestamp": "2026-01-01T00:04:00Z",
                "labels": { "node": "n1" },
                "finalizers": ["machine.sapcloud.io/machine-controller-manager", "example.com/mine"],
            },
            "spec": { "providerID": "sim:///a" },
        });
        let node = serde_json::from_value(json!({ "metadata": { "name": "n1" } })).unwrap();
        let explanation = explained(machine, Lookup::Found(node), Ok(("pod a".into(), insight())));
        let next = explanation.next.join("\n");
        for part in [
            "forced at 2026-01-01T02:04:00Z", "VM sim:///a is deleted", "Node n1 is deleted",
            "example.com/mine",
        ] {
            assert!(next.contains(part), "{part} is missing in\n{next}");
        }
    }

    #[test]
    fn a_node_of_another_vm_is_wrong_however_ready_it_is() {
        let node = serde_json::from_value(json!({
            "metadata": { "name": "n1" }, "spec": { "providerID": "sim:///b" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        }))
        .unwrap();
        let explanation = explained(pending(), Lookup::Found(node), Err("nobody leads".into()));
        let node = explanation.chain.last().unwrap();
        assert_eq!(node.state, LinkState::Bad);
        assert!(node.says.contains("belongs to another VM: sim:///b"), "{}", node.says);
    }

    #[test]
    fn a_node_that_writes_the_id_of_its_vm_in_another_form_is_as_good() {
        let node = serde_json::from_value(json!({
            "metadata": { "name": "n1" }, "spec": { "providerID": "sim://zone-1/a" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        }))
        .unwrap();
        let explanation = explained(pending(), Lookup::Found(node), Err("nobody leads".into()));
        assert_eq!(explanation.chain.last().unwrap().state, LinkState::Good);
    }
}
