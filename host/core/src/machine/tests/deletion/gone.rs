//! The proof that a VM is gone, and how long it is queried.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::VmState;
use crate::driver::error::Code;
use crate::machine::{DeleteRequestFact, MachineOutcome, MachineView, NodeFact};

use crate::machine::tests::facts::{
    WINDOW_SECONDS, broken, capabilities, going_node, guest, uninitialized, vm, vm_that_is, window,
};
use crate::machine::tests::{Case, check, deleting, ordered, seconds};

/// Another process may have given the order at second 100, so that there is a look before it.
fn left() -> Case {
    ordered(deleting(), 100)
}

#[test]
fn looks_grow_further_apart_the_longer_it_takes() {
    let wake = |second: i64| {
        let text = ordered(deleting(), 100).at(second).on(MachineOutcome::ProbeVm(Ok(vm()))).report();
        format!("{}\n", text.lines().last().unwrap())
    };
    let wakes: String = [100, 107, 116, 140, 400, 100_000].into_iter().map(wake).collect();
    expect![[r#"
        again after 1s
        again after 1.75s
        again after 4s
        again after 10s
        again after 15s
        again after 15s
    "#]]
    .assert_eq(&wakes);
}

#[test]
fn a_vm_that_boots_faster_than_reads_catch_up_is_not_taken_for_gone() {
    let registered = |second: i64| {
        let since = Some(seconds(second));
        let node = NodeFact { created: since, ready_since: since, ..going_node() };
        left().node(node).at(101).report()
    };
    assert!(registered(97).contains("CreationUnresolved"), "{}", registered(97));
    assert!(!registered(100 - WINDOW_SECONDS).contains("CreationUnresolved"));
}

#[test]
fn a_node_that_is_not_ready_at_its_shutdown_proves_the_age_of_its_vm_all_the_same() {
    let shutting_down = |created: Option<i64>| {
        let node = NodeFact { created: created.map(seconds), ready_since: None, ..going_node() };
        left().node(node).at(101).report()
    };
    assert!(!shutting_down(Some(100 - WINDOW_SECONDS)).contains("CreationUnresolved"));
    assert!(shutting_down(Some(97)).contains("CreationUnresolved"), "{}", shutting_down(Some(97)));
    assert!(shutting_down(None).contains("CreationUnresolved"), "nothing tells its age");
    assert!(shutting_down(Some(-1)).contains("CreationUnresolved"), "it was there before its Machine");
}

#[test]
fn a_node_that_was_there_before_its_machine_proves_by_its_reports() {
    let node = NodeFact { created: Some(seconds(-500)), ready_since: Some(seconds(50)), ..going_node() };
    assert!(!left().node(node).at(101).report().contains("CreationUnresolved"));
}

/// Deleted before its Node has reported: its VM may be younger than what reads show.
fn young() -> Case {
    left().without_node().with(|view| view.machine.conditions.clear())
}

#[test]
fn reads_that_lag_hide_a_young_vm_no_longer_than_the_window() {
    check(
        &young().at(101),
        &expect![[r#"
        act probe-vm
        act delete-vm
        CreationUnresolved: no VM is seen: waiting until the cloud's reads must show one that was just created
        again after 8s
    "#]],
    );
    check(
        &young().at(100 + WINDOW_SECONDS),
        &expect![[r#"
        act probe-vm
        act delete-vm
        CreationUnresolved: no VM is seen: waiting until the cloud's reads must show one that was just created
        again after 1s
    "#]],
    );
    check(
        &young().at(101 + WINDOW_SECONDS),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
    check(
        &young().at(101).on(MachineOutcome::DeleteVm(Err(guest(Code::NotFound)))),
        &expect![[r#"
        act probe-vm
        act delete-vm
        CreationUnresolved: no VM is seen: waiting until the cloud's reads must show one that was just created
        again after 8s
    "#]],
    );
}

#[test]
fn a_machine_without_id_may_have_a_vm_that_does_not_show_yet() {
    let unstored = || left().without_node().with(|view| view.machine.provider_id = None);
    check(
        &unstored().at(101),
        &expect![[r#"
        act probe-vm
        act delete-vm
        CreationUnresolved: no VM is seen: waiting until the cloud's reads must show one that was just created
        again after 8s
    "#]],
    );
    check(
        &unstored().at(101 + WINDOW_SECONDS),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
    check(
        &unstored().at(101).with(window(SignedDuration::ZERO)),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn a_deletion_whose_begin_is_not_reported_ends_all_the_same() {
    let timeless = young().with(|view| view.machine.phase_since = None);
    check(
        &timeless.at(200),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn a_look_that_shows_the_vm_outweighs_a_driver_that_does_not_know_it() {
    let contradiction =
        left().on(MachineOutcome::ProbeVm(Ok(vm()))).on(MachineOutcome::DeleteVm(Err(guest(Code::NotFound))));
    check(
        &contradiction,
        &expect![[r#"
            act probe-vm
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            again after 1s
        "#]],
    );
}

#[test]
fn a_look_that_fails_does_not_stop_the_order_and_proves_nothing() {
    check(
        &left().on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            CloudUnreachable: machine codes error: code = [Unavailable] message = [so it is]
            status: Delete Failed Deleting(VmDeletionFailed { error: "machine codes error: code = [Unavailable] message = [so it is]" })
            retry from 5s to 2m0s
        "#]],
    );
    check(
        &left().on(MachineOutcome::ProbeVm(Err(guest(Code::OutOfRange)))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            CloudUnreachable: machine codes error: code = [OutOfRange] message = [so it is]
            status: Delete Failed Deleting(VmDeletionRefused { error: "machine codes error: code = [OutOfRange] message = [so it is]" })
            retry from 5s to 3m0s
        "#]],
    );
    check(
        &left().on(MachineOutcome::ProbeVm(Err(broken()))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            DriverBroken: the plugin hit its deadline limit (5m)
            status: Delete Failed Deleting(VmDeletionFailed { error: "the plugin hit its deadline limit (5m)" })
            retry from 5s to 2m0s
        "#]],
    );
    check(
        &left().on(MachineOutcome::ProbeVm(Err(uninitialized(true)))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            again after 1s
        "#]],
    );
}

#[test]
fn a_driver_that_offers_no_status_is_believed() {
    check(
        &left().with(capabilities(|offers| offers.status = false)),
        &expect![[r#"
            act delete-vm
            act delete-node node-1 node-uid-1 + forget-token
            act release-finalizer
            Deleted: VM and Node are gone
            never again
        "#]],
    );
    check(
        &left().on(MachineOutcome::ProbeVm(Err(guest(Code::Unimplemented)))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            act delete-node node-1 node-uid-1 + forget-token
            act release-finalizer
            Deleted: VM and Node are gone
            never again
        "#]],
    );
}

#[test]
fn looks_are_close_together_after_hooks_however_long_those_took() {
    let stopping = || ordered(deleting(), 100).on(MachineOutcome::ProbeVm(Ok(vm())));
    let wake = |case: Case| case.report().lines().last().map(str::to_owned).unwrap_or_default();
    assert_eq!(wake(stopping().at(900)), "again after 15s");
    let noted = |hooks: &'static [&'static str]| {
        move |view: &mut crate::machine::MachineView| {
            view.machine.deletion_facts.pre_terminate_since = Some(seconds(100));
            view.machine.deletion_facts.pre_terminate_hooks =
                hooks.iter().map(|hook| (*hook).to_owned()).collect();
            view.settings.deletion_hook_timeout = SignedDuration::from_secs(790);
        }
    };
    assert_eq!(wake(stopping().with(noted(&[])).at(900)), "again after 2s", "they were taken off");
    assert_eq!(wake(stopping().with(noted(&["etcd"])).at(891)), "again after 1s", "their time is over");
    assert_eq!(wake(stopping().with(noted(&["etcd"])).at(1_700)), "again after 15s");
}

/// This process has given the order and asked last at these seconds.
fn after_order(at: i64, asked: i64) -> impl Fn(&mut MachineView) {
    move |view| {
        view.machine.deletion_facts.delete_request =
            Some(DeleteRequestFact { first: seconds(at), at: seconds(at), asked: seconds(asked) });
    }
}

#[test]
fn after_an_order_of_this_process_one_look_that_finds_nothing_is_the_proof() {
    check(
        &ordered(deleting(), 100).with(after_order(100, 100)).at(101),
        &expect![[r#"
        act probe-vm
        act delete-node node-1 node-uid-1 + forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn whatever_wakes_a_machine_the_cloud_is_not_asked_before_its_time() {
    let early = |at, asked, now| {
        let text = ordered(deleting(), at).with(after_order(at, asked)).at(now).report();
        assert!(!text.contains("-vm"), "{text}");
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(early(100, 100, 100), "again after 1s");
    assert_eq!(early(100, 140, 141), "again after 9s");
    let usual = |now| {
        let slow = ordered(deleting(), 100).with(after_order(100, 100));
        slow.with(|view| view.machine.deletion_facts.usual_removal = Some(SignedDuration::from_secs(24)))
            .at(now)
            .report()
    };
    assert!(usual(101).ends_with("again after 20s\n"), "{}", usual(101));
    assert!(usual(121).contains("act probe-vm"), "{}", usual(121));
}

#[test]
fn an_order_that_shows_no_effect_is_given_again_after_a_while() {
    let seen = |now| {
        let case = ordered(deleting(), 100).with(after_order(100, 100)).at(now);
        case.on(MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Running)))).report()
    };
    assert!(!seen(102).contains("delete-vm"), "{}", seen(102));
    assert!(seen(111).contains("delete-vm"), "{}", seen(111));
    let unsure = ordered(deleting(), 100).with(after_order(100, 100)).at(102);
    let several = unsure.on(MachineOutcome::ProbeVm(Err(guest(Code::OutOfRange)))).report();
    assert!(several.contains("delete-vm"), "it takes the second one along: {several}");
}

#[test]
fn a_vm_that_hangs_is_looked_at_and_ordered_away_ever_more_seldom() {
    let hangs = |at, now| {
        let case = ordered(deleting(), 100).with(after_order(at, at)).at(now);
        case.with(|view| view.machine.deletion_facts.delete_request.as_mut().unwrap().first = seconds(100))
            .on(MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Stopping))))
            .report()
    };
    assert!(hangs(400, 401).ends_with("again after 14s\n"), "{}", hangs(400, 401));
    assert!(!hangs(407, 408).contains("-vm"), "{}", hangs(407, 408));
    assert!(hangs(400, 416).contains("act delete-vm"), "{}", hangs(400, 416));
}

#[test]
fn an_order_that_was_given_while_reads_might_lag_is_given_again_before_its_vm_counts_as_gone() {
    let at = |second| ordered(young(), 100).with(after_order(100, 100)).at(second);
    let waits = at(102).report();
    assert!(!waits.contains("-vm") && waits.ends_with("again after 7s\n"), "{waits}");
    check(
        &at(101 + WINDOW_SECONDS),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn somebodys_word_that_the_vm_is_gone_is_checked_by_a_look_before_the_order() {
    let reported = deleting().with(|view| view.machine.deletion_facts.is_vm_declared_gone = true).report();
    assert!(reported.find("probe-vm") < reported.find("delete-vm"), "{reported}");
    let plain = deleting().report();
    assert!(!plain.contains("probe-vm"), "{plain}");
}
