//! Creates whose outcome is open: the cloud works on them, or nobody knows whether it has.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::Creation;
use crate::driver::error::{CallError, Code, Sent};
use crate::driver::write_error::ActError;
use crate::machine::{CallResult, IntendedCall, MachineOutcome, MachineView};

use crate::machine::tests::facts::{
    broken, capabilities, ended, guest, in_progress, intent_of, operation, refused, unclear, vm, window,
};
use crate::machine::tests::{Case, begun, check, creating, pending};

/// A create that the cloud was at work on when it was asked last.
fn at_work(view: &mut MachineView) {
    view.machine.operation = operation("Create", "Processing");
    view.machine.last_known_state = Some("job-7".into());
}

#[test]
fn a_create_that_takes_long_is_asked_for_again_with_its_token_and_not_looked_for() {
    let work = in_progress(SignedDuration::from_secs(20));
    check(
        &creating().on(MachineOutcome::CreateVm(Ok(Creation::InProgress(work.clone())))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CloudWorking: the cloud is cloning a disk
        status: Create Processing CloudWorking { message: "the cloud is cloning a disk" }, state job-7
        again after 20s
    "#]],
    );
    check(
        &begun().with(at_work),
        &expect![[r#"
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
    check(
        &begun().with(at_work).on(MachineOutcome::CreateVm(Ok(Creation::InProgress(work)))),
        &expect![[r#"
        act ensure-token
        act create-vm
        CloudWorking: the cloud is cloning a disk
        status: Create Processing CloudWorking { message: "the cloud is cloning a disk" }, state job-7
        again after 20s
    "#]],
    );
}

#[test]
fn a_driver_that_wants_to_be_asked_at_once_or_next_year_is_asked_within_reason() {
    for ask_again in [SignedDuration::ZERO, SignedDuration::from_hours(24 * 365)] {
        let text = creating()
            .on(MachineOutcome::CreateVm(Ok(Creation::InProgress(in_progress(ask_again)))))
            .report();
        let last = text.lines().last().unwrap();
        let expected = if ask_again.is_zero() { "again after 1s" } else { "again after 1h0m0s" };
        assert_eq!(last, expected);
    }
}

#[test]
fn awaiting_the_node_is_not_mistaken_for_a_create_that_goes_on() {
    let lost = pending().with(|view| {
        view.machine.provider_id = None;
        view.machine.last_known_state = Some("job-7".into());
    });
    check(
        &lost,
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

fn without_keys() -> Case {
    creating().with(capabilities(|offers| offers.idempotency_key = false))
}

#[test]
fn where_the_cloud_keeps_no_keys_the_intent_is_noted_before_the_create() {
    check(
        &without_keys(),
        &expect![[r#"
            act claim
            act ensure-token
            act note-intent
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

/// A create was noted in a cloud without keys, and the note is still there.
fn noted(call: IntendedCall) -> Case {
    without_keys().with(|view| {
        view.machine.has_finalizer = true;
        view.machine.has_priority = true;
        view.machine.create_intent = Some(intent_of(call));
    })
}

fn failed_with(age: i64, error: CallError) -> IntendedCall {
    IntendedCall::Made(ended(10, age), CallResult::Failed(error))
}

#[test]
fn a_create_that_failed_for_certain_is_closed_and_tried_again_by_its_code() {
    let codes =
        [(Code::Unavailable, "retry from 5s to 2m0s"), (Code::ResourceExhausted, "retry from 7m0s to 7m0s")];
    for (code, retry) in codes {
        let text = without_keys().on(MachineOutcome::CreateVm(Err(guest(code)))).report();
        assert!(text.contains("act create-vm\nact close-intent\nCreationFailed: "), "{text}");
        assert!(text.trim_end().ends_with(retry), "{text}");
    }
    let refused = without_keys().on(MachineOutcome::CreateVm(Err(refused()))).report();
    assert!(refused.contains("act close-intent\nDriverNotReady: "), "{refused}");
    let unsent =
        without_keys().on(MachineOutcome::CreateVm(Err(broken().having_sent(Sent::Nothing)))).report();
    assert!(unsent.contains("act close-intent\nDriverBroken: "), "{unsent}");
}

#[test]
fn a_note_that_cannot_be_taken_off_holds_nothing_up() {
    let text = without_keys()
        .on(MachineOutcome::CreateVm(Err(guest(Code::Unavailable))))
        .on(MachineOutcome::CloseIntent(Err(ActError::Gone)))
        .report();
    assert!(text.trim_end().ends_with("retry from 5s to 2m0s"), "{text}");
    check(
        &noted(failed_with(0, guest(Code::Unavailable))).at(10),
        &expect![[r#"
            act probe-vm
            act ensure-token
            act note-intent
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn a_create_that_may_have_happened_is_looked_for_soon_and_says_why_and_until_when() {
    check(
        &without_keys().at(10).on(MachineOutcome::CreateVm(Err(unclear(Code::Unavailable)))),
        &expect![[r#"
        act claim
        act ensure-token
        act note-intent
        act create-vm
        CreationUnresolved: CreateMachine failed and may have made a VM all the same: machine codes error: code = [Unavailable] message = [so it is]; the cloud is asked for it, and no VM is created for 8s after that answer
        status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Unavailable] message = [so it is]" }, code Unavailable
        retry from 1s to 1s
    "#]],
    );
    let text = without_keys().at(10).on(MachineOutcome::CreateVm(Err(broken()))).report();
    assert!(text.contains("CreationUnresolved: CreateMachine failed and may have made a VM"), "{text}");
    assert!(!text.contains("close-intent"), "{text}");
}

#[test]
fn the_doubt_after_an_answer_lasts_the_window_from_the_answer() {
    let unclear_at = |age| noted(failed_with(age, unclear(Code::Aborted))).at(10 + age);
    check(
        &unclear_at(1),
        &expect![[r#"
        act probe-vm
        CreationUnresolved: CreateMachine failed and may have made a VM all the same: machine codes error: code = [Aborted] message = [so it is]; the cloud is asked for it, and no VM is created for 8s after that answer
        looks after 1s
    "#]],
    );
    assert!(unclear_at(3).report().ends_with("looks after 3s\n"), "{}", unclear_at(3).report());
    assert!(unclear_at(7).report().ends_with("looks after 1s\n"), "{}", unclear_at(7).report());
    let over = unclear_at(8).report();
    assert!(over.starts_with("act probe-vm\nact ensure-token\nact note-intent\nact create-vm\n"), "{over}");
}

#[test]
fn after_the_doubt_the_next_create_comes_when_its_code_says() {
    let short = |age| {
        let failed = noted(failed_with(age, unclear(Code::Unavailable))).at(10 + age);
        failed.with(|view| view.failures = 3).report()
    };
    // Five seconds, doubled twice, with a spread that is the Machine's own. The words stay.
    assert!(
        short(9).contains("CreationUnresolved: CreateMachine failed")
            && short(9).ends_with("looks after 9.523s\n")
    );
    assert!(short(20).contains("act create-vm"), "{}", short(20));
    // As after a first failure while the account answers others.
    let failed = noted(failed_with(9, unclear(Code::Unavailable))).at(19);
    let eased = failed.with(|view| (view.failures, view.account_answers) = (7, true)).report();
    assert!(eased.contains("act create-vm"), "{eased}");
    let exhausted = |age| noted(failed_with(age, unclear(Code::ResourceExhausted))).at(10 + age).report();
    assert!(exhausted(9).ends_with("looks after 6m51s\n"), "{}", exhausted(9));
    assert!(exhausted(420).contains("act create-vm"), "{}", exhausted(420));
}

#[test]
fn the_doubt_about_another_process_lasts_the_window_from_the_begin_of_this_one() {
    let of_predecessor = |age| noted(IntendedCall::OfPredecessor(ended(10, age))).at(10 + age);
    check(
        &of_predecessor(7),
        &expect![[r#"
        act probe-vm
        CreationUnresolved: the process that noted a CreateMachine call ended before it noted the answer, so that the call may have made a VM; the cloud is asked for it, and no VM is created before 1971-01-01T00:00:18Z
        looks after 1s
    "#]],
    );
    assert!(of_predecessor(8).report().contains("act create-vm"), "{}", of_predecessor(8).report());
}

#[test]
fn a_create_whose_vm_is_not_stored_is_looked_for_and_one_that_was_at_work_for_longer() {
    let made =
        |age| noted(IntendedCall::Made(ended(10, age), CallResult::Created("sim://7".into()))).at(10 + age);
    assert!(
        made(2)
            .report()
            .contains("CreationUnresolved: CreateMachine created VM sim://7, whose id is not stored"),
        "{}",
        made(2).report()
    );
    assert!(made(8).report().contains("act create-vm"));
    let at_work =
        |age| noted(IntendedCall::Made(ended(10, age), CallResult::InProgress)).at(10 + age).report();
    assert!(at_work(100).ends_with("looks after 15s\n"), "{}", at_work(100));
    assert!(at_work(308).contains("act create-vm"), "{}", at_work(308));
}

#[test]
fn a_note_whose_call_was_never_made_holds_nothing_up() {
    let text = noted(IntendedCall::NotMade).at(11).report();
    assert!(text.contains("act note-intent\nact create-vm\n"), "{text}");
}

#[test]
fn a_look_that_fails_is_tried_again_by_its_code_also_in_doubt() {
    let case = noted(failed_with(1, unclear(Code::Unavailable))).at(11);
    let text = case.on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)))).report();
    assert!(text.starts_with("act probe-vm\nCreationFailed: "), "{text}");
    assert!(text.trim_end().ends_with("retry from 5s to 2m0s"), "{text}");
}

#[test]
fn without_keys_a_vm_that_shows_late_is_adopted() {
    check(
        &noted(IntendedCall::OfPredecessor(ended(10, 1))).at(11).on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, Hostname node-1, InternalIP 10.0.0.1, VM Running, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn without_keys_a_cloud_whose_reads_never_lag_needs_no_waiting() {
    for call in [IntendedCall::OfPredecessor(ended(10, 0)), failed_with(0, unclear(Code::Unavailable))] {
        let text = noted(call).with(window(SignedDuration::ZERO)).at(10).report();
        assert!(text.contains("act note-intent\nact create-vm\n"), "{text}");
    }
    let text = without_keys()
        .with(window(SignedDuration::ZERO))
        .on(MachineOutcome::CreateVm(Err(unclear(Code::Unavailable))))
        .report();
    assert!(text.trim_end().ends_with("retry from 5s to 2m0s"), "{text}");
}

#[test]
fn without_keys_a_create_that_goes_on_is_taken_up_without_waiting() {
    check(
        &noted(IntendedCall::OfPredecessor(ended(10, 1))).with(at_work).at(20),
        &expect![[r#"
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
fn without_keys_a_create_that_goes_on_is_not_given_up_because_the_driver_could_not_be_asked() {
    for error in [refused(), broken(), broken().having_sent(Sent::Nothing)] {
        let resumed = noted(IntendedCall::OfPredecessor(ended(10, 1))).with(at_work).at(20);
        let text = resumed.on(MachineOutcome::CreateVm(Err(error))).report();
        assert!(text.starts_with("act ensure-token\nact create-vm\nDriver"), "{text}");
        assert!(!text.contains("Create Failed") && text.contains("retry from 5s"), "{text}");
    }
}
