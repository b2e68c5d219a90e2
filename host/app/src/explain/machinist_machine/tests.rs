//! MachinistMachines, from facts to lines.

use expect_test::{Expect, expect};
use jiff::Timestamp;
use machinist_api::infrastructure::{IdentityReference, MachinistMachine};
use machinist_core::infra_machine::remediation::RemediationReason;
use serde_json::{Value, json};

use super::chain::explain;
use super::credentials::CredentialFacts;
use super::gather::InfraFacts;
use crate::explain::explanation::{EventLine, EventLines, Explanation};
use crate::explain::print;
use crate::explain::read::Lookup;
use crate::testing::merged;

fn now() -> Timestamp {
    "2026-01-01T00:05:00Z".parse().unwrap()
}

fn object<T: serde::de::DeserializeOwned>(value: Value, more: &Value) -> T {
    serde_json::from_value(merged(value, more)).unwrap()
}

fn found<T: serde::de::DeserializeOwned>(value: Value, more: &Value) -> Lookup<T> {
    Lookup::Found(object(value, more))
}

/// A MachinistMachine, its Machine and its Cluster.
#[derive(Default)]
struct Changes {
    machine: Value,
    owner: Value,
    cluster: Value,
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:01:00Z",
    })
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    let not_paused = condition("Paused", "False", "NotPaused", "nothing pauses it");
    json!({ "status": { "conditions": [condition("Ready", status, reason, message), not_paused] } })
}

/// A machine that is provisioned, and whose Node has joined.
fn facts(changes: &Changes) -> InfraFacts {
    let machine = json!({
        "metadata": {
            "name": "vm", "namespace": "team", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { "cluster.x-k8s.io/cluster-name": "c" },
            "annotations": { "machinist.dev/machine-key": "k", "cluster.x-k8s.io/cloned-from-name": "small" },
            "finalizers": ["infrastructure.machinist.dev/machine"],
        },
        "spec": { "provider": "sim", "providerID": "sim:///a" },
        "status": {
            "initialization": { "provisioned": true },
            "conditions": [
                condition("Ready", "True", "InstanceRunning", "the VM runs"),
                condition("Paused", "False", "NotPaused", "nothing pauses it"),
            ],
        },
    });
    let owner = json!({
        "metadata": { "name": "m", "namespace": "team", "uid": "o" },
        "spec": { "clusterName": "c", "bootstrap": { "dataSecretName": "m-data" } },
        "status": { "phase": "Running", "nodeRef": { "name": "n1" } },
    });
    let cluster = json!({
        "metadata": { "name": "c" },
        "status": { "initialization": { "infrastructureProvisioned": true } },
    });
    InfraFacts {
        machine: object(machine, &or_nothing(&changes.machine)),
        owner: found(owner, &or_nothing(&changes.owner)),
        cluster: found(cluster, &or_nothing(&changes.cluster)),
        infra_cluster: found(
            json!({ "metadata": { "name": "c-infra" } }),
            &ready("False", "CredentialsMissing", "Secret team/account does not exist: create it"),
        ),
        bootstrap: Lookup::Found(()),
        remediation: Lookup::Missing("m".into()),
        class: Lookup::NotNamed,
        credentials: CredentialFacts {
            reference: Some(IdentityReference { kind: "Secret".to_owned(), name: "account".to_owned() }),
            identity: Lookup::NotNamed,
            namespace_labels: None,
            secret: Lookup::Found(()),
        },
        plugin: Lookup::Missing("sim".into()),
        events: EventLines::Read(Vec::new()),
        leader: Err("nobody leads".into()),
    }
}

fn or_nothing(value: &Value) -> Value {
    if value.is_null() { json!({}) } else { value.clone() }
}

/// Its VM was not asked for yet.
fn fresh(more: &Value) -> Value {
    let none = json!({
        "metadata": { "annotations": null, "finalizers": null },
        "spec": { "providerID": null },
        "status": { "initialization": null },
    });
    merged(none, more)
}

#[track_caller]
fn check(facts: &InfraFacts, expected: &Expect) {
    expected.assert_eq(&print::text(&explain(facts, now()), now()));
}

