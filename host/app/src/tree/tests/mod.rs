//! Whole trees, from objects to lines.
//!
//! | module | what it shows |
//! | --- | --- |
//! | `cluster_api` | the kinds of Cluster API, beside those of machine-controller-manager |

mod cluster_api;

use expect_test::{Expect, expect};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::grow::grow;
use super::objects::{McmObjects, Objects};
use super::pick::{Subject, pick};
use super::print::text;
use crate::testing::merged;

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn owned_by(kind: &str, name: &str) -> Value {
    json!([{
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": kind, "name": name, "uid": name, "controller": true,
    }])
}

/// A deployment `workers` that wants so many of a class.
fn deployment(class: &str, wanted: i32, more: &Value) -> Value {
    let value = json!({
        "metadata": { "name": "workers", "uid": "workers", "generation": 3 },
        "spec": {
            "replicas": wanted, "strategy": { "type": "RollingUpdate" },
            "template": { "spec": { "class": { "kind": "MachineClass", "name": class } } },
        },
        "status": { "observedGeneration": 3 },
    });
    merged(value, more)
}

/// A set of it, called by its class.
fn set(class: &str, revision: i32, wanted: i32, more: &Value) -> Value {
    let value = json!({
        "metadata": {
            "name": class, "uid": class, "ownerReferences": owned_by("MachineDeployment", "workers"),
            "annotations": { "deployment.kubernetes.io/revision": revision.to_string() },
        },
        "spec": { "replicas": wanted, "template": { "spec": { "class": { "name": class } } } },
    });
    merged(value, more)
}

/// A Machine of a set.
fn machine(set: &str, number: usize, phase: &str, more: &Value) -> Value {
    let value = json!({
        "metadata": {
            "name": format!("{set}-{number}"), "ownerReferences": owned_by("MachineSet", set),
            "creationTimestamp": format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60),
        },
        "status": { "currentStatus": { "phase": phase, "lastUpdateTime": "2026-01-01T00:50:00Z" } },
    });
    merged(value, more)
}

fn running(set: &str, numbers: std::ops::Range<usize>) -> Vec<Value> {
    numbers.map(|number| machine(set, number, "Running", &json!({}))).collect()
}

fn why(reason: &str, message: &str) -> Value {
    json!({ "status": { "machinist": { "conditions": [{
        "type": "Ready", "status": "False", "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:58:00Z",
    }] } } })
}

fn objects(deployments: Vec<Value>, sets: Vec<Value>, machines: Vec<Value>) -> Objects {
    let (deployments, sets, machines) = (parsed(deployments), parsed(sets), parsed(machines));
    Objects { mcm: Some(McmObjects { deployments, sets, machines }), ..Objects::default() }
}

fn parsed<T: serde::de::DeserializeOwned>(values: Vec<Value>) -> Vec<T> {
    values.into_iter().map(|value| serde_json::from_value(value).unwrap()).collect()
}

#[track_caller]
fn check(objects: &Objects, expected: &Expect) {
    expected.assert_eq(&text(&grow(objects, "team"), now()));
}

