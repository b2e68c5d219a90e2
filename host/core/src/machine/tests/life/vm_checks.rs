//! Looks at VMs in service.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Address, Vm, VmState};
use crate::machine::{MachineOutcome, NodePresence, TargetFact};
use crate::scheduling::vm_checks::VmCheckFact;

use crate::machine::tests::facts::{guest, unhealthy_node, vm};
use crate::machine::tests::{Case, check, pending, running, seconds, unknown};

/// Machine `m-1` runs since long, and its VM is to be looked at since second 5,000.
fn due(missed: Option<i64>) -> Case {
    running().at(5_000).with(|view| {
        view.machine.has_join_duration = true;
        view.vm_check = Some(VmCheckFact {
            next: seconds(5_000),
            interval: SignedDuration::from_hours(1),
            missed: missed.map(seconds),
            is_doubted: false,
            is_unproven: false,
        });
    })
}

fn not_found(case: Case) -> Case {
    case.on(MachineOutcome::ProbeVm(Err(guest(Code::NotFound))))
}

#[test]
fn a_vm_in_service_is_looked_at_when_it_is_time_and_its_addresses_are_stored() {
    let address = |kind: &str, address: &str| Address { kind: kind.into(), address: address.into() };
    let shown = Vm { addresses: vec![address("InternalIP", "10.0.0.7")], ..vm() };
    check(
        &due(None).on(MachineOutcome::ProbeVm(Ok(shown))),
        &expect![[r#"
        act probe-vm
        NodeHealthy: the Node is healthy
        status: Hostname node-1, InternalIP 10.0.0.7, VM Running, Healthy=True NodeHealthy (the Node is healthy)
        again after 1h0m1s
    "#]],
    );
    check(
        &due(None).at(4_000),
        &expect![[r#"
        NodeHealthy: the Node is healthy
        status: Healthy=True NodeHealthy (the Node is healthy)
        again after 16m41s
    "#]],
    );
}

#[test]
fn a_vm_is_gone_when_two_looks_have_not_found_it_and_its_machine_goes_on() {
    check(
        &not_found(due(None)),
        &expect![[r#"
        act probe-vm
        NodeHealthy: the Node is healthy
        status: Healthy=True NodeHealthy (the Node is healthy)
        again after 2m1s
    "#]],
    );
    check(
        &not_found(due(Some(4_900))),
        &expect![[r#"
        act probe-vm
        NodeHealthy: the Node is healthy
        status: Healthy=True NodeHealthy (the Node is healthy)
        again after 21s
    "#]],
    );
    check(
        &not_found(due(Some(4_880))),
        &expect![[r#"
        act probe-vm
        NodeHealthy: the Node is healthy
        status: Healthy=True NodeHealthy (the Node is healthy), VmPresent=False VmGone (two looks, 2m0s apart, have not found VM sim://1 in the cloud: the Machine fails when its Node is not healthy any more)
        again after 1h0m1s
    "#]],
    );
    let reported = due(None).with(|view| view.vm_check.as_mut().unwrap().is_doubted = true);
    check(
        &reported.on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
        act probe-vm
        NodeHealthy: the Node is healthy
        status: Hostname node-1, InternalIP 10.0.0.1, VM Running, Healthy=True NodeHealthy (the Node is healthy), VmPresent=True VmFound (the cloud shows the VM)
        again after 1h0m1s
    "#]],
    );
}

#[test]
fn a_cloud_that_cannot_be_asked_or_another_vm_says_nothing() {
    let other = Vm { provider_id: "sim://2".into(), state: VmState::Stopped, ..vm() };
    for outcome in [
        MachineOutcome::ProbeVm(Err(guest(Code::Unavailable))),
        MachineOutcome::ProbeVm(Err(guest(Code::Unimplemented))),
        MachineOutcome::ProbeVm(Ok(other)),
    ] {
        let text = due(None).on(outcome).report();
        assert!(!text.contains("VmPresent") && !text.contains("VM "), "{text}");
        assert!(text.ends_with("again after 1h1s\n") || text.contains("1h"), "{text}");
    }
}

#[test]
fn nobody_looks_at_what_is_not_in_service() {
    for case in [
        due(None).node(unhealthy_node()),
        due(None).with(|view| view.machine.provider_id = None),
        pending().with(|view| view.vm_check = due(None).view.vm_check),
        due(None).with(crate::machine::tests::facts::capabilities(|can| can.status = false)),
    ] {
        let text = case.report();
        assert!(!text.starts_with("act probe-vm\nNode"), "{text}");
    }
    let without_target = due(None).without_target().with(|view| {
        view.machine.phase = crate::value::phase::Phase::Available;
    });
    assert!(without_target.report().starts_with("act probe-vm"), "{}", without_target.report());
}

fn refused() -> MachineOutcome {
    MachineOutcome::ProbeVm(Err(guest(Code::FailedPrecondition)))
}

#[test]
fn attack_a_vm_in_service_that_nothing_proves_to_be_the_machines_is_reported_and_its_machine_is_not_replaced()
{
    check(
        &due(None).on(refused()),
        &expect![[r#"
        act probe-vm
        NodeHealthy: the Node is healthy
        status: Healthy=True NodeHealthy (the Node is healthy), VmPresent=Unknown VmNotProven (so it is; until that is mended, nothing is created, failed or removed)
        again after 1h0m1s
    "#]],
    );
    // Its Node falls silent, for longer than the health time-out.
    let unproven = |case: Case| {
        let mut look = due(None).view.vm_check;
        look.as_mut().unwrap().is_unproven = true;
        case.at(100_000).with(|view| view.vm_check = look)
    };
    let fails = |text: &str| text.contains("Failed") && text.contains("phase");
    let proven = unknown().at(100_000).report();
    assert!(fails(&proven), "{proven}");
    let held = unproven(unknown()).on(refused()).report();
    assert!(held.contains("act probe-vm\nReplacementHeld: failing it is held: ") && !fails(&held), "{held}");
    let without_driver = unproven(unknown())
        .with(crate::machine::tests::facts::capabilities(|can| can.status = false))
        .report();
    assert!(without_driver.contains("ReplacementHeld") && !fails(&without_driver), "{without_driver}");
    let unavailable = unproven(unknown()).on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)))).report();
    assert!(unavailable.contains("ReplacementHeld") && !fails(&unavailable), "{unavailable}");
    // Once a look says otherwise, it fails as ever.
    for outcome in [MachineOutcome::ProbeVm(Ok(vm())), MachineOutcome::ProbeVm(Err(guest(Code::NotFound)))] {
        let text = unproven(unknown()).on(outcome).report();
        assert!(fails(&text), "{text}");
    }
}

#[test]
fn attack_a_machine_of_another_program_is_not_failed_before_a_look_has_proven_its_vm() {
    let fails = |text: &str| text.contains("Failed") && text.contains("phase");
    let silent = pending().with(|view| view.target = TargetFact::Cluster(NodePresence::Absent));
    for case in [silent.at(100_000), unknown().at(100_000)] {
        assert!(fails(&case.report()), "{}", case.report());
        let unmarked = || case.clone().with(|view| view.marks.of_machine = None);
        let held = unmarked().on(refused()).report();
        assert!(
            held.contains("act probe-vm\nReplacementHeld: failing it is held: ") && !fails(&held),
            "{held}"
        );
        for outcome in [Ok(vm()), Err(guest(Code::NotFound)), Err(guest(Code::Unavailable))] {
            let text = unmarked().on(MachineOutcome::ProbeVm(outcome)).report();
            assert!(fails(&text), "{text}");
        }
    }
}

#[test]
fn a_vm_in_service_with_something_left_to_do_is_initialized_without_a_bootstrap_token() {
    let error = |id: &str| {
        let due = DriverError {
            provider_id: Some(id.into()),
            ..DriverError::new(Code::Uninitialized, "its marks are due")
        };
        MachineOutcome::ProbeVm(Err(CallError::Guest(due)))
    };
    let adopted = || due(None).with(crate::machine::tests::facts::capabilities(|can| can.initialize = true));
    check(
        &adopted().on(error("sim://1")).on(MachineOutcome::InitializeVm(Ok(vm()))),
        &expect![[r#"
        act probe-vm
        act initialize-vm
        NodeHealthy: the Node is healthy
        status: Hostname node-1, InternalIP 10.0.0.1, VM Running, Healthy=True NodeHealthy (the Node is healthy)
        again after 1h0m1s
    "#]],
    );
    let denied = MachineOutcome::InitializeVm(Err(guest(Code::PermissionDenied)));
    let text = adopted().on(error("sim://1")).on(denied).report();
    assert!(text.contains("VmPresent=True InitializationFailed (machine codes error: code = [PermissionDenied] message = [so it is])"), "{text}");
    // Another VM, or a driver that has no such step.
    for case in [adopted().on(error("sim://2")), due(None).on(error("sim://1"))] {
        assert!(!case.report().contains("initialize-vm"), "{}", case.report());
    }
}

#[test]
fn attack_a_look_before_a_create_that_a_person_must_fix_never_has_the_machine_replaced() {
    let late = || crate::machine::tests::begun().at(1_000_000);
    let text = late().on(refused()).report();
    assert!(text.contains("act probe-vm\nCreationFailed: ") && !text.contains("create-vm"), "{text}");
    assert!(!text.contains("phase Failed") && !text.contains("Failed,"), "{text}");
    // Answers that say nothing of a VM count against its time.
    let text = late().on(MachineOutcome::ProbeVm(Err(guest(Code::PermissionDenied)))).report();
    assert!(text.contains("phase Failed") || text.contains("Failed,"), "{text}");
}