/// Compares the steps alone, one in a line.
#[track_caller]
fn check_next(facts: &InfraFacts, expected: &Expect) {
    expected.assert_eq(&explain(facts, now()).next.join("\n"));
}

#[test]
fn a_machine_that_runs_has_a_whole_chain() {
    let mut facts = facts(&Changes::default());
    let event = |reason: &str, count| EventLine {
        at: Some("2026-01-01T00:04:00Z".parse().unwrap()),
        kind: "Normal".to_owned(),
        reason: reason.to_owned(),
        message: "VM sim:///a is recorded".to_owned(),
        count,
    };
    facts.events = EventLines::Read(vec![event("VmRecorded", 1), event("CloudWorking", 3)]);
    check(
        &facts,
        &expect![[r#"
        MachinistMachine team/vm (uid u)
        State:     Provisioned since 2026-01-01T00:01:00Z (4m0s ago)
        Awaited:   nothing
        Next:      nothing, while its VM runs
        Chain:
          ok Cluster  c has infrastructure
          ok Machine  m is Running
          ok spec     provider "sim", from MachinistMachineTemplate small
          ok identity Secret team/account
          !! driver   no plugin serves provider "sim": `machinist plugin list` says which do
          ok VM       sim:///a, provisioned; its key is k
          ok Node     n1 has joined
        Finalizers:
          infrastructure.machinist.dev/machine
        Conditions:
          Ready=True InstanceRunning since 2026-01-01T00:01:00Z (4m0s ago): the VM runs
          Paused=False NotPaused since 2026-01-01T00:01:00Z (4m0s ago): nothing pauses it
        Events:
          2026-01-01T00:04:00Z (1m0s ago) Normal VmRecorded: VM sim:///a is recorded
          2026-01-01T00:04:00Z (1m0s ago) Normal CloudWorking × 3: VM sim:///a is recorded
        Queue and last calls are not known: nobody leads
    "#]],
    );
}

#[test]
fn a_wait_names_its_next_step_and_the_link_that_is_missing() {
    let changes = Changes {
        machine: fresh(&ready("False", "WaitingForBootstrapData", "the Machine has no bootstrap data yet")),
        owner: json!({
            "spec": { "bootstrap": { "dataSecretName": "" } },
            "status": {
                "phase": "Pending", "nodeRef": null,
                "conditions": [condition("BootstrapConfigReady", "False", "NotReady", "waits for the control plane")],
            },
        }),
        ..Changes::default()
    };
    let facts = InfraFacts { bootstrap: Lookup::NotNamed, ..facts(&changes) };
    check(
        &facts,
        &expect![[r#"
        MachinistMachine team/vm (uid u)
        State:     Pending since 2026-01-01T00:00:00Z (5m0s ago)
        Awaited:   WaitingForBootstrapData, since 2026-01-01T00:01:00Z (4m0s ago)
                   the Machine has no bootstrap data yet
        Next:      the VM is created when Machine m has bootstrap data; its condition BootstrapConfigReady says what is missing
        Chain:
          ok Cluster  c has infrastructure
          -- Machine  m is Pending, and its bootstrap provider has made no data yet: NotReady: waits for the control plane
          ok spec     provider "sim"
          ok identity Secret team/account
          !! driver   no plugin serves provider "sim": `machinist plugin list` says which do
          -- VM       none was asked for: the object has no key yet
          -- Node     none has joined, as far as Cluster API's core knows
        Conditions:
          Ready=False WaitingForBootstrapData since 2026-01-01T00:01:00Z (4m0s ago): the Machine has no bootstrap data yet
          Paused=False NotPaused since 2026-01-01T00:01:00Z (4m0s ago): nothing pauses it
        Events:
          none
        Queue and last calls are not known: nobody leads
    "#]],
    );
}

#[test]
fn a_cluster_without_infrastructure_says_what_its_own_object_waits_for() {
    let waits = ready("False", "WaitingForClusterInfrastructureReady", "not yet");
    let changes = Changes {
        machine: fresh(&waits),
        cluster: json!({ "status": { "initialization": null } }),
        ..Changes::default()
    };
    check(
        &facts(&changes),
        &expect![[r#"
        MachinistMachine team/vm (uid u)
        State:     Pending since 2026-01-01T00:00:00Z (5m0s ago)
        Awaited:   WaitingForClusterInfrastructureReady, since 2026-01-01T00:01:00Z (4m0s ago)
                   not yet
        Next:      the VM is created when Cluster c has infrastructure; core takes that over from MachinistCluster c-infra, whose condition Ready says what it waits for
        Chain:
          -- Cluster  c has no infrastructure yet; MachinistCluster c-infra has Ready=False CredentialsMissing: Secret team/account does not exist: create it
          ok Machine  m is Running, and its bootstrap data is there
          ok spec     provider "sim"
          ok identity Secret team/account
          !! driver   no plugin serves provider "sim": `machinist plugin list` says which do
          -- VM       none was asked for: the object has no key yet
          ok Node     n1 has joined
        Conditions:
          Ready=False WaitingForClusterInfrastructureReady since 2026-01-01T00:01:00Z (4m0s ago): not yet
          Paused=False NotPaused since 2026-01-01T00:01:00Z (4m0s ago): nothing pauses it
        Events:
          none
        Queue and last calls are not known: nobody leads
    "#]],
    );
}

#[test]
fn nothing_is_promised_while_it_is_paused() {
    let paused = json!({ "status": { "conditions": [
        condition("Ready", "True", "InstanceRunning", "the VM runs"),
        condition("Paused", "True", "Paused", "Cluster c is paused: nothing is done until it goes on"),
    ] } });
    let changes = Changes {
        machine: paused.clone(),
        cluster: json!({ "spec": { "paused": true } }),
        ..Changes::default()
    };
    check(
        &facts(&changes),
        &expect![[r#"
        MachinistMachine team/vm (uid u)
        State:     Paused since 2026-01-01T00:01:00Z (4m0s ago)
        Awaited:   Paused, since 2026-01-01T00:01:00Z (4m0s ago)
                   Cluster c is paused: nothing is done until it goes on
        Next:      take spec.paused off Cluster c, or the annotation cluster.x-k8s.io/paused off this object, whichever is there; `clusterctl move` does so itself
        Chain:
          !! Cluster  c is paused (spec.paused): nothing is done to its machines
          ok Machine  m is Running
          ok spec     provider "sim", from MachinistMachineTemplate small
          ok identity Secret team/account
          !! driver   no plugin serves provider "sim": `machinist plugin list` says which do
          ok VM       sim:///a, provisioned; its key is k
          ok Node     n1 has joined
        Finalizers:
          infrastructure.machinist.dev/machine
        Conditions:
          Ready=True InstanceRunning since 2026-01-01T00:01:00Z (4m0s ago): the VM runs
          Paused=True Paused since 2026-01-01T00:01:00Z (4m0s ago): Cluster c is paused: nothing is done until it goes on
        Events:
          none
        Queue and last calls are not known: nobody leads
    "#]],
    );
    let moved =
        json!({ "metadata": { "annotations": { "clusterctl.cluster.x-k8s.io/delete-for-move": "" } } });
    let changes = Changes { machine: merged(paused, &moved), ..Changes::default() };
    check_next(
        &facts(&changes),
        &expect!["nothing: its VM lives on under the copy of this object in another management cluster"],
    );
}

#[test]
fn before_core_deletes_the_object_its_own_steps_are_shown() {
    let stage = |reason: &str, message: &str, more: &Value| {
        let owner = json!({
            "metadata": { "deletionTimestamp": "2026-01-01T00:02:00Z" },
            "status": {
                "phase": "Deleting", "deletion": { "nodeDrainStartTime": "2026-01-01T00:03:00Z" },
                "conditions": [condition("Deleting", "True", reason, message)],
            },
        });
        facts(&Changes { owner: merged(owner, more), ..Changes::default() })
    };
    let none = json!({});
    check(
        &stage("DrainingNode", "Drain not completed yet:\n* Pod shop/a", &none),
        &expect![[r#"
        MachinistMachine team/vm (uid u)
        State:     Provisioned since 2026-01-01T00:01:00Z (4m0s ago)
        Awaited:   nothing
        Next:      Cluster API's core drains its Node since 2026-01-01T00:03:00Z: Drain not completed yet: * Pod shop/a
                   then it deletes this object, and the host deletes VM sim:///a
        Chain:
          ok Cluster  c has infrastructure
          -- Machine  m is Deleting; Cluster API's core drains its Node since 2026-01-01T00:03:00Z: Drain not completed yet: * Pod shop/a
          ok spec     provider "sim", from MachinistMachineTemplate small
          ok identity Secret team/account
          !! driver   no plugin serves provider "sim": `machinist plugin list` says which do
          ok VM       sim:///a, provisioned; its key is k
          ok Node     n1 has joined
        Finalizers:
          infrastructure.machinist.dev/machine
        Conditions:
          Ready=True InstanceRunning since 2026-01-01T00:01:00Z (4m0s ago): the VM runs
          Paused=False NotPaused since 2026-01-01T00:01:00Z (4m0s ago): nothing pauses it
        Events:
          none
        Queue and last calls are not known: nobody leads
    "#]],
    );
    let hooks = json!({ "metadata": { "annotations": {
        "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup": "",
        "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup": "",
    } } });
    check_next(
        &stage("WaitingForPreDrainHook", "", &hooks),
        &expect![[r#"
        Cluster API's core drains its Node when others have taken these annotations off the Machine: pre-drain.delete.hook.machine.cluster.x-k8s.io/backup
        then it deletes this object, and the host deletes VM sim:///a"#]],
    );
    check_next(
        &stage("WaitingForPreTerminateHook", "", &hooks),
        &expect![[r#"
        Cluster API's core goes on when others have taken these annotations off the Machine: pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup
        then it deletes this object, and the host deletes VM sim:///a"#]],
    );
    check_next(
        &stage("WaitingForVolumeDetach", "volume v", &none),
        &expect![[r#"
        Cluster API's core waits for the volumes of its Node: volume v
        then it deletes this object, and the host deletes VM sim:///a"#]],
    );
    check_next(
        &stage("InternalError", "please check", &none),
        &expect![[r#"
        Cluster API's core says InternalError: please check
        then it deletes this object, and the host deletes VM sim:///a"#]],
    );
    let silent = json!({ "status": { "conditions": null } });
    check_next(
        &stage("", "", &silent),
        &expect![[r#"
        Cluster API's core has not begun with it: `kubectl get machines.cluster.x-k8s.io` and its log say why
        then it deletes this object, and the host deletes VM sim:///a"#]],
    );
    check_next(
        &stage("", "", &merged(silent, &hooks)),
        &expect![[r#"
        Cluster API's core drains its Node when others have taken these annotations off the Machine: pre-drain.delete.hook.machine.cluster.x-k8s.io/backup
        then it deletes this object, and the host deletes VM sim:///a"#]],
    );
}

#[test]
fn a_deletion_lists_what_is_left_and_what_is_in_its_way() {
    let deleted = json!({ "metadata": {
        "deletionTimestamp": "2026-01-01T00:04:00Z",
        "finalizers": ["infrastructure.machinist.dev/machine", "example.com/mine"],
    } });
    let of = |machine: Value| facts(&Changes { machine, ..Changes::default() });
    check_next(
        &of(deleted.clone()),
        &expect![[r#"
        VM sim:///a is deleted, and a look must show that it is gone
        the finalizer is taken off
        then it stays until others take their finalizers off: example.com/mine"#]],
    );
    let refused = ready("False", "VmDeletionFailed", "the cloud refuses it");
    check_next(
        &of(merged(deleted.clone(), &refused)),
        &expect![[r#"
        the host deletes VM sim:///a again; the message says what the cloud or the driver wants corrected
        VM sim:///a is deleted, and a look must show that it is gone
        the finalizer is taken off
        then it stays until others take their finalizers off: example.com/mine"#]],
    );
    let owner = json!({
        "metadata": { "deletionTimestamp": "2026-01-01T00:02:00Z" },
        "status": { "conditions": [condition("Deleting", "True", "WaitingForInfrastructureDeletion", "")] },
    });
    let own = json!({ "metadata": { "finalizers": ["infrastructure.machinist.dev/machine"] } });
    let both = Changes { machine: merged(deleted, &own), owner, ..Changes::default() };
    check_next(
        &facts(&both),
        &expect![[r#"
        VM sim:///a is deleted, and a look must show that it is gone
        the finalizer is taken off
        the object is gone, and Cluster API's core goes on with Machine m"#]],
    );
}

#[test]
fn a_vm_without_a_node_is_awaited_by_core() {
    let owner = json!({ "status": { "phase": "Provisioned", "nodeRef": null } });
    check_next(
        &facts(&Changes { owner, ..Changes::default() }),
        &expect![[r#"
        nothing, while its VM runs
        Cluster API's core waits for a Node whose spec.providerID is sim:///a: check the kubelet and the cloud controller manager of the workload cluster"#]],
    );
}

fn remediation(reboots: i32, reason: &str, message: &str) -> Value {
    json!({
        "metadata": { "name": "m" },
        "spec": { "strategy": { "retryLimit": 2 } },
        "status": {
            "retryCount": reboots,
            "conditions": [condition("Remediated", "False", reason, message)],
        },
    })
}

#[test]
fn an_unhealthy_machine_shows_its_reboots_and_what_follows_them() {
    let with = |remediation: Value| InfraFacts {
        remediation: found(remediation, &json!({})),
        ..facts(&Changes::default())
    };
    let says = |facts: &InfraFacts| {
        let Explanation { chain, next, .. } = explain(facts, now());
        let link = chain.iter().find(|link| link.what == "remedy").unwrap();
        format!("{:?} {}\n{}", link.state, link.says, next.last().unwrap())
    };
    expect![[r#"
        Absent MachinistRemediation m: 1 of at most 2 reboots; Rebooted: it has time
        Machine m has 300 s from the reboot to become healthy; then its VM is rebooted again"#]]
    .assert_eq(&says(&with(remediation(1, "Rebooted", "it has time"))));
    expect![[r#"
        Bad MachinistRemediation m: 2 of at most 2 reboots; OwnerReplaces: they have not helped
        the owner of Machine m deletes and replaces it, within its own limits for unhealthy machines; a Machine without an owner stays"#]]
    .assert_eq(&says(&with(remediation(2, "OwnerReplaces", "they have not helped"))));
    expect![[r#"
        Absent MachinistRemediation m: 0 of at most 2 reboots; OutOfPatience: wait
        OutOfPatience of MachinistRemediation m is a reason of another version of the host: its message says what to do"#]]
    .assert_eq(&says(&with(remediation(0, "OutOfPatience", "wait"))));
    let mut unseen = remediation(0, "", "");
    unseen["status"] = Value::Null;
    unseen["spec"] = Value::Null;
    expect![[r#"
        Absent MachinistRemediation m: 0 of at most 1 reboot; no host has looked at it yet
        nothing, while its VM runs"#]]
    .assert_eq(&says(&with(unseen)));
}

#[test]
fn each_reason_of_a_remediation_has_a_next_step() {
    for reason in RemediationReason::ALL {
        let found: Lookup<_> = found(remediation(1, reason.as_str(), "as it is"), &json!({}));
        let facts = InfraFacts { remediation: found, ..facts(&Changes::default()) };
        let next = explain(&facts, now()).next;
        assert_eq!(next.len(), 2, "{}: {next:?}", reason.as_str());
    }
}

#[test]
fn an_object_that_no_host_has_seen_says_so() {
    let machine = json!({ "status": null });
    let changes = Changes { machine, ..Changes::default() };
    let text = print::text(&explain(&facts(&changes), now()), now());
    assert!(text.contains("does one run with --cluster-api for namespace team, and lead?"), "{text}");
}

#[test]
fn a_reason_of_a_later_version_is_no_riddle() {
    let machine = ready("False", "OutOfPatience", "wait");
    let facts = facts(&Changes { machine, ..Changes::default() });
    check_next(
        &facts,
        &expect!["OutOfPatience is a reason of another version of the host: its message says what to do"],
    );
}

#[test]
fn objects_that_are_not_there_or_cannot_be_read_are_named() {
    let facts = InfraFacts {
        owner: Lookup::Missing("m".into()),
        cluster: Lookup::Unreadable("c cannot be read: no (403)".into()),
        events: EventLines::Unreadable("no (403)".into()),
        ..facts(&Changes { machine: json!({ "spec": { "provider": "" } }), ..Changes::default() })
    };
    check(
        &facts,
        &expect![[r#"
        MachinistMachine team/vm (uid u)
        State:     Provisioned since 2026-01-01T00:01:00Z (4m0s ago)
        Awaited:   nothing
        Next:      nothing, while its VM runs
        Chain:
          ?? Cluster  c cannot be read: no (403)
          !! Machine  m, which owned it, is not there
          !! spec     it names neither a provider nor a class: set one of them
          ok identity Secret team/account
          !! driver   no plugin serves provider "sim": `machinist plugin list` says which do
          ok VM       sim:///a, provisioned; its key is k
          ?? Node     only Cluster API's core knows it, by its Machine
        Finalizers:
          infrastructure.machinist.dev/machine
        Conditions:
          Ready=True InstanceRunning since 2026-01-01T00:01:00Z (4m0s ago): the VM runs
          Paused=False NotPaused since 2026-01-01T00:01:00Z (4m0s ago): nothing pauses it
        Events cannot be read: no (403)
        Queue and last calls are not known: nobody leads
    "#]],
    );
}

#[test]
fn calls_of_another_object_of_the_same_name_are_left_out() {
    let call = |uid: &str| {
        json!({
            "operation": "CreateMachine", "provider": "sim", "machineUid": uid, "started": "2026-01-01T00:01:00Z",
            "tookMs": 1, "outcome": "ok", "code": null, "cloudCode": null,
        })
    };
    let details = serde_json::from_value(json!({
        "now": "2026-01-01T00:05:00Z", "leads": true, "synced": true, "known": true, "passRuns": false,
        "nextPass": "2026-01-01T00:06:30Z", "awaitsOwnWrites": false, "failures": 0, "frozen": null,
        "timeouts": null, "calls": [call("k"), call("of-a-machine")],
    }))
    .unwrap();
    let facts = InfraFacts { leader: Ok(("pod a".into(), details)), ..facts(&Changes::default()) };
    let explanation = explain(&facts, now());
    assert_eq!(explanation.queue.map(|queue| queue.calls.len()), Some(1));
    assert_eq!(
        explanation.next.first().map(String::as_str),
        Some("the host looks again in 1m30s, or when something changes")
    );
}

#[test]
fn a_machine_without_anything_is_explained() {
    let facts = InfraFacts {
        machine: MachinistMachine::default(),
        owner: Lookup::NotNamed,
        cluster: Lookup::NotNamed,
        infra_cluster: Lookup::NotNamed,
        bootstrap: Lookup::NotNamed,
        remediation: Lookup::NotNamed,
        class: Lookup::NotNamed,
        credentials: CredentialFacts {
            reference: None,
            identity: Lookup::NotNamed,
            namespace_labels: None,
            secret: Lookup::NotNamed,
        },
        plugin: Lookup::NotNamed,
        events: EventLines::NotShown,
        leader: Err("nobody leads".into()),
    };
    check(
        &facts,
        &expect![[r#"
        MachinistMachine / (uid )
        State:     Pending
        Awaited:   no host has written why: none has looked at it; does one run with --cluster-api for namespace , and lead?
        Chain:
          !! Cluster  neither its Machine nor the label cluster.x-k8s.io/cluster-name names one
          !! Machine  no Machine of Cluster API owns it
          !! spec     it names neither a provider nor a class: set one of them
          -- identity neither it nor its MachinistCluster names any credentials: set identityRef, if the cloud needs some
          ?? driver   no class chooses one
          -- VM       none was asked for: the object has no key yet
          ?? Node     only Cluster API's core knows it, by its Machine
        Queue and last calls are not known: nobody leads
    "#]],
    );
}
