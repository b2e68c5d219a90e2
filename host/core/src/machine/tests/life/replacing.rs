//! Before a Machine is failed for its health: its turn, and what its zone says.

use expect_test::expect;

use crate::driver::VmState;
use crate::driver::error::Code;
use crate::machine::MachineOutcome;
use crate::safety::meltdown::{Permit, ReplacementLimit, ZoneState};

use crate::machine::tests::facts::{
    self, CREATION_TIMEOUT_SECONDS, HEALTH_TIMEOUT_SECONDS, guest, vm, vm_that_is,
};
use crate::machine::tests::{Case, check, pending, seconds, unknown};

fn overdue() -> Case {
    unknown().at(101 + HEALTH_TIMEOUT_SECONDS)
}

fn silent() -> MachineOutcome {
    let zone = ZoneState { name: "zone-a".into(), is_silent: true, has_problem: false };
    MachineOutcome::AskPermit(Ok(Permit::Granted { zone: Some(zone) }))
}

/// Its VM is there, and its Node has not joined in time.
fn late() -> Case {
    pending().at(CREATION_TIMEOUT_SECONDS + 1)
}

fn fails(case: &Case) -> bool {
    case.report().contains("phase Failed")
}

#[test]
fn a_machine_waits_for_its_turn_and_says_so() {
    let busy = MachineOutcome::AskPermit(Ok(Permit::Busy { limit: ReplacementLimit::ONE }));
    check(
        &overdue().on(busy),
        &expect![[r#"
            act ask-permit 1
            ReplacementHeld: the Node is not healthy: Ready is False; it is not failed yet: others of its deployment are being replaced or rebooted, and 1 may be at a time
            status: Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:40Z; failing it is held, see condition Ready)
            again after 1m0s
        "#]],
    );
}

#[test]
fn a_machine_of_a_silent_zone_is_held_while_its_vm_is_alive_or_nobody_can_tell() {
    check(
        &overdue().on(silent()).on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
        act ask-permit 1
        act probe-vm
        ZoneHeld: the Node is not healthy: Ready is False; it is not failed: the Nodes of zone zone-a are silent together while the cloud says that the VM is alive, so that the way to them is believed to be broken; it goes on when they speak again or the VM is gone
        status: Healthy=False NodeUnhealthy (Ready is False, since 1971-01-01T00:01:40Z; failing it is held, see condition Ready)
        again after 2m0s
    "#]],
    );
    assert!(!fails(&overdue().on(silent()).on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable))))));
    assert!(!fails(&overdue().on(silent()).with(|view| view.driver = crate::machine::DriverFact::NotChosen)));
    for gone in
        [Ok(vm_that_is(VmState::Stopped)), Ok(vm_that_is(VmState::Stopping)), Err(guest(Code::NotFound))]
    {
        assert!(fails(&overdue().on(silent()).on(MachineOutcome::ProbeVm(gone))));
    }
    let blind = overdue().on(silent()).with(facts::capabilities(|offers| offers.status = false));
    assert!(fails(&blind), "a driver that never can tell is not waited for");
}

#[test]
fn a_machine_that_never_joined_waits_for_no_turn_but_asks_the_cloud_in_a_silent_zone() {
    check(
        &late().on(silent()).on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act ask-permit of the zone
            act probe-vm
            ZoneHeld: the VM is created, Node node-1 has not joined yet; it is not failed: the Nodes of zone zone-a are silent together while the cloud says that the VM is alive, so that the way to them is believed to be broken; it goes on when they speak again or the VM is gone
            again after 2m0s
        "#]],
    );
    let report =
        late().node(facts::unhealthy_node()).on(silent()).on(MachineOutcome::ProbeVm(Ok(vm()))).report();
    assert!(
        report.contains("failing it is held, see condition Ready") && !report.contains("it fails at"),
        "{report}"
    );
    assert!(!fails(&late().on(silent()).on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable))))));
    let stopped = MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Stopped)));
    let nothing = MachineOutcome::AskPermit(Ok(Permit::Granted { zone: None }));
    assert!(fails(&late().on(nothing)) && fails(&late().on(silent()).on(stopped)));
    let write_failure = ZoneState { name: "zone-a".into(), is_silent: false, has_problem: true };
    let write_failure = MachineOutcome::AskPermit(Ok(Permit::Granted { zone: Some(write_failure) }));
    assert!(
        fails(&late().on(write_failure).on(MachineOutcome::ProbeVm(Ok(vm())))),
        "its own fault, as far as can be told"
    );
}

#[test]
fn a_machine_that_is_unknown_since_before_an_outage_gets_new_time() {
    check(
        &overdue().with(|view| view.thawed_at = Some(seconds(650))),
        &expect![[r#"
        HealthTimeoutReset: an outage of an API server is over: the time that the Node may be unhealthy starts again
        status: phase Running, timer off, HealthCheck Successful HealthTimeoutReset, Healthy=False NodeUnhealthy (Ready is False)
        again at once
    "#]],
    );
    assert!(fails(&overdue().with(|view| view.thawed_at = Some(seconds(100)))));
}
