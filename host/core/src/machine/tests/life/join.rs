//! The life of a Machine with its Node: joining, health, and the clocks of both.

use expect_test::expect;

use jiff::SignedDuration;

use crate::driver::write_error::ActError;
use crate::machine::node::sync::NodeMeta;
use crate::machine::ownership::conflict::NodeNameHolder;
use crate::machine::{MachineOutcome, MachineView, NodeFact, NodePresence, TargetFact};
use crate::safety::meltdown::Permit;

use crate::machine::tests::facts::{
    CREATION_TIMEOUT_SECONDS, HEALTH_TIMEOUT_SECONDS, conditions, critical_node, fresh_node, node, taint,
    unhealthy_node,
};
use crate::machine::tests::{check, failed, pending, running, unknown};

fn foreign(view: &mut MachineView) {
    view.target = TargetFact::Cluster(NodePresence::Foreign("sim://2".into()));
}

#[test]
fn a_node_is_awaited_until_the_creation_time_out() {
    check(
        &pending().at(10),
        &expect![[r#"
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            again after 19m51s
        "#]],
    );
    check(
        &pending().at(CREATION_TIMEOUT_SECONDS),
        &expect![[r#"
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            again after 1s
        "#]],
    );
    check(
        &pending().at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
            act ask-permit of the zone
            JoinTimedOut: the VM is created, Node node-1 has not joined yet, for longer than 20m0s
            status: phase Failed, timer off, Create Failed JoinTimedOut { limit: 20m }, Healthy=False NodeMissing (Node node-1 is not there; the Machine has failed, at 1971-01-01T00:20:01Z)
            again at the next resync
        "#]],
    );
}

#[test]
fn a_clock_that_jumped_back_only_makes_the_wait_longer() {
    check(
        &pending().at(-3_600),
        &expect![[r#"
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            again after 20m1s
        "#]],
    );
}

#[test]
fn a_node_that_is_not_ready_does_not_join() {
    check(
        &pending().node(unhealthy_node()).at(10),
        &expect![[r#"
            NodeNotReady: the Node is not ready yet: Ready is False: the Machine fails at 1971-01-01T00:20:00Z
            status: conditions, Healthy=False NodeUnhealthy (Ready is False; the Machine has not joined; it fails at 1971-01-01T00:20:00Z)
            again after 19m51s
        "#]],
    );
    check(
        &pending().node(unhealthy_node()).at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
            act ask-permit of the zone
            JoinTimedOut: the Node is not ready yet: Ready is False, for longer than 20m0s
            status: phase Failed, timer off, Create Failed JoinTimedOut { limit: 20m }, conditions, Healthy=False NodeUnhealthy (Ready is False; the Machine has failed, at 1971-01-01T00:20:01Z)
            again at the next resync
        "#]],
    );
}

#[test]
fn a_node_of_another_vm_is_not_the_machines() {
    check(
        &pending().with(foreign).at(10),
        &expect![[r#"
            NodeNameTaken: Node node-1 belongs to VM sim://2: waiting until it is gone: the Machine fails at 1971-01-01T00:20:00Z
            again after 19m51s
        "#]],
    );
    check(
        &running().with(foreign).at(70),
        &expect![[r#"
            NodeNameTaken: Node node-1 belongs to VM sim://2: waiting until it is gone
            status: phase Unknown, timer on, HealthCheck Processing NodeMissing, Healthy=False NodeMissing (Node node-1 belongs to VM sim://2: waiting until it is gone, since 1971-01-01T00:01:10Z; the Machine fails at 1971-01-01T00:11:10Z unless it recovers)
            again at once
        "#]],
    );
    check(
        &unknown().with(foreign).at(110),
        &expect![[r#"
            NodeNameTaken: Node node-1 belongs to VM sim://2: waiting until it is gone
            status: Healthy=False NodeMissing (Node node-1 belongs to VM sim://2: waiting until it is gone, since 1971-01-01T00:01:40Z; the Machine fails at 1971-01-01T00:11:40Z unless it recovers)
            again after 9m51s
        "#]],
    );
    check(
        &failed().with(foreign).at(110),
        &expect![[r#"
            Failed: failed, and its Node is not there
            status: Healthy=False NodeMissing (Node node-1 is not there; the Machine has failed, at 1971-01-01T00:00:05Z)
            again at the next resync
        "#]],
    );
}

#[test]
fn critical_components_hold_a_machine_in_pending_until_the_creation_time_out() {
    check(
        &pending().node(critical_node()).at(10),
        &expect![[r#"
            WaitingForNode: the Node is healthy and still carries the taint critical-components-not-ready: the Machine fails at 1971-01-01T00:20:00Z
            status: conditions, Healthy=True NodeHealthy (the Node is healthy)
            again after 19m51s
        "#]],
    );
    check(
        &pending().node(critical_node()).at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
            act ask-permit of the zone
            JoinTimedOut: the Node is healthy and still carries the taint critical-components-not-ready, for longer than 20m0s
            status: phase Failed, timer off, Create Failed JoinTimedOut { limit: 20m }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
    let fresh = NodeFact { has_critical_taint: true, ..fresh_node() };
    check(
        &pending().node(fresh).at(10),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer
            WaitingForNode: the Node is healthy and still carries the taint critical-components-not-ready: the Machine fails at 1971-01-01T00:20:00Z
            status: conditions, Healthy=True NodeHealthy (the Node is healthy)
            again after 19m51s
        "#]],
    );
}

#[test]
fn a_healthy_node_joins_and_its_token_is_forgotten_with_the_nodes_first_write() {
    check(
        &pending().node(fresh_node()).at(55),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer + forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
    check(
        &pending().node(node()).at(55),
        &expect![[r#"
            act forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
}

#[test]
fn a_machine_of_the_other_controller_joins_as_well() {
    let adopted = pending().node(node()).with(|view| view.machine.operation = None);
    check(
        &adopted,
        &expect![[r#"
            act forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
}

#[test]
fn the_token_is_forgotten_only_when_the_node_joins() {
    for case in [
        pending().node(unhealthy_node()),
        pending().node(critical_node()),
        running(),
        running().with(|view| view.machine.operation = None).node(fresh_node()),
        unknown().node(node()),
    ] {
        let text = case.report();
        assert!(!text.contains("forget-token"), "{text}");
    }
}

#[test]
fn a_token_that_cannot_be_forgotten_keeps_no_machine_from_running() {
    let denied = ActError::Denied { message: "no rights on secrets".into() };
    let broken = ActError::Ambiguous { message: "500".into() };
    for (error, expected) in [
        (
            denied,
            expect![[r#"
            act forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
        ),
        // Tried again, and seldom.
        (
            broken,
            expect![[r#"
            act forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            retry from 5s to 10m0s
        "#]],
        ),
    ] {
        check(&pending().node(node()).on(MachineOutcome::ForgetToken(Err(error))), &expected);
    }
}

#[test]
fn a_node_is_brought_in_line_in_one_write() {
    let wanted = NodeMeta {
        labels: [("role".into(), "worker".into())].into(),
        annotations: [("zone".into(), "a".into())].into(),
        taints: vec![taint("gpu")],
    };
    let case = running().with(|view| view.machine.template = wanted).node(fresh_node());
    check(
        &case,
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker zone=a taint:gpu last-applied finalizer
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy)
            again after 1m45s
        "#]],
    );
}

#[test]
fn a_node_that_is_being_deleted_is_not_written() {
    let leaving = NodeFact { is_deleting: true, ..fresh_node() };
    check(
        &running().node(leaving),
        &expect![[r#"
            act delete-machine
            NodeDeleting: Node node-1 is being deleted, and so is its Machine
            again after 1m0s
        "#]],
    );
}

#[test]
fn a_node_that_cannot_be_written_is_judged_all_the_same() {
    let invalid = MachineOutcome::SyncNode(Err(ActError::Invalid { message: "a label is too long".into() }));
    check(
        &pending().node(fresh_node()).at(55).on(invalid.clone()),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer + forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            retry from 5s to 10m0s
        "#]],
    );
    let unhealthy = NodeFact { conditions: conditions("Ready=False"), ..fresh_node() };
    check(
        &running().node(unhealthy.clone()).at(70).on(invalid.clone()),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer
            NodeUnhealthy: the Node is not healthy: Ready is False
            status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "Ready is False" }, conditions, Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:10Z; the Machine fails at 1971-01-01T00:11:10Z unless it recovers)
            again at once
        "#]],
    );
    check(
        &unknown().node(unhealthy).at(110 + HEALTH_TIMEOUT_SECONDS).on(invalid.clone()),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer
            act ask-permit 1
            HealthTimedOut: the Node is not healthy: Ready is False, for longer than 10m0s
            status: phase Failed, timer off, HealthCheck Failed HealthTimedOut { limit: 10m, because: "Ready is False" }, conditions, Healthy=False NodeUnhealthy (Ready is False; the Machine has failed, at 1971-01-01T00:11:50Z)
            retry from 5s to 10m0s
        "#]],
    );
    check(
        &running().node(fresh_node()).at(70).on(invalid),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer
            WriteFailed: the Node is healthy; failed to bring the Node in line: refused: a label is too long
            status: Healthy=True NodeHealthy (the Node is healthy)
            retry from 5s to 10m0s
        "#]],
    );
}

#[test]
fn a_write_that_met_another_is_no_news() {
    let conflict = MachineOutcome::SyncNode(Err(ActError::Conflict));
    check(
        &running().node(fresh_node()).at(70).on(conflict),
        &expect![[r#"
            act sync-node node-1 machine-name=m-1 role=worker last-applied finalizer
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy)
            retry from 200ms to 5s
        "#]],
    );
}

#[test]
fn a_machine_whose_nodes_name_is_taken_for_good_fails_at_once_and_one_after_the_other() {
    let taken = |taken| {
        move |view: &mut MachineView| {
            foreign(view);
            view.conflict.name_holder = Some(taken);
        }
    };
    check(
        &pending().with(taken(NodeNameHolder::Staying)).at(10),
        &expect![[r#"
        act ask-permit of the name
        NodeNameTaken: Node node-1 is that of VM sim://2, so that the VM cannot join under that name
        status: phase Failed, timer off, Create Failed NodeNameTaken, Healthy=False NodeMissing (Node node-1 is that of VM sim://2, so that the VM cannot join under that name; the Machine has failed, at 1971-01-01T00:00:10Z)
        again at the next resync
    "#]],
    );
    check(
        &pending().with(taken(NodeNameHolder::Leaving)).at(10),
        &expect![[r#"
        NodeNameTaken: Node node-1 belongs to VM sim://2: waiting until it is gone: the Machine fails at 1971-01-01T00:20:00Z
        again after 19m51s
    "#]],
    );
    let later = Permit::Later { after: SignedDuration::from_mins(2) };
    check(
        &pending()
            .with(taken(NodeNameHolder::Staying))
            .at(10)
            .on(MachineOutcome::AskPermit(Ok(later.clone()))),
        &expect![[r#"
            act ask-permit of the name
            NodeNameTaken: Node node-1 is that of VM sim://2, so that the VM cannot join under that name; it is not failed yet: another one was, for the same, not long ago
            again after 2m0s
        "#]],
    );
    let marked = |view: &mut MachineView| {
        let others = vec![crate::value::id::ObjectKey::new("garden", "m-0")];
        view.target = TargetFact::Cluster(NodePresence::Contested(others));
        view.conflict.name_holder = Some(NodeNameHolder::Staying);
    };
    check(
        &pending().with(marked).at(10),
        &expect![[r#"
        act ask-permit of the name
        NodeNameTaken: Node node-1 is that of Machine m-0, so that the VM cannot join under that name
        status: phase Failed, timer off, Create Failed NodeNameTaken, Healthy=False NodeMissing (Node node-1 is that of Machine m-0, so that the VM cannot join under that name; the Machine has failed, at 1971-01-01T00:00:10Z)
        again at the next resync
    "#]],
    );
    // A Machine that has joined is judged by its health, and blocked effects are not done.
    for case in [
        running().with(taken(NodeNameHolder::Staying)),
        unknown().with(taken(NodeNameHolder::Staying)),
        pending().with(taken(NodeNameHolder::Staying)).frozen(),
    ] {
        let text = case.report();
        assert!(!text.contains("phase Failed") && !text.contains("of the name"), "{text}");
    }
    // Whatever holds it: it has the time to join, and no more.
    let late = pending().with(taken(NodeNameHolder::Staying)).at(CREATION_TIMEOUT_SECONDS + 2);
    assert!(late.report().contains("JoinTimedOut"), "{}", late.report());
}

#[test]
fn a_token_that_was_kept_is_deleted_again_while_it_is_valid() {
    let kept = |failures| {
        let joined = running().with(|view| view.machine.has_join_duration = true);
        joined.with(move |view| view.failures = failures).at(120)
    };
    assert!(kept(1).report().starts_with("act forget-token"), "{}", kept(1).report());
    assert!(!kept(0).report().contains("forget-token"));
    let over = kept(1).with(|view| view.machine.token_until = Some(crate::machine::tests::seconds(119)));
    assert!(!over.report().contains("forget-token"));
}

#[test]
fn a_node_under_another_name_than_the_driver_said_is_the_machines_and_its_label_is_fixed() {
    check(
        &running().with(|view| view.machine.node_name = Some("ip-10-0-0-1".into())),
        &expect![[r#"
        act write-machine node=node-1
        NodeHealthy: the Node is healthy
        status: Healthy=True NodeHealthy (the Node is healthy)
        again at the next resync
    "#]],
    );
}
