//! Policies decide, hold, reboot, or only tell.

use expect_test::expect;

use crate::driver::VmState;
use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::write_error::ActError;
use crate::health_policy::{Action, Mode, Opinion, PolicyVerdict, Reboots};
use crate::machine::MachineOutcome;
use crate::safety::meltdown::{Permit, ReplacementLimit, ZoneState};

use crate::machine::tests::facts::{capabilities, guest, unhealthy_node, vm, vm_that_is};
use crate::machine::tests::{Case, check, failed, pending, running, seconds, unknown};

/// `default! unhealthy replace`; an exclamation mark enforces. Holds until second 400.
fn opinion(text: &str) -> Opinion {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap();
    let plain = name.trim_end_matches('!');
    Opinion {
        policy: plain.into(),
        mode: if plain == name { Mode::Observe } else { Mode::Enforce },
        verdict: match words.next().unwrap() {
            "healthy" => PolicyVerdict::Healthy,
            "unknown" => PolicyVerdict::Unknown,
            "unhealthy" => PolicyVerdict::Unhealthy { since: seconds(100) },
            other => panic!("{other}"),
        },
        reason: "so it is".into(),
        action: match words.next() {
            None => Action::None,
            Some("reboot") => Action::Reboot,
            Some("replace") => Action::Replace,
            Some(other) => panic!("{other}"),
        },
        holds_until: seconds(400),
    }
}

fn with(case: Case, opinions: &[&str]) -> Case {
    case.with(|view| view.policies.opinions = opinions.iter().map(|text| opinion(text)).collect())
}

fn asking(case: Case) -> Case {
    case.with(|view| view.policies.to_ask = vec!["zone".into()])
}

