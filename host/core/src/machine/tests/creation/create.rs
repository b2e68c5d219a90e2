//! From a Machine to its one VM: order, adoption, looks, and creates that take their time.

use expect_test::expect;

use crate::driver::error::Code;
use crate::driver::write_error::ActError;
use crate::driver::{Address, Vm, VmState};
use crate::machine::MachineOutcome;
use crate::value::phase::Phase;

use crate::machine::tests::facts::{broken, capabilities, guest, uninitialized, vm, vm_that_is};
use crate::machine::tests::{Case, begun, check, creating, failed, running};

#[test]
fn a_machine_is_claimed_gets_a_token_a_vm_and_its_id_in_this_order() {
    check(
        &creating(),
        &expect![[r#"
            act claim
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn what_comes_after_creation_is_done_with_the_same_token_once_the_id_is_stored() {
    check(
        &creating().with(capabilities(|offers| offers.initialize = true)),
        &expect![[r#"
            act claim
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            act initialize-vm
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn the_first_pass_does_not_look_and_every_later_one_does_before_it_creates() {
    check(
        &creating().on(MachineOutcome::CreateVm(Err(guest(Code::Unavailable)))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [Unavailable] message = [so it is]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Unavailable] message = [so it is]" }, code Unavailable
        retry from 5s to 2m0s
    "#]],
    );
    check(
        &begun(),
        &expect![[r#"
            act probe-vm
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn an_unstarted_machine_needs_neither_a_mark_nor_a_look() {
    let unstarted = begun().with(|view| view.machine.is_unstarted = true);
    check(
        &unstarted.clone(),
        &expect![[r#"
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
    // A note on the Machine outweighs the memory of this process.
    let traced =
        unstarted.with(|view| view.machine.create_intent = Some(crate::machine::tests::facts::intent(0)));
    assert!(traced.report().starts_with("act probe-vm\n"));
}

#[test]
fn an_unstarted_machine_without_a_mark_is_marked_first() {
    let unmarked = creating().with(|view| view.machine.is_unstarted = true);
    assert!(unmarked.report().starts_with("act claim\nact ensure-token\nact create-vm\n"));
}

#[test]
fn a_machine_whose_finalizer_was_taken_off_by_hand_is_looked_for() {
    check(
        &creating().with(|view| view.machine.create_intent = Some(crate::machine::tests::facts::intent(0))),
        &expect![[r#"
            act claim
            act probe-vm
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
    check(
        &creating().with(|view| view.machine.last_known_state = Some("job-7".into())),
        &expect![[r#"
            act claim
            act probe-vm
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn a_vm_that_is_found_is_adopted() {
    check(
        &begun().on(MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Pending)))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Pending, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn a_vm_that_is_found_gets_what_comes_after_creation() {
    let initializes = begun().with(capabilities(|offers| offers.initialize = true));
    check(
        &initializes.clone().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            act ensure-token
            act initialize-vm
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
    check(
        &initializes.on(MachineOutcome::ProbeVm(Err(uninitialized(true)))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            act ensure-token
            act initialize-vm
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn a_create_that_answers_uninitialized_has_made_the_vm() {
    check(
        &creating().on(MachineOutcome::CreateVm(Err(uninitialized(true)))),
        &expect![[r#"
            act claim
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating
            again at once
        "#]],
    );
}

#[test]
fn an_uninitialized_vm_that_is_not_named_is_not_made_again() {
    check(
        &begun().on(MachineOutcome::ProbeVm(Err(uninitialized(false)))),
        &expect![[r#"
        act probe-vm
        CreationFailed: machine codes error: code = [Uninitialized] message = [not done yet]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Uninitialized] message = [not done yet]" }, code Uninitialized
        retry from 5s to 3m0s
    "#]],
    );
    let stored = begun().with(|view| {
        view.machine.provider_id = Some("sim://1".into());
        view.machine.node_name = Some("node-1".into());
    });
    check(
        &stored.on(MachineOutcome::ProbeVm(Err(uninitialized(false)))),
        &expect![[r#"
            act probe-vm
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating
            again at once
        "#]],
    );
}

/// The id is stored, the status is not written yet: a crash came in between.
fn stored() -> Case {
    begun().with(|view| {
        view.machine.provider_id = Some("sim://1".into());
        view.machine.node_name = Some("node-1".into());
    })
}

#[test]
fn a_stored_id_outweighs_a_look_that_finds_nothing() {
    check(
        &stored(),
        &expect![[r#"
            act probe-vm
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating
            again at once
        "#]],
    );
    check(
        &stored().with(capabilities(|offers| offers.status = false)),
        &expect![[r#"
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating
            again at once
        "#]],
    );
}

#[test]
fn a_stored_id_is_completed_by_what_is_missing_beside_it() {
    check(
        &stored().with(|view| view.machine.node_name = None).on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
    check(
        &stored().with(|view| view.machine.has_priority = false),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating
            again at once
        "#]],
    );
}

#[test]
fn a_driver_that_offers_no_status_after_all_is_not_asked_for_more() {
    check(
        &begun().on(MachineOutcome::ProbeVm(Err(guest(Code::Unimplemented)))),
        &expect![[r#"
            act probe-vm
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn nothing_is_created_while_the_cloud_cannot_be_asked() {
    check(
        &begun().on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)))),
        &expect![[r#"
        act probe-vm
        CreationFailed: machine codes error: code = [Unavailable] message = [so it is]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Unavailable] message = [so it is]" }, code Unavailable
        retry from 5s to 2m0s
    "#]],
    );
    check(
        &begun().on(MachineOutcome::ProbeVm(Err(guest(Code::OutOfRange)))),
        &expect![[r#"
        act probe-vm
        CreationFailed: machine codes error: code = [OutOfRange] message = [so it is]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [OutOfRange] message = [so it is]" }, code OutOfRange
        retry from 5s to 3m0s
    "#]],
    );
    check(
        &begun().on(MachineOutcome::ProbeVm(Err(broken()))),
        &expect![[r#"
        act probe-vm
        DriverBroken: the plugin hit its deadline limit (5m)
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "the plugin hit its deadline limit (5m)" }, code DeadlineExceeded
        retry from 5s to 2m0s
    "#]],
    );
}

#[test]
fn without_a_target_cluster_the_machine_is_available_with_all_its_addresses() {
    let address = |kind: &str, address: &str| Address { kind: kind.into(), address: address.into() };
    let initialized = Vm { addresses: vec![address("ExternalIP", "1.2.3.4")], ..vm() };
    let case = creating()
        .without_target()
        .with(capabilities(|offers| offers.initialize = true))
        .with(|view| view.machine.addresses = vec![address("InternalDNS", "m-1.internal")])
        .on(MachineOutcome::InitializeVm(Ok(initialized)));
    check(
        &case,
        &expect![[r#"
            act claim
            act create-vm
            act record-vm sim://1
            act initialize-vm
            VmCreated: the VM is created, and there is no target cluster to join
            status: phase Available, timer off, Create Successful Created, ExternalIP 1.2.3.4, Hostname node-1, InternalDNS m-1.internal, InternalIP 10.0.0.1, VM Running, in zone-a
            again at the next resync
        "#]],
    );
}

#[test]
fn a_failed_machine_without_vm_is_not_created_again() {
    check(
        &failed().with(|view| view.machine.provider_id = None),
        &expect![[r#"
        Failed: creation failed for good: delete the Machine to try again
        again at the next resync
    "#]],
    );
}

#[test]
fn a_running_machine_that_lost_its_id_gets_it_back_and_goes_on_running() {
    let lost = running().with(|view| view.machine.provider_id = None);
    check(
        &lost.clone().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            VmCreated: the VM's id is stored again
            status: Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
    let outage = lost.at(100_000).on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable))));
    assert!(!outage.report().contains("phase Failed"));
}

#[test]
fn a_crash_after_each_effect_leads_to_a_pass_that_looks_first() {
    for phase in [Phase::New, Phase::CrashLoopBackOff] {
        let text = begun().with(|view| view.machine.phase = phase).report();
        assert!(text.starts_with("act probe-vm\n"), "{text}");
    }
}

#[test]
fn a_claim_that_may_have_happened_creates_nothing() {
    let ambiguous = ActError::Ambiguous { message: "connection reset".into() };
    check(
        &creating().on(MachineOutcome::AddFinalizer(Err(ActError::Conflict))),
        &expect![[r#"
        act claim
        ClaimFailed: failed to put the finalizer on the Machine: the object changed in the meantime
        retry from 200ms to 5s
    "#]],
    );
    check(
        &creating().on(MachineOutcome::AddFinalizer(Err(ambiguous))),
        &expect![[r#"
        act claim
        ClaimFailed: failed to put the finalizer on the Machine: the outcome is unknown: connection reset
        retry from 1s to 1m0s
    "#]],
    );
}

#[test]
fn an_id_that_cannot_be_stored_is_found_again() {
    let unreachable = ActError::Unreachable { message: "connection refused".into() };
    check(
        &creating().on(MachineOutcome::RecordVm(Err(unreachable))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        act record-vm sim://1 node-1
        WriteFailed: failed to store the VM's id on the Machine: the API server is unreachable: connection refused
        retry from 1s to 1m0s
    "#]],
    );
}