#[test]
fn a_rollout_shows_both_sets_counts_equal_machines_and_gives_reasons_for_the_others() {
    let deployments = vec![deployment("large", 5, &why("WaitingForMachines", "waits for 1 Machines"))];
    let sets = vec![
        set("small", 3, 2, &json!({})),
        set("large", 4, 4, &why("WaitingForMachines", "3 of 4 Machines are available")),
        set("tiny", 1, 0, &json!({})),
        set("medium", 2, 0, &json!({})),
    ];
    let mut machines = running("large", 1..4);
    machines.push(machine("large", 4, "Pending", &why("WaitingForNode", "n4 has not\n joined yet")));
    machines.push(machine("small", 1, "Running", &json!({})));
    let going = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:59:30Z" } });
    machines.push(machine("small", 2, "Terminating", &merged(going, &why("Draining", "2 pods are left"))));
    check(
        &objects(deployments, sets, machines),
        &expect![[r#"
            machinedeployment/workers  rolling: 4 of 5 updated, 4 available, 6 there; revision 4; RollingUpdate
            │  WaitingForMachines (2m0s): waits for 1 Machines
            ├─ machineset/large  new  revision 4  class large  4 wanted, 3 available
            │  │  WaitingForMachines (2m0s): 3 of 4 Machines are available
            │  ├─ 3 × Running
            │  └─ machine/large-4  Pending 10m0s
            │        WaitingForNode (2m0s): n4 has not joined yet
            ├─ machineset/small  old  revision 3  class small  2 wanted, 1 available
            │  ├─ machine/small-1  Running 10m0s
            │  └─ machine/small-2  Terminating 30s
            │        Draining (2m0s): 2 pods are left
            └─ kept to return to: revision 2 (medium), revision 1 (tiny)
        "#]],
    );
}

#[test]
fn of_many_machines_with_a_reason_the_first_are_shown_and_the_others_counted() {
    let late = why("CreationFailed", "the cloud has no more");
    let machines = (1..100).map(|number| machine("large", number, "CrashLoopBackOff", &late)).collect();
    check(
        &objects(vec![deployment("large", 99, &json!({}))], vec![set("large", 1, 99, &json!({}))], machines),
        &expect![[r#"
            machinedeployment/workers  scaling: 99 of 99 updated, 0 available, 99 there; revision 1; RollingUpdate
            └─ machineset/large  new  revision 1  class large  99 wanted, 0 available
               ├─ machine/large-1  CrashLoopBackOff 10m0s
               │     CreationFailed (2m0s): the cloud has no more
               ├─ machine/large-2  CrashLoopBackOff 10m0s
               │     CreationFailed (2m0s): the cloud has no more
               ├─ machine/large-3  CrashLoopBackOff 10m0s
               │     CreationFailed (2m0s): the cloud has no more
               └─ and 96 more × CrashLoopBackOff: CreationFailed
        "#]],
    );
}

#[test]
fn running_machines_are_shown_too_when_they_are_preserved_marked_or_orphaned() {
    let kept = json!({ "status": { "currentStatus": { "preserveExpiryTime": "2026-01-03T00:00:00Z" } } });
    let marked = json!({ "metadata": { "annotations": { "machinepriority.machine.sapcloud.io": "1" } } });
    let gone = json!({ "metadata": { "ownerReferences": owned_by("MachineSet", "gone") } });
    let free = json!({ "metadata": { "ownerReferences": null } });
    let machines = vec![
        machine("large", 1, "Running", &kept),
        machine("large", 2, "Running", &marked),
        machine("large", 3, "Running", &gone),
        machine("large", 4, "", &free),
    ];
    let loose = json!({ "metadata": { "name": "loose", "uid": "loose", "ownerReferences": null } });
    let orphan = json!({
        "metadata": { "name": "orphan", "uid": "orphan", "ownerReferences": owned_by("MachineDeployment", "gone") },
    });
    let sets = vec![set("large", 1, 2, &json!({})), set("small", 1, 0, &orphan), set("small", 7, 3, &loose)];
    check(
        &objects(vec![deployment("large", 2, &json!({}))], sets, machines),
        &expect![[r#"
            machinedeployment/workers  complete: 2 of 2 updated, 2 available, 2 there; revision 1; RollingUpdate
            └─ machineset/large  new  revision 1  class large  2 wanted, 2 available
               ├─ machine/large-2  Running 10m0s
               │     goes first when its set gets smaller
               └─ machine/large-1  Running 10m0s
                     preserved until 2026-01-03T00:00:00Z

            machineset/loose  without a MachineDeployment  revision 7  class small  3 wanted, 0 available

            machineset/orphan  of MachineDeployment gone, which is not there  revision 1  class small  0 wanted, 0 available

            Machines without a MachineSet
            ├─ machine/large-4  Creating 10m0s
            └─ machine/large-3  Running 10m0s
                  of MachineSet gone, which is not there
        "#]],
    );
}

#[test]
fn the_head_of_a_tree_shows_the_state_of_the_rollout() {
    let state = |deployment: Value, machines: Vec<Value>| {
        let sets = vec![set("large", 4, 3, &json!({})), set("small", 3, 0, &json!({}))];
        let shown = text(&grow(&objects(vec![deployment], sets, machines), "team"), now());
        shown.lines().next().unwrap_or_default().to_owned()
    };
    let check = |more: Value, machines: usize, expected: &str| {
        let head = state(deployment("large", 3, &more), running("large", 0..machines));
        let rest = format!(
            ": {machines} of 3 updated, {machines} available, {machines} there; revision 4; RollingUpdate"
        );
        assert_eq!(head, format!("machinedeployment/workers  {expected}{rest}"));
    };
    check(json!({}), 3, "complete");
    check(json!({}), 2, "scaling");
    check(json!({ "spec": { "paused": true } }), 2, "paused");
    check(json!({ "metadata": { "generation": 4 } }), 3, "not looked at since its last change");
    check(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:59:00Z" } }), 3, "being deleted");
    let late = json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" }]);
    check(json!({ "status": { "conditions": late } }), 2, "stuck");
    let rolling = state(deployment("huge", 3, &json!({})), running("large", 0..3));
    assert_eq!(
        rolling,
        "machinedeployment/workers  rolling: 0 of 3 updated, 3 available, 3 there; RollingUpdate"
    );
}

#[test]
fn without_our_conditions_those_of_machine_controller_manager_are_shown() {
    let conditions = json!([
        { "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "enough" },
        { "type": "Progressing", "status": "True", "reason": "NewMachineSetAvailable", "message": "done" },
        { "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota" },
    ]);
    let frozen = json!({ "status": { "machineSetCondition": [
        { "type": "Frozen", "status": "True", "reason": "OverShootingReplicaCount", "message": "too many" },
        { "type": "ReplicaFailure", "status": "False", "reason": "x", "message": "y" },
    ] } });
    let failed = json!({ "status": { "lastOperation": {
        "type": "Create", "state": "Failed", "errorCode": "ResourceExhausted", "description": "no more",
        "lastUpdateTime": "2026-01-01T00:59:00Z",
    } } });
    let rollback =
        json!({ "spec": { "rollbackTo": { "revision": 2 } }, "status": { "conditions": conditions } });
    let machines = vec![machine("large", 1, "CrashLoopBackOff", &failed)];
    check(
        &objects(vec![deployment("large", 1, &rollback)], vec![set("large", 1, 1, &frozen)], machines),
        &expect![[r#"
            machinedeployment/workers  scaling: 1 of 1 updated, 0 available, 1 there; revision 1; RollingUpdate
            │  FailedCreate: quota
            │  is to return to revision 2 (spec.rollbackTo)
            └─ machineset/large  new  revision 1  class large  1 wanted, 0 available
               │  OverShootingReplicaCount: too many
               └─ machine/large-1  CrashLoopBackOff 10m0s
                     Create Failed [ResourceExhausted] (1m0s): no more
        "#]],
    );
}

#[test]
fn one_tree_is_shown_alone_and_what_is_not_there_is_said_with_what_is() {
    let all = objects(
        vec![deployment("large", 1, &json!({}))],
        vec![set("large", 2, 1, &json!({})), set("small", 1, 0, &json!({}))],
        running("large", 0..1),
    );
    let shown = |subject| pick(grow(&all, "team"), &subject).map(|forest| text(&forest, now()));
    expect![[r#"
        machineset/small  old  revision 1  class small  0 wanted, 0 available
    "#]]
    .assert_eq(&shown(Subject::Set("small".into())).unwrap());
    let whole = shown(Subject::Deployment("workers".into())).unwrap();
    assert_eq!(whole, shown(Subject::All).unwrap());
    let error = shown(Subject::Deployment("worker".into())).unwrap_err().to_string();
    assert_eq!(error, "there is no MachineDeployment worker in namespace team: did you mean workers?");
    let error = shown(Subject::Set("x".into())).unwrap_err().to_string();
    assert!(error.contains("one of 2 MachineSets, such as large, small"), "{error}");
    let none = text(&grow(&Objects::default(), "team"), now());
    assert_eq!(
        none,
        "No MachineDeployments, MachineSets or Machines in namespace team: choose another with -n.\n"
    );
}

#[test]
fn programs_get_every_machine() {
    let machines = running("large", 0..5);
    let all =
        objects(vec![deployment("large", 5, &json!({}))], vec![set("large", 2, 5, &json!({}))], machines);
    let json = serde_json::to_value(grow(&all, "team")).unwrap();
    let deployment = &json["deployments"][0];
    assert_eq!(deployment["rollout"]["state"], "complete");
    assert_eq!(deployment["sets"][0]["role"], "new");
    assert_eq!(deployment["sets"][0]["machines"].as_array().map(Vec::len), Some(5));
    assert_eq!(deployment["sets"][0]["machines"][4]["name"], "large-4");
}
