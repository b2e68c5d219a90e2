//! Rolling updates and scaling.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine_deployment::OwnedSetFact;
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::Phase::{Failed, New, Pending, Running, Unknown};

use super::facts::{recreate, report, rolling, seconds, set};
use super::report::case;

/// It has noted that the deployment wants so many.
fn noted(mut set: OwnedSetFact, desired: u32, most: u32) -> OwnedSetFact {
    set.annotations.insert("desired".into(), desired.to_string());
    set.annotations.insert("max".into(), most.to_string());
    set
}

fn old(phases: &[crate::value::phase::Phase]) -> OwnedSetFact {
    let mut set = set("a", 1, phases);
    set.annotations.insert("prefer-no-schedule".into(), "True".into());
    for node in set.machines.iter_mut().filter_map(|machine| machine.node.as_mut()) {
        node.has_old_taint = true;
        node.scale_down = crate::machine_deployment::ScaleDown::HeldByUs;
    }
    set
}

fn new(phases: &[crate::value::phase::Phase]) -> OwnedSetFact {
    let mut set = set("b", 2, phases);
    for node in set.machines.iter_mut().filter_map(|machine| machine.node.as_mut()) {
        node.scale_down = crate::machine_deployment::ScaleDown::HeldByUs;
    }
    set
}