#[test]
fn policies_are_asked_when_something_could_change() {
    let answer = MachineOutcome::AskPolicies(Ok(vec![opinion("zone! unhealthy replace")]));
    check(
        &asking(running()).at(110).on(answer),
        &expect![[r#"
            act ask-policies
            act write-machine join-duration=50s
            NodeUnhealthy: the Node is not healthy: so it is
            status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "so it is" }, Healthy=False NodeUnhealthy (so it is, since 1971-01-01T00:01:50Z; the Machine fails at 1971-01-01T00:11:50Z unless it recovers)
            again at once
        "#]],
    );
}

#[test]
fn nobody_is_asked_about_a_machine_that_has_not_joined() {
    check(
        &asking(pending()).at(110),
        &expect![[r#"
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            again after 18m11s
        "#]],
    );
}

#[test]
fn policies_that_could_not_be_asked_change_nothing() {
    let answer =
        MachineOutcome::AskPolicies(Err(ActError::Forbidden { reason: "this process does not lead" }));
    check(
        &asking(unknown()).at(1_000).on(answer),
        &expect![[r#"
        act ask-policies
        PolicyUnheard: failed to ask the policies: not permitted at the moment: this process does not lead
        retry from 1s to 1m0s
    "#]],
    );
}

#[test]
fn a_policy_that_enforces_calls_a_healthy_node_sick() {
    check(
        &with(running(), &["disk! unhealthy replace"]).at(110),
        &expect![[r#"
            act write-machine join-duration=50s
            NodeUnhealthy: the Node is not healthy: so it is
            status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "so it is" }, Healthy=False NodeUnhealthy (so it is, since 1971-01-01T00:01:50Z; the Machine fails at 1971-01-01T00:11:50Z unless it recovers)
            again at once
        "#]],
    );
}

#[test]
fn a_policy_that_enforces_calls_a_sick_node_healthy() {
    check(
        &with(running().node(unhealthy_node()), &["calm! healthy"]).at(110),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: conditions, Healthy=True NodeHealthy (the Node is healthy)
            again after 4m51s
        "#]],
    );
}

#[test]
fn a_policy_that_enforces_and_does_not_know_leaves_a_running_machine_as_it_is() {
    check(
        &with(running().node(unhealthy_node()), &["zone! unknown"]).at(110),
        &expect![[r#"
            PolicyHolds: it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is
            status: conditions, Healthy=Unknown Undecided (it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is)
            again after 4m51s
        "#]],
    );
    check(
        &with(running().without_node(), &["zone! unknown"]).at(110),
        &expect![[r#"
        PolicyHolds: it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is
        again after 4m51s
    "#]],
    );
}

#[test]
fn a_policy_that_holds_keeps_a_machine_from_failing_however_long() {
    check(
        &with(unknown(), &["zone! unknown", "default! unhealthy replace"]).at(100_000),
        &expect![[r#"
            PolicyHolds: it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is
            status: Healthy=Unknown Undecided (it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is)
            again after 1s
        "#]],
    );
    check(
        &with(unknown().without_node(), &["zone! unknown"]).at(100_000),
        &expect![[r#"
            PolicyHolds: it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is
            status: Healthy=False NodeMissing (it is not decided whether the Machine is healthy, and it is not failed: policy zone holds: so it is)
            again after 1s
        "#]],
    );
    check(
        &with(unknown().without_node(), &["calm! healthy"]).at(100_000),
        &expect![[r#"
            PolicyHolds: it is not decided whether the Machine is healthy, and it is not failed: policy calm says healthy, though the Node is gone
            status: Healthy=False NodeMissing (it is not decided whether the Machine is healthy, and it is not failed: policy calm says healthy, though the Node is gone)
            again after 1s
        "#]],
    );
}

#[test]
fn a_machine_that_is_to_be_replaced_fails_when_its_time_is_over() {
    check(
        &with(unknown(), &["default! unhealthy replace"]).at(110),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: so it is
            status: Healthy=False NodeUnhealthy (so it is, since 1971-01-01T00:01:40Z; the Machine fails at 1971-01-01T00:11:40Z unless it recovers)
            again after 4m51s
        "#]],
    );
    check(
        &with(unknown(), &["default! unhealthy replace"]).at(701),
        &expect![[r#"
            act ask-permit 1
            HealthTimedOut: the Node is not healthy: so it is, for longer than 10m0s
            status: phase Failed, timer off, HealthCheck Failed HealthTimedOut { limit: 10m, because: "so it is" }, Healthy=False NodeUnhealthy (so it is; the Machine has failed, at 1971-01-01T00:11:41Z)
            again after 1s
        "#]],
    );
}

#[test]
fn a_reboot_comes_before_a_replacement() {
    check(
        &with(unknown(), &["default! unhealthy replace", "ladder! unhealthy reboot"]).at(701),
        &expect![[r#"
            act ask-permit 1
            act note-reboot 1 in all
            act reboot-vm
            VmRebooted: the VM was rebooted: policy ladder: so it is
            status: Healthy=False NodeUnhealthy (the VM was rebooted: policy ladder: so it is)
            again after 1s
        "#]],
    );
}

#[test]
fn a_policy_that_waits_keeps_the_machine_unknown() {
    check(
        &with(unknown(), &["ladder! unhealthy"]).at(1_000),
        &expect![[r#"
            PolicyHolds: policy ladder waits: so it is
            status: Healthy=False NodeUnhealthy (policy ladder waits: so it is)
            again after 1s
        "#]],
    );
}

#[test]
fn a_reboot_is_written_down_before_it_is_asked_for() {
    check(
        &with(unknown(), &["ladder! unhealthy reboot"]).at(110),
        &expect![[r#"
            act ask-permit 1
            act note-reboot 1 in all
            act reboot-vm
            VmRebooted: the VM was rebooted: policy ladder: so it is
            status: Healthy=False NodeUnhealthy (the VM was rebooted: policy ladder: so it is)
            again after 4m51s
        "#]],
    );
    let failed = MachineOutcome::NoteReboot(Err(ActError::Conflict));
    check(
        &with(unknown(), &["ladder! unhealthy reboot"]).at(110).on(failed),
        &expect![[r#"
            act ask-permit 1
            act note-reboot 1 in all
            RebootFailed: failed to write down that the VM is rebooted: the object changed in the meantime
            retry from 200ms to 5s
        "#]],
    );
}

#[test]
fn a_running_machine_becomes_unknown_before_it_is_rebooted() {
    check(
        &with(running().node(unhealthy_node()), &["ladder! unhealthy reboot"]).at(110),
        &expect![[r#"
            NodeUnhealthy: the Node is not healthy: so it is
            status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "so it is" }, conditions, Healthy=False NodeUnhealthy (so it is, since 1971-01-01T00:01:50Z; policy ladder wants its VM rebooted)
            again at once
        "#]],
    );
}

#[test]
fn a_vm_is_not_rebooted_twice_within_the_interval() {
    let reboots = Reboots::parse(Some(&seconds(50).to_string()));
    let case = with(unknown(), &["ladder! unhealthy reboot"]).at(110);
    check(
        &case.with(|view| view.policies.reboots = reboots),
        &expect![[r#"
            PolicyHolds: the VM is to be rebooted (policy ladder: so it is), and was rebooted not long ago: not again before 1971-01-01T00:10:50Z
            status: Healthy=False NodeUnhealthy (the VM is to be rebooted (policy ladder: so it is), and was rebooted not long ago: not again before 1971-01-01T00:10:50Z)
            again after 4m51s
        "#]],
    );
}

#[test]
fn a_reboot_that_fails_is_reported_and_not_repeated_at_once() {
    let refused = CallError::Guest(DriverError::new(Code::Unavailable, "the cloud is away"));
    let case = with(unknown(), &["ladder! unhealthy reboot"]).at(110);
    check(
        &case.on(MachineOutcome::RebootVm(Err(refused))),
        &expect![[r#"
            act ask-permit 1
            act note-reboot 1 in all
            act reboot-vm
            RebootFailed: failed to reboot the VM (policy ladder: so it is): machine codes error: code = [Unavailable] message = [the cloud is away]
            status: Healthy=False NodeUnhealthy (failed to reboot the VM (policy ladder: so it is): machine codes error: code = [Unavailable] message = [the cloud is away])
            again after 4m51s
        "#]],
    );
}

#[test]
fn where_nothing_can_be_rebooted_the_machine_waits() {
    let case = with(unknown(), &["ladder! unhealthy reboot"]).at(110);
    check(
        &case.clone().with(capabilities(|can| can.reboot = false)),
        &expect![[r#"
            PolicyHolds: the VM is to be rebooted (policy ladder: so it is), and its driver cannot do that
            status: Healthy=False NodeUnhealthy (the VM is to be rebooted (policy ladder: so it is), and its driver cannot do that)
            again after 4m51s
        "#]],
    );
    check(
        &case.frozen(),
        &expect![[r#"
            PolicyHolds: the VM is to be rebooted (policy ladder: so it is), and that is held while the host is frozen
            status: Healthy=False NodeUnhealthy (the VM is to be rebooted (policy ladder: so it is), and that is held while the host is frozen)
            again after 4m51s
        "#]],
    );
}

#[test]
fn a_failed_machine_recovers_only_when_the_policies_agree() {
    let recovered = failed()
        .with(|view| view.machine.phase_since = Some(seconds(100)))
        .node(crate::machine::tests::node());
    check(
        &with(recovered.clone(), &["disk! unhealthy replace"]).at(900),
        &expect![[r#"
            Failed: failed: so it is
            status: conditions, Healthy=False NodeUnhealthy (so it is; the Machine has failed, at 1971-01-01T00:01:40Z)
            again after 1m0s
        "#]],
    );
    check(
        &with(recovered, &["calm! healthy"]).at(900),
        &expect![[r#"
            act forget-token
            NodeHealthy: the Node is healthy
            status: phase Running, timer off, Create Successful Joined { took: 50s }, conditions, Healthy=True NodeHealthy (the Node is healthy)
            again after 1m0s
        "#]],
    );
}

#[test]
fn policies_that_observe_tell_what_they_would_have_done() {
    check(
        &with(unknown(), &["zone unknown", "ladder unhealthy reboot"]).at(701),
        &expect![[r#"
            act ask-permit 1
            HealthTimedOut: the Node is not healthy: Ready is False, for longer than 10m0s
            status: phase Failed, timer off, HealthCheck Failed HealthTimedOut { limit: 10m, because: "Ready is False" }, Healthy=False NodeUnhealthy (Ready is False; the Machine has failed, at 1971-01-01T00:11:41Z), PolicyObserved=True PolicyWouldDiffer (nothing was done for it: ladder says unhealthy, reboot: so it is; zone says unknown: so it is)
            again after 1s
        "#]],
    );
    check(
        &with(running(), &["calm healthy"]).at(110),
        &expect![[r#"
            act write-machine join-duration=50s
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy)
            again after 4m51s
        "#]],
    );
}

#[test]
fn what_was_reported_about_policies_that_are_gone_is_taken_back() {
    check(
        &running().with(|view| view.policies.is_reported = true).at(110),
        &expect![[r#"
            act write-machine join-duration=50s
            NodeHealthy: the Node is healthy
            status: Healthy=True NodeHealthy (the Node is healthy), PolicyObserved=False NoPolicy (no policy observes this Machine at the moment)
            again at the next resync
        "#]],
    );
}

fn silent_zone() -> MachineOutcome {
    let zone = ZoneState { name: "zone-a".into(), is_silent: true, has_problem: false };
    MachineOutcome::AskPermit(Ok(Permit::Granted { zone: Some(zone) }))
}

#[test]
fn a_vm_waits_for_its_turn_to_be_rebooted_and_says_so() {
    let case = with(unknown(), &["ladder! unhealthy reboot"]).at(110);
    let busy = |limit| MachineOutcome::AskPermit(Ok(Permit::Busy { limit }));
    check(
        &case.clone().on(busy(ReplacementLimit::Machines(2))),
        &expect![[r#"
        act ask-permit 1
        RebootHeld: the VM is to be rebooted (policy ladder: so it is); it is not rebooted yet: others of its deployment are being replaced or rebooted, and 2 may be at a time
        status: Healthy=False NodeUnhealthy (the VM is to be rebooted (policy ladder: so it is); it is not rebooted yet: others of its deployment are being replaced or rebooted, and 2 may be at a time)
        again after 1m0s
    "#]],
    );
    check(
        &case.clone().on(busy(ReplacementLimit::Machines(0))),
        &expect![[r#"
        act ask-permit 1
        RebootHeld: the VM is to be rebooted (policy ladder: so it is); it is not rebooted: by its limit none of its deployment is replaced or rebooted
        status: Healthy=False NodeUnhealthy (the VM is to be rebooted (policy ladder: so it is); it is not rebooted: by its limit none of its deployment is replaced or rebooted)
        again after 1m0s
    "#]],
    );
    let unheard =
        MachineOutcome::AskPermit(Err(ActError::Forbidden { reason: "this process does not lead" }));
    check(
        &case.on(unheard),
        &expect![[r#"
        act ask-permit 1
        RebootHeld: failed to ask whether the VM may be rebooted: not permitted at the moment: this process does not lead
        retry from 1s to 1m0s
    "#]],
    );
}

#[test]
fn no_vm_of_a_silent_zone_is_rebooted_while_it_is_alive_or_nobody_can_tell() {
    let case = with(unknown(), &["ladder! unhealthy reboot"]).at(110).on(silent_zone());
    check(
        &case.clone().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
        act ask-permit 1
        act probe-vm
        ZoneHeld: the VM is to be rebooted (policy ladder: so it is); it is not rebooted: the Nodes of zone zone-a are silent together while the cloud says that the VM is alive, so that the way to them is believed to be broken; it goes on when they speak again or the VM is gone
        status: Healthy=False NodeUnhealthy (the VM is to be rebooted (policy ladder: so it is); it is not rebooted: the Nodes of zone zone-a are silent together while the cloud says that the VM is alive, so that the way to them is believed to be broken; it goes on when they speak again or the VM is gone)
        again after 2m0s
    "#]],
    );
    let unavailable = MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)));
    assert!(case.clone().on(unavailable).report().contains("the cloud does not tell how the VM is"));
    for gone in [Ok(vm_that_is(VmState::Stopped)), Err(guest(Code::NotFound))] {
        assert!(case.clone().on(MachineOutcome::ProbeVm(gone)).report().contains("act reboot-vm"));
    }
}

#[test]
fn a_machine_that_has_failed_is_not_rebooted_and_asks_seldom() {
    let failed = failed().with(|view| view.machine.phase_since = Some(seconds(100))).node(unhealthy_node());
    for request in ["ladder! unhealthy reboot", "ladder! unhealthy", "zone! unknown"] {
        let case = with(failed.clone(), &[request]).at(2_000);
        let text = case.report();
        assert!(!text.contains("act ") && text.contains("again after 1m0s"), "{text}");
    }
    check(
        &with(failed.clone(), &["ladder! unhealthy reboot"]).at(2_000),
        &expect![[r#"
        Failed: failed, and stays so until it is replaced or recovers, although policy ladder would have its VM rebooted: so it is
        status: conditions, Healthy=False NodeUnhealthy (so it is; the Machine has failed, at 1971-01-01T00:01:40Z)
        again after 1m0s
    "#]],
    );
    check(
        &with(failed.clone().without_node(), &["ladder! unhealthy"]).at(2_000),
        &expect![[r#"
        Failed: failed, and stays so until it is replaced or recovers, although policy ladder would wait: so it is
        status: Healthy=False NodeMissing (Node node-1 is not there; the Machine has failed, at 1971-01-01T00:01:40Z)
        again after 1m0s
    "#]],
    );
    check(
        &with(failed, &["zone! unknown"]).at(2_000),
        &expect![[r#"
        Failed: failed, and stays so until it is replaced or recovers, although policy zone holds: so it is
        status: conditions, Healthy=Unknown Undecided (so it is: the Machine stays as it is)
        again after 1m0s
    "#]],
    );
}

#[test]
fn whoever_becomes_unknown_says_what_the_policy_has_in_store() {
    let sick = running().node(unhealthy_node()).at(110);
    check(
        &with(sick.clone(), &["ladder! unhealthy"]),
        &expect![[r#"
        NodeUnhealthy: the Node is not healthy: so it is
        status: phase Unknown, timer on, HealthCheck Processing Unhealthy { because: "so it is" }, conditions, Healthy=False NodeUnhealthy (so it is, since 1971-01-01T00:01:50Z; policy ladder waits before anything is done)
        again at once
    "#]],
    );
    check(
        &with(sick, &["ladder! unhealthy reboot"]).without_node(),
        &expect![[r#"
        NodeMissing: Node node-1 is gone
        status: phase Unknown, timer on, HealthCheck Processing NodeMissing, Healthy=False NodeMissing (Node node-1 is not there, since 1971-01-01T00:01:50Z; policy ladder wants its VM rebooted)
        again at once
    "#]],
    );
}
