//! Creation that does not come to its end: what is missing, what fails, and when it is over.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::error::{CallError, Code, DriverError, Refusal};
use crate::driver::write_error::ActError;
use crate::driver::{Creation, Vm};
use crate::machine::{ClassFact, DriverFact, MachineOutcome, SecretFact};
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

use crate::machine::tests::facts::{
    self, CREATION_TIMEOUT_SECONDS, broken, capabilities, guest, in_progress, refused, vm,
};
use crate::machine::tests::{Case, begun, check, creating, pending};

#[test]
fn a_machine_that_cannot_be_understood_says_so() {
    let invalid = Some("spec.healthTimeout is no duration".into());
    check(
        &creating().with(|view| view.machine.invalid = invalid),
        &expect![[r#"
        InvalidMachine: spec.healthTimeout is no duration
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "spec.healthTimeout is no duration" }
        retry from 5s to 10m0s
    "#]],
    );
    check(
        &creating().with(|view| view.class = ClassFact::Missing("".into())),
        &expect![[r#"
        InvalidMachine: spec.class.name is required: name a MachineClass
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "spec.class.name is required: name a MachineClass" }
        retry from 5s to 10m0s
    "#]],
    );
}

#[test]
fn a_class_that_cannot_be_used_is_awaited() {
    check(
        &creating().with(|view| view.class = ClassFact::Missing("worker".into())),
        &expect![[r#"
        ClassMissing: MachineClass worker does not exist: create it
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "MachineClass worker does not exist: create it" }
        retry from 5s to 10m0s
    "#]],
    );
    check(
        &creating().with(|view| view.class = ClassFact::Deleting("worker".into())),
        &expect![[r#"
        ClassDeleting: MachineClass worker is being deleted: use another one
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "MachineClass worker is being deleted: use another one" }
        retry from 5s to 10m0s
    "#]],
    );
    let invalid = ClassFact::Invalid { name: "worker".into(), message: "provider is required".into() };
    check(
        &creating().with(|view| view.class = invalid),
        &expect![[r#"
            ClassInvalid: MachineClass worker is invalid: provider is required
            status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "MachineClass worker is invalid: provider is required" }, code InvalidArgument
            retry from 5s to 10m0s
        "#]],
    );
}

#[test]
fn secrets_are_awaited() {
    check(
        &creating().with(|view| view.secret = SecretFact::NotNamed),
        &expect![[r#"
        SecretMissing: the MachineClass names no Secret: set secretRef or credentialsSecretRef
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "the MachineClass names no Secret: set secretRef or credentialsSecretRef" }
        retry from 5s to 10m0s
    "#]],
    );
    let missing = SecretFact::Missing(ObjectKey::new("garden", "cloud"));
    check(
        &creating().with(|view| view.secret = missing),
        &expect![[r#"
        SecretMissing: Secret garden/cloud of the MachineClass does not exist: create it
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "Secret garden/cloud of the MachineClass does not exist: create it" }
        retry from 5s to 10m0s
    "#]],
    );
    check(
        &creating().with(|view| view.secret = SecretFact::WithoutUserData),
        &expect![[r#"
        UserDataMissing: the MachineClass's Secret has no key userData: add what a machine gets at boot
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "the MachineClass's Secret has no key userData: add what a machine gets at boot" }
        retry from 5s to 10m0s
    "#]],
    );
}

#[test]
fn no_other_version_makes_a_vm_than_the_one_that_the_class_pins() {
    check(
        &creating().with(facts::substitute),
        &expect![[r#"
        DriverNotReady: the pinned one is not loaded
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "the pinned one is not loaded" }
        retry from 5s to 10m0s
    "#]],
    );
    check(
        &begun().with(facts::substitute),
        &expect![[r#"
        DriverNotReady: the pinned one is not loaded
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "the pinned one is not loaded" }
        retry from 5s to 10m0s
    "#]],
    );
}

#[test]
fn a_driver_is_awaited() {
    let unknown = Refusal::UnknownProvider { provider: "sim".into(), hint: "; known are aws, gcp".into() };
    check(
        &creating().with(|view| view.driver = DriverFact::Refused(unknown)),
        &expect![[r#"
        DriverNotReady: no plugin serves provider "sim"; known are aws, gcp
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "no plugin serves provider \"sim\"; known are aws, gcp" }
        retry from 5s to 10m0s
    "#]],
    );
    check(
        &creating().with(|view| view.driver = DriverFact::NotChosen),
        &expect![[r#"
        DriverNotReady: no driver is chosen yet
        status: phase CrashLoopBackOff, Create Failed CreationWaits { message: "no driver is chosen yet" }
        retry from 5s to 10m0s
    "#]],
    );
}

#[test]
fn a_driver_that_is_being_loaded_is_awaited_and_nothing_has_failed() {
    let loading =
        Refusal::Loading { provider: "sim".into(), loading: "plugin sim (shoot/sim) is being loaded".into() };
    let loading = DriverFact::Refused(loading);
    check(
        &creating().with(|view| view.driver = loading.clone()),
        &expect![[r#"
        DriverLoading: the driver of provider "sim" is being loaded: plugin sim (shoot/sim) is being loaded
        retry from 5s to 10m0s
    "#]],
    );
    check(
        &begun().with(|view| view.driver = loading),
        &expect![[r#"
        DriverLoading: the driver of provider "sim" is being loaded: plugin sim (shoot/sim) is being loaded
        retry from 5s to 10m0s
    "#]],
    );
}

#[test]
fn what_is_awaited_leaves_the_phase_of_a_machine_that_has_one() {
    let case = begun().with(|view| {
        view.machine.phase = Phase::CrashLoopBackOff;
        view.secret = SecretFact::WithoutUserData;
    });
    check(
        &case,
        &expect![[r#"
        UserDataMissing: the MachineClass's Secret has no key userData: add what a machine gets at boot
        status: Create Failed CreationWaits { message: "the MachineClass's Secret has no key userData: add what a machine gets at boot" }
        retry from 5s to 10m0s
    "#]],
    );
}

#[test]
fn a_frozen_gate_holds_creation_and_does_not_call_it_failed() {
    check(
        &creating().frozen(),
        &expect![[r#"
            Frozen: creation is held since 1971-01-01T00:00:00Z: the API server of the target cluster does not answer; it goes on when it does
            retry from 5s to 10m0s
        "#]],
    );
    check(
        &begun().frozen().at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
            Frozen: creation is held since 1971-01-01T00:00:00Z: the API server of the target cluster does not answer; it goes on when it does
            retry from 5s to 10m0s
        "#]],
    );
}

/// Code, reason, phase, what the operation says, and when it is tried again.
fn row(code: Code) -> String {
    let text = creating().on(MachineOutcome::CreateVm(Err(guest(code)))).report();
    let after_create = text.split_once("act create-vm\n").unwrap().1;
    let lines: Vec<&str> = after_create.lines().collect();
    let reason = lines[0].split(':').next().unwrap();
    let status = lines[1].strip_prefix("status: ").unwrap();
    let (phase, rest) = status.split_once(", ").unwrap();
    let said = rest.rsplit(", ").next().unwrap();
    format!("{reason}, {phase}, {said}, {}\n", lines[2])
}

#[test]
fn every_code_reaches_the_autoscaler_and_decides_when_it_is_tried_again() {
    let codes = Code::ALL.into_iter().map(row);
    expect![[r#"
        CreationFailed, phase CrashLoopBackOff, code Canceled, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Unknown, retry from 5s to 2m0s
        CreationFailed, phase CrashLoopBackOff, code InvalidArgument, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code DeadlineExceeded, retry from 5s to 2m0s
        CreationFailed, phase CrashLoopBackOff, code NotFound, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code AlreadyExists, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code PermissionDenied, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code ResourceExhausted, retry from 7m0s to 7m0s
        CreationFailed, phase CrashLoopBackOff, code FailedPrecondition, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Aborted, retry from 5s to 2m0s
        CreationFailed, phase CrashLoopBackOff, code OutOfRange, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Unimplemented, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Internal, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Unavailable, retry from 5s to 2m0s
        CreationFailed, phase CrashLoopBackOff, code DataLoss, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Unauthenticated, retry from 5s to 3m0s
        CreationFailed, phase CrashLoopBackOff, code Uninitialized, retry from 5s to 3m0s
    "#]]
    .assert_eq(&codes.collect::<String>());
}

#[test]
fn three_kinds_of_failure_are_never_mixed() {
    check(
        &creating().on(MachineOutcome::CreateVm(Err(guest(Code::Internal)))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [Internal] message = [so it is]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Internal] message = [so it is]" }, code Internal
        retry from 5s to 3m0s
    "#]],
    );
    check(
        &creating().on(MachineOutcome::CreateVm(Err(broken()))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        DriverBroken: the plugin hit its deadline limit (5m)
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "the plugin hit its deadline limit (5m)" }, code DeadlineExceeded
        retry from 5s to 2m0s
    "#]],
    );
    check(
        &creating().on(MachineOutcome::CreateVm(Err(refused()))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        DriverNotReady: plugin sim is not ready: Rejected
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "plugin sim is not ready: Rejected" }, code Unavailable
        retry from 5s to 2m0s
    "#]],
    );
}

#[test]
fn what_the_driver_wants_to_know_and_when_it_wants_to_be_asked_is_kept() {
    let error = DriverError {
        last_known_state: Some("job-8".into()),
        retry_after: Some(SignedDuration::from_secs(42)),
        ..DriverError::new(Code::Unavailable, "too many requests")
    };
    check(
        &creating().on(MachineOutcome::CreateVm(Err(CallError::Guest(error)))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [Unavailable] message = [too many requests]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Unavailable] message = [too many requests]" }, code Unavailable, state job-8
        retry from 5s to 2m0s, not before 42s
    "#]],
    );
}

#[test]
fn a_step_after_creation_that_fails_is_tried_again_and_one_that_is_not_offered_is_done() {
    let initializes = creating().with(capabilities(|offers| offers.initialize = true));
    check(
        &initializes.clone().on(MachineOutcome::InitializeVm(Err(guest(Code::Internal)))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        act record-vm sim://1 node-1
        act initialize-vm
        InitializationFailed: machine codes error: code = [Internal] message = [so it is]
        status: phase CrashLoopBackOff, Create Failed InitializationFailed { error: "machine codes error: code = [Internal] message = [so it is]" }, code Internal
        retry from 5s to 2m0s
    "#]],
    );
    check(
        &initializes.on(MachineOutcome::InitializeVm(Err(guest(Code::Unimplemented)))),
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
fn a_driver_that_names_neither_id_nor_node_has_not_created() {
    let nameless = Vm { provider_id: "".into(), ..vm() };
    check(
        &creating().on(MachineOutcome::CreateVm(Ok(Creation::Created(nameless)))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [Internal] message = [the driver named no provider id or no Node for the VM]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Internal] message = [the driver named no provider id or no Node for the VM]" }, code Internal
        retry from 5s to 3m0s
    "#]],
    );
    let without_node = Vm { node_name: "".into(), ..vm() };
    let created = MachineOutcome::CreateVm(Ok(Creation::Created(without_node)));
    check(
        &creating().on(created.clone()),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [Internal] message = [the driver named no provider id or no Node for the VM]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Internal] message = [the driver named no provider id or no Node for the VM]" }, code Internal
        retry from 5s to 3m0s
    "#]],
    );
    check(
        &creating().without_target().on(created),
        &expect![[r#"
            act claim
            act create-vm
            act record-vm sim://1
            VmCreated: the VM is created, and there is no target cluster to join
            status: phase Available, timer off, Create Successful Created, InternalIP 10.0.0.1, VM Running, in zone-a
            again at the next resync
        "#]],
    );
}

#[test]
fn a_token_that_cannot_be_made_stops_the_create() {
    let denied = ActError::Denied { message: "no rights on secrets".into() };
    check(
        &creating().on(MachineOutcome::EnsureToken(Err(denied))),
        &expect![[r#"
        act claim
        act ensure-token
        BootstrapTokenFailed: failed to make the bootstrap token: forbidden: no rights on secrets
        retry from 1s to 1m0s
    "#]],
    );
    let throttled = ActError::Throttled { after: Some(SignedDuration::from_secs(9)) };
    check(
        &creating().on(MachineOutcome::EnsureToken(Err(throttled))),
        &expect![[r#"
        act claim
        act ensure-token
        BootstrapTokenFailed: failed to make the bootstrap token: the API server is throttling
        retry from 1s to 1m0s, not before 9s
    "#]],
    );
}

#[test]
fn an_intent_that_cannot_be_noted_stops_the_create() {
    let case = creating()
        .with(capabilities(|offers| offers.idempotency_key = false))
        .on(MachineOutcome::NoteIntent(Err(ActError::Gone)));
    check(
        &case,
        &expect![[r#"
        act claim
        act ensure-token
        act note-intent
        WriteFailed: failed to note on the Machine that a create begins: the object is gone
        retry from 200ms to 5s
    "#]],
    );
}

#[test]
fn a_machine_whose_node_is_ready_is_not_given_up_because_the_cloud_cannot_be_asked() {
    let stuck = pending()
        .with(|view| view.machine.phase = Phase::CrashLoopBackOff)
        .on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable))))
        .at(CREATION_TIMEOUT_SECONDS * 2);
    let is_failed = |case: &Case| case.report().contains("phase Failed");
    assert!(!is_failed(&stuck.clone().node(facts::node())), "its VM works");
    assert!(is_failed(&stuck.clone().node(facts::unhealthy_node())));
    assert!(is_failed(&stuck), "there is no Node");
}

#[test]
fn a_machine_that_the_cloud_does_not_make_in_time_has_failed() {
    let fails = begun().on(MachineOutcome::CreateVm(Err(guest(Code::ResourceExhausted))));
    check(
        &fails.clone().at(CREATION_TIMEOUT_SECONDS),
        &expect![[r#"
        act probe-vm
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [ResourceExhausted] message = [so it is]
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [ResourceExhausted] message = [so it is]" }, code ResourceExhausted
        retry from 7m0s to 7m0s
    "#]],
    );
    check(
        &fails.at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
        act probe-vm
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [ResourceExhausted] message = [so it is]
        status: phase Failed, Create Failed CreationFailed { error: "machine codes error: code = [ResourceExhausted] message = [so it is]" }, code ResourceExhausted
        again at the next resync
    "#]],
    );
}

#[test]
fn a_cloud_that_works_on_a_machine_for_too_long_has_failed_it() {
    let work = in_progress(SignedDuration::from_secs(20));
    let goes_on = begun().on(MachineOutcome::CreateVm(Ok(Creation::InProgress(work))));
    check(
        &goes_on.clone().at(CREATION_TIMEOUT_SECONDS),
        &expect![[r#"
        act probe-vm
        act ensure-token
        act create-vm
        CloudWorking: the cloud is cloning a disk
        status: Create Processing CloudWorking { message: "the cloud is cloning a disk" }, state job-7
        again after 20s
    "#]],
    );
    check(
        &goes_on.at(CREATION_TIMEOUT_SECONDS + 1),
        &expect![[r#"
        act probe-vm
        act ensure-token
        act create-vm
        JoinTimedOut: the cloud is cloning a disk, for longer than 20m0s
        status: phase Failed, Create Failed JoinTimedOut { limit: 20m }, state job-7
        again at the next resync
    "#]],
    );
}

#[test]
fn a_plugin_that_breaks_or_is_not_served_fails_no_machine() {
    for error in [broken(), refused(), CallError::Refused(Refusal::ShuttingDown)] {
        let late = begun().at(CREATION_TIMEOUT_SECONDS * 10);
        let text = late.on(MachineOutcome::CreateVm(Err(error))).report();
        assert!(text.contains("phase CrashLoopBackOff") && text.contains("retry from"), "{text}");
    }
}

#[test]
fn an_error_that_no_further_try_fixes_says_so_and_is_tried_again_seldom() {
    let terminal =
        DriverError { terminal: true, ..DriverError::new(Code::InvalidArgument, "no such flavour") };
    check(
        &creating().on(MachineOutcome::CreateVm(Err(terminal.into()))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CreationFailed: machine codes error: code = [InvalidArgument] message = [no such flavour]; no further try helps, says the driver, before somebody changes the class, its Secret or the Machine
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [InvalidArgument] message = [no such flavour]" }, code InvalidArgument
        retry from 10m0s to 1h0m0s
    "#]],
    );
}