#[test]
fn a_new_deployment_is_claimed_and_gets_a_set_with_all_machines_in_one_pass() {
    case(vec![])
        .with(|view| {
            view.deployment.has_finalizer = false;
            view.deployment.annotations = [("lowered".to_owned(), "x".to_owned()), ("last-applied".into(), "{}".into())].into();
        })
        .check(&expect![[r#"
            write-deployment +finalizer revision=1
            create-set workers-557b7 with 3 desired=3 lowered=x max=4 revision=1
            WaitingForMachines: 0 of 3 Machines are available and of the current template; 0 of all Machines are available, of which 3 must stay: goes on
            event Normal ScalingMachineSet: Scaled up machine set workers-557b7 to 3
            then at once
        "#]]);
}

#[test]
fn another_class_makes_a_set_with_as_many_as_there_is_room_for_and_marks_old_nodes() {
    case(vec![set("a", 1, &[Running, Running, Running])]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        write-node node-a0 +old-taint +autoscaler-held
        write-node node-a1 +old-taint +autoscaler-held
        write-node node-a2 +old-taint +autoscaler-held
        write-set workers-a prefer-no-schedule=True
        create-set workers-55974 with 1 desired=3 max=4 revision=2
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 3 of all Machines are available, of which 3 must stay: goes on
        event Normal ScalingMachineSet: Scaled up machine set workers-55974 to 1
        then at once
    "#]]);
}

#[test]
fn an_annotation_of_the_template_rolls_without_another_class() {
    let restarted = case(vec![set("a", 1, &[Running, Running, Running])]).with(|view| {
        view.deployment
            .spec
            .template
            .annotations
            .insert("restarted-at".into(), "2026-11-22T06:00:00Z".into());
    });
    assert!(restarted.reported().contains("create-set"), "{}", restarted.reported());
}

#[test]
fn settings_are_handed_on_and_do_not_roll() {
    case(vec![set("a", 1, &[Running, Running, Running])])
        .with(|view| {
            view.deployment.spec.template.handed_on.insert("drainTimeout".into(), "1h".into());
        })
        .check(&expect![[r#"
            write-set workers-a +settings
            Complete: 3 of 3 Machines are available and of the current template
            then at once
        "#]]);
}

#[test]
fn an_old_machine_goes_for_each_new_one_that_is_available() {
    case(vec![old(&[Running, Running, Running]), new(&[Running])]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-a 3→2
        WaitingForMachines: 1 of 3 Machines are available and of the current template; 4 of all Machines are available, of which 3 must stay: goes on
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 2
        then at once
    "#]]);
}

#[test]
fn nothing_goes_before_a_new_machine_is_available() {
    case(vec![old(&[Running, Running, Running]), new(&[Pending])]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        WaitingForMachines: 0 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-b to be available: b0; 3 old ones stay until then, since 3 must be available
        then at once
    "#]]);
}

#[test]
fn a_machine_that_is_going_keeps_its_place() {
    let mut old = old(&[Running, Running, Running]);
    old.machines[0].is_deleting = true;
    old.wanted = 2;
    report(&mut old);
    case(vec![old, new(&[Running])]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        WaitingForDeletion: 1 of 3 Machines are available and of the current template; waits until Machines are gone: a0
        then at once
    "#]]);
}

#[test]
fn old_machines_of_no_use_go_first() {
    case(vec![old(&[Running, Unknown, Running]), new(&[Running])])
        .wants(3, "b")
        .with(|view| view.deployment.spec.strategy = rolling(1, 1))
        .check(&expect![[r#"
            write-deployment revision=2
            write-set workers-a 3→1
            WaitingForMachines: 1 of 3 Machines are available and of the current template; 3 of all Machines are available, of which 2 must stay: goes on
            event Normal ScalingMachineSet: Scaled down machine set workers-a to 1
            then at once
        "#]]);
}

#[test]
fn a_preserved_machine_neither_goes_nor_holds_up_the_rollout() {
    let mut old = old(&[Failed, Running, Running]);
    old.machines[0].preserved_until = Some(seconds(9_000));
    old.machines[0].preserve_request = Some("auto-preserved".into());
    case(vec![old, new(&[Running])]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-a 3→2
        WaitingForMachines: 1 of 3 Machines are available and of the current template; 3 of all Machines are available, of which 2 must stay: goes on
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 2
        then at once
    "#]]);
}

#[test]
fn no_step_is_taken_before_a_set_has_noted_the_one_before() {
    let mut new = new(&[Running]);
    new.generation = 2;
    case(vec![old(&[Running, Running, Running]), new]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        WaitingForMachineSet: 1 of 3 Machines are available and of the current template; waits for MachineSet workers-b to take note of its change
        then at once
    "#]]);
}

#[test]
fn once_the_old_are_gone_nodes_are_let_go() {
    case(vec![old(&[]), new(&[Running, Running, Running])]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        write-node node-b0 -autoscaler-held
        write-node node-b1 -autoscaler-held
        write-node node-b2 -autoscaler-held
        Complete: 3 of 3 Machines are available and of the current template
        then at once
    "#]]);
}

#[test]
fn recreate_waits_until_the_last_old_machine_is_gone() {
    let strategy = |view: &mut crate::machine_deployment::DeploymentView| {
        view.deployment.spec.strategy = recreate();
    };
    case(vec![set("a", 1, &[Running, Running])]).wants(3, "b").with(strategy).check(&expect![[r#"
        write-deployment revision=2
        write-set workers-a 2→0 max=3
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 2 of all Machines are available, of which 3 must stay: goes on
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 0
        then at once
    "#]]);
    let mut deleting = set("a", 1, &[Running]);
    deleting.wanted = 0;
    deleting.machines[0].is_deleting = true;
    case(vec![deleting]).wants(3, "b").with(strategy).check(&expect![[r#"
        write-deployment revision=2
        WaitingForDeletion: 0 of 3 Machines are available and of the current template; waits until Machines are gone: a0
        then at once
    "#]]);
    case(vec![set("a", 1, &[])]).wants(3, "b").with(strategy).check(&expect![[r#"
        write-deployment revision=2
        create-set workers-55974 with 3 desired=3 max=3 revision=2
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 0 of all Machines are available, of which 3 must stay: goes on
        event Normal ScalingMachineSet: Scaled up machine set workers-55974 to 3
        then at once
    "#]]);
}

#[test]
fn a_deployment_without_a_rollout_follows_its_number_at_once() {
    let mut set = set("a", 1, &[Running, Running, Running]);
    set.machines[0].is_deleting = true;
    set.generation = 7;
    case(vec![set]).wants(9, "a").check(&expect![[r#"
        write-set workers-a 3→9 desired=9 max=10
        WaitingForMachineSet: 2 of 9 Machines are available and of the current template; waits for MachineSet workers-a to take note of its change
        event Normal ScalingMachineSet: Scaled up machine set workers-a to 9
        then at once
    "#]]);
}

#[test]
fn in_mid_rollout_less_is_shared_and_what_is_of_no_use_goes_first() {
    let sets = vec![
        noted(old(&[Running, Running, Running, Running, Running, Running]), 8, 10),
        noted(new(&[Running, Pending, Pending, Pending]), 8, 10),
    ];
    case(sets).wants(4, "b").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b 4→2 desired=4 max=5
        write-set workers-a 6→3 desired=4 max=5
        WaitingForMachines: 1 of 4 Machines are available and of the current template; waits for 3 Machines of MachineSet workers-b to be available: b1, b2, b3; 6 old ones stay until then, since 4 must be available
        event Normal ScalingMachineSet: Scaled down machine set workers-b to 2
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 3
        then at once
    "#]]);
}

#[test]
fn in_mid_rollout_what_the_autoscaler_wants_to_go_goes_first_wherever_it_is() {
    let mut old = noted(old(&[Running, Running]), 5, 6);
    old.machines[1].priority = 1;
    old.machines[1].marked_at = Some(seconds(900));
    let new = noted(new(&[Running, Running, Running, Running]), 5, 6);
    case(vec![old, new]).wants(4, "b").annotated("lowered", "1970-01-01T00:15:00Z").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b desired=4 lowered=1970-01-01T00:15:00Z max=5
        write-set workers-a 2→1 desired=4 lowered=1970-01-01T00:15:00Z max=5
        WaitingForMachines: 4 of 4 Machines are available and of the current template; 6 of all Machines are available, of which 4 must stay: goes on
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 1
        then at once
    "#]]);
}

#[test]
fn while_it_is_paused_nothing_rolls_and_the_number_is_followed() {
    let paused = |sets: Vec<OwnedSetFact>, replicas: i64| {
        case(sets).wants(replicas, "b").with(|view| view.deployment.spec.is_paused = true)
    };
    let sets = || vec![noted(old(&[Running, Running]), 3, 4), noted(new(&[Running]), 3, 4)];
    paused(sets(), 3).check(&expect![[r#"
        Paused: 1 of 3 Machines are available and of the current template; the rollout is paused: set spec.paused to false to go on
        then rest
    "#]]);
    paused(sets(), 5).check(&expect![[r#"
        write-set workers-b 1→4 desired=5 max=6
        write-set workers-a desired=5 max=6
        Paused: 1 of 5 Machines are available and of the current template; the rollout is paused: set spec.paused to false to go on
        event Normal ScalingMachineSet: Scaled up machine set workers-b to 4
        then at once
    "#]]);
    paused(vec![noted(old(&[Running, Running]), 2, 3)], 4).check(&expect![[r#"
        write-set workers-a 2→4 desired=4 max=5
        Paused: 0 of 4 Machines are available and of the current template; the rollout is paused: set spec.paused to false to go on
        event Normal ScalingMachineSet: Scaled up machine set workers-a to 4
        then at once
    "#]]);
}

#[test]
fn while_it_is_paused_a_set_that_is_scaled_alone_counts_all_that_are_going() {
    let mut old = noted(old(&[Running]), 3, 4);
    old.wanted = 0;
    old.machines[0].is_deleting = true;
    report(&mut old);
    let mut new = noted(new(&[Running, Running]), 3, 4);
    new.wanted = 1;
    new.machines[0].is_deleting = true;
    report(&mut new);
    let paused = case(vec![old, new]).wants(5, "b").with(|view| view.deployment.spec.is_paused = true);
    // Six at most, of which one of each set is going.
    assert!(paused.reported().contains("write-set workers-b 1→4"), "{}", paused.reported());
}

#[test]
fn while_it_is_paused_recreate_makes_none_before_the_old_are_gone() {
    let paused = |sets: Vec<OwnedSetFact>| {
        case(sets).wants(4, "b").with(|view| {
            view.deployment.spec.is_paused = true;
            view.deployment.spec.strategy = recreate();
        })
    };
    let mut deleting = noted(set("a", 1, &[Running]), 3, 3);
    deleting.wanted = 0;
    deleting.machines[0].is_deleting = true;
    report(&mut deleting);
    paused(vec![deleting, noted(new(&[Running]), 3, 3)]).check(&expect![[r#"
        Paused: 1 of 4 Machines are available and of the current template; the rollout is paused: set spec.paused to false to go on
        then rest
    "#]]);
    let mut gone = noted(set("a", 1, &[]), 3, 3);
    report(&mut gone);
    paused(vec![gone, noted(new(&[Running]), 3, 3)]).check(&expect![[r#"
        write-set workers-b 1→4 desired=4 max=4
        Paused: 1 of 4 Machines are available and of the current template; the rollout is paused
        event Normal ScalingMachineSet: Scaled up machine set workers-b to 4
        then at once
    "#]]);
}

#[test]
fn more_than_there_is_room_for_is_noted_by_nobody_while_it_is_paused() {
    let mut old = noted(old(&[Running, Running]), 3, 4);
    old.machines[0].is_deleting = true;
    let sets = vec![old, noted(new(&[Running]), 3, 4)];
    case(sets).wants(4, "b").with(|view| view.deployment.spec.is_paused = true).check(&expect![[r#"
        write-set workers-b 1→2
        Paused: 1 of 4 Machines are available and of the current template; the rollout is paused: set spec.paused to false to go on
        event Normal ScalingMachineSet: Scaled up machine set workers-b to 2
        then at once
    "#]]);
}

#[test]
fn a_set_that_was_scaled_by_hand_is_brought_back() {
    let mut new = new(&[Running]);
    new.wanted = 9;
    case(vec![old(&[Running, Running, Running]), new]).wants(3, "b").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b 9→1
        WaitingForMachines: 1 of 3 Machines are available and of the current template; waits for 8 Machines of MachineSet workers-b to be available, of which 8 are not there yet; 3 old ones stay until then, since 3 must be available
        event Normal ScalingMachineSet: Scaled down machine set workers-b to 1
        then at once
    "#]]);
}

#[test]
fn a_set_that_somebody_deletes_keeps_its_places_and_is_created_again() {
    let mut gone = set("a", 1, &[Running, Running, Running]);
    gone.is_deleting = true;
    case(vec![gone]).check(&expect![[r#"
        create-set workers-557b7 with 1 desired=3 max=4 revision=1
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 0 of all Machines are available, of which 3 must stay: goes on
        event Normal ScalingMachineSet: Scaled up machine set workers-557b7 to 1
        then at once
    "#]]);
}

#[test]
fn a_frozen_gate_holds_the_rollout_and_says_so() {
    case(vec![old(&[Running, Running, Running]), new(&[Running])])
        .wants(3, "b")
        .with(|view| view.gate = Gate::Frozen { since: seconds(0), reason: FreezeReason::Requested })
        .check(&expect![[r#"
            Frozen: the deployment is held: ConfigMap machinist-freeze asks for it; it goes on when that is deleted
            then after 1m
        "#]]);
}

#[test]
fn a_node_that_cannot_be_written_does_not_hold_up_the_rollout() {
    let denied = ActError::Denied { message: "no".into() };
    case(vec![set("a", 1, &[Running, New])]).wants(2, "b").on("write-node", Err(denied)).check(&expect![[
        r#"
        write-deployment revision=2
        write-node node-a0 +old-taint +autoscaler-held
        write-set workers-a desired=2 max=3 prefer-no-schedule=True
        create-set workers-55974 with 1 desired=2 max=3 revision=2
        WriteFailed: failed to write Node node-a0: forbidden: no
        event Normal ScalingMachineSet: Scaled up machine set workers-55974 to 1
        then retry after 1s
    "#
    ]]);
}

#[test]
fn a_machine_that_cannot_be_decoded_counts_and_is_not_what_goes_next() {
    let mut old = set("a", 1, &[Running, Running, Running]);
    old.machines[0].is_unreadable = true;
    old.machines[0].node = None;
    let new = set("b", 2, &[Pending]);
    let case = case(vec![old, new]).wants(3, "b");
    // One less of the old set would be a Machine that is available: there have to be three.
    assert!(!case.reported().contains("write-set workers-a 3"), "{}", case.reported());
}
