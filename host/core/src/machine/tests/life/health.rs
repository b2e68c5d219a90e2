//! A Machine whose Node has joined: Running, Unknown, Failed, and the clock in between.

use expect_test::expect;

use crate::machine::NodeFact;
use crate::value::phase::Phase;

use crate::machine::tests::facts::{
    CREATION_TIMEOUT_SECONDS, HEALTH_TIMEOUT_SECONDS, conditions, node, operation, unhealthy_node,
};
use crate::machine::tests::{check, failed, pending, running, unknown};

#[test]
fn a_running_machine_with_a_healthy_node_is_left_alone() {
    check(
        &running().at(70),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy)
            again after 36s
        "#]],
    );
    check(
        &running().frozen().at(70),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy)
            again after 36s
        "#]],
    );
}

#[test]
fn conditions_are_copied_only_when_one_changes() {
    let reordered = NodeFact { conditions: conditions("DiskPressure=False Ready=True"), ..node() };
    assert!(!running().node(reordered).report().contains("conditions"));
    let more = NodeFact { conditions: conditions("Ready=True DiskPressure=False Lazy=True"), ..node() };
    check(
        &running().node(more),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: conditions, Healthy=True NodeHealthy (the Node is healthy)
            again after 1m45s
        "#]],
    );
}

#[test]
fn a_running_machine_becomes_unknown_when_its_node_is_unhealthy_or_gone() {
    check(
        &running().node(unhealthy_node()).at(70),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: Ready is False
            status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "Ready is False" }, conditions, Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:10Z; the Machine fails at 1971-01-01T00:11:10Z unless it recovers)
            again at once
        "#]],
    );
    let pressed = NodeFact { conditions: conditions("Ready=True DiskPressure=True"), ..node() };
    check(
        &running().node(pressed).at(70),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: DiskPressure is True
            status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "DiskPressure is True" }, conditions, Healthy=False NodeUnhealthy (DiskPressure is True, since 1971-01-01T00:01:10Z; the Machine fails at 1971-01-01T00:11:10Z unless it recovers)
            again at once
        "#]],
    );
    check(
        &running().without_node().at(70),
        &expect![[r#"
            NodeMissing: Node node-1 is gone
            status: phase Unknown, timer on, HealthCheck Processing NodeMissing, Healthy=False NodeMissing (Node node-1 is not there, since 1971-01-01T00:01:10Z; the Machine fails at 1971-01-01T00:11:10Z unless it recovers)
            again at once
        "#]],
    );
}

#[test]
fn unknown_is_tolerated_until_the_health_time_out() {
    check(
        &unknown().at(110),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: Ready is False
            status: Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:40Z; the Machine fails at 1971-01-01T00:11:40Z unless it recovers)
            again after 9m51s
        "#]],
    );
    check(
        &unknown().at(100 + HEALTH_TIMEOUT_SECONDS),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: Ready is False
            status: Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:40Z; the Machine fails at 1971-01-01T00:11:40Z unless it recovers)
            again after 1s
        "#]],
    );
    check(
        &unknown().at(101 + HEALTH_TIMEOUT_SECONDS),
        &expect![[r#"
            act ask-permit 1
            HealthTimedOut: the Node is not healthy: Ready is False, for longer than 10m0s
            status: phase Failed, timer off, HealthCheck Failed HealthTimedOut { limit: 10m, because: "Ready is False" }, Healthy=False NodeUnhealthy (Ready is False; the Machine has failed, at 1971-01-01T00:11:41Z)
            again at the next resync
        "#]],
    );
    check(
        &unknown().without_node().at(101 + HEALTH_TIMEOUT_SECONDS),
        &expect![[r#"
            act ask-permit 1
            HealthTimedOut: Node node-1 is gone, for longer than 10m0s
            status: phase Failed, timer off, HealthCheck Failed HealthTimedOut { limit: 10m, because: "Node node-1 is gone" }, Healthy=False NodeMissing (Node node-1 is not there; the Machine has failed, at 1971-01-01T00:11:41Z)
            again at the next resync
        "#]],
    );
}

#[test]
fn unknown_is_tolerated_for_ever_where_the_health_time_out_is_disabled() {
    let without_timeout = unknown().with(|view| view.settings.health_timeout = None);
    check(
        &without_timeout.at(1_000_000),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: Ready is False
            status: Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:40Z; the Machine is never failed for it, since its health time-out is disabled)
            again at the next resync
        "#]],
    );
}

#[test]
fn a_frozen_gate_fails_no_machine_and_looks_again_soon() {
    check(
        &unknown().frozen().at(101 + HEALTH_TIMEOUT_SECONDS),
        &expect![[r#"
            Frozen: the Node is not healthy: Ready is False; failing it is held
            status: Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:40Z; failing it is held, see condition Ready)
            retry from 5s to 10m0s
        "#]],
    );
    check(
        &pending().frozen().at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
            Frozen: the VM is created, Node node-1 has not joined yet; failing it is held
            retry from 5s to 10m0s
        "#]],
    );
}

#[test]
fn a_node_that_recovers_makes_its_machine_run_again() {
    check(
        &unknown().node(node()),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, HealthCheck Successful Rejoined, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
    check(
        &failed().node(node()).at(2_000),
        &expect![[r#"
            act forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
}

#[test]
fn a_failed_machine_stays_failed() {
    check(
        &failed().at(2_000),
        &expect![[r#"
            Failed: failed, and its Node is not there
            status: Healthy=False NodeMissing (Node node-1 is not there; the Machine has failed, at 1971-01-01T00:00:05Z)
            again at the next resync
        "#]],
    );
    check(
        &failed().node(unhealthy_node()).at(2_000),
        &expect![[r#"
            Failed: failed: Ready is False
            status: conditions, Healthy=False NodeUnhealthy (Ready is False; the Machine has failed, at 1971-01-01T00:00:05Z)
            again at the next resync
        "#]],
    );
    check(
        &failed().without_target().at(2_000),
        &expect![[r#"
        Failed: failed, and there is no cluster to recover in
        again at the next resync
    "#]],
    );
}

#[test]
fn a_machine_without_target_cluster_stays_available() {
    let available = pending().without_target().with(|view| {
        view.machine.phase = Phase::Available;
        view.machine.operation = operation("Create", "Successful");
    });
    check(
        &available.at(100_000),
        &expect![[r#"
        VmCreated: the VM is created, and there is no cluster to join
        again at the next resync
    "#]],
    );
}

#[test]
fn health_does_not_end_an_update_in_place() {
    for phase in [Phase::InPlaceUpdating, Phase::InPlaceUpdateFailed] {
        for node in [node(), unhealthy_node()] {
            let text = running().with(|view| view.machine.phase = phase).node(node).report();
            assert!(!text.contains("phase "), "{text}");
        }
    }
    check(
        &running().with(|view| view.machine.phase = Phase::InPlaceUpdateSuccessful),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, HealthCheck Successful Rejoined, Healthy=True NodeHealthy (the Node is healthy)
            again at the next resync
        "#]],
    );
}
