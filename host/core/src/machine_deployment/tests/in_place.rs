//! Updates in place by a deployment.

use expect_test::expect;

use crate::machine_deployment::{OwnedSetFact, RolloutNodeFact, ScaleDown, UpdateResult, UpdateStage};
use crate::value::phase::Phase::{self, InPlaceUpdateSuccessful, InPlaceUpdating, Running};

use super::facts::{in_place, report, set};
use super::report::{Case, case};

fn update(sets: Vec<OwnedSetFact>, strategy: crate::machine_deployment::RawStrategy) -> Case {
    case(sets).wants(3, "b").with(|view| view.deployment.spec.strategy = strategy)
}

fn nodes(set: &mut OwnedSetFact) -> impl Iterator<Item = &mut RolloutNodeFact> {
    set.machines.iter_mut().filter_map(|machine| machine.node.as_mut())
}

/// An old set whose Nodes are candidates.
fn old(phases: &[Phase]) -> OwnedSetFact {
    let mut set = set("a", 1, phases);
    set.is_scale_up_disabled = true;
    set.annotations.insert("prefer-no-schedule".into(), "True".into());
    for node in nodes(&mut set) {
        node.has_old_taint = true;
        node.scale_down = ScaleDown::HeldByUs;
        node.is_candidate = true;
        node.stage = Some(UpdateStage::Candidate);
    }
    set
}

fn new(phases: &[Phase]) -> OwnedSetFact {
    let mut set = set("b", 2, phases);
    nodes(&mut set).for_each(|node| node.scale_down = ScaleDown::HeldByUs);
    set
}

/// The Node of the first Machine was updated.
fn updated(set: &mut OwnedSetFact, phase: Phase) {
    let machine = &mut set.machines[0];
    machine.phase = phase;
    let node = machine.node.get_or_insert_with(|| super::facts::node("a0"));
    (node.is_selected, node.is_cordoned, node.is_candidate) = (true, true, true);
    (node.scale_down, node.has_old_taint) = (ScaleDown::HeldByUs, true);
    (node.update, node.stage) = (Some(UpdateResult::Successful), Some(UpdateStage::Successful));
}

#[test]
fn old_sets_may_not_make_machines_and_their_nodes_become_candidates() {
    update(vec![set("a", 1, &[Running, Running, Running])], in_place(1, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-node node-a0 +old-taint +autoscaler-held +candidate
        write-node node-a1 +old-taint +autoscaler-held +candidate
        write-node node-a2 +old-taint +autoscaler-held +candidate
        write-set workers-a scale-up-disabled=true max=3 prefer-no-schedule=True
        create-set workers-55974 with 0 desired=3 max=3 revision=2
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 3 of all Machines are available, of which 2 must stay: goes on
        then at once
    "#]]);
}

#[test]
fn as_many_nodes_are_selected_as_can_be_spared() {
    let sets = || vec![old(&[Running, Running, Running]), new(&[])];
    update(sets(), in_place(2, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-node node-a0 +selected
        write-node node-a1 +selected
        write-set workers-b max=3
        write-set workers-a max=3
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 3 of all Machines are available, of which 1 must stay: goes on
        then at once
    "#]]);
    let mut sets = sets();
    nodes(&mut sets[0]).take(1).for_each(|node| node.is_selected = true);
    update(sets, in_place(1, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b max=3
        write-set workers-a max=3
        UpdatingInPlace: 0 of 3 Machines are available and of the current template; waits for updates in place of a0
        then at once
    "#]]);
}

#[test]
fn by_hand_nobody_is_selected_and_the_message_says_what_to_do() {
    update(vec![old(&[Running, Running, Running]), new(&[])], in_place(1, 0, "Manual")).check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b max=3
        write-set workers-a max=3
        WaitingForSelection: 0 of 3 Machines are available and of the current template; waits for somebody to choose: label Nodes with selected=true, 1 at a time, of Machines a0, a1, a2
        then at once
    "#]]);
}

#[test]
fn a_machine_that_was_updated_changes_its_set() {
    let mut old = old(&[Running, Running, Running]);
    updated(&mut old, InPlaceUpdateSuccessful);
    report(&mut old);
    update(vec![old, new(&[])], in_place(1, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b max=3
        write-set workers-a max=3
        write-machine a0 from workers-a to workers-b
        UpdatingInPlace: 0 of 3 Machines are available and of the current template; waits for updates in place of a0
        then at once
    "#]]);
}

#[test]
fn one_that_is_still_out_of_service_does_not() {
    let mut old = old(&[Running, Running, Running]);
    updated(&mut old, InPlaceUpdating);
    report(&mut old);
    assert!(!update(vec![old, new(&[])], in_place(1, 0, "Auto")).reported().contains("write-machine"));
}

#[test]
fn then_the_numbers_follow_then_the_label_goes() {
    let mut old = old(&[Running, Running]);
    old.wanted = 3;
    let mut new = new(&[Running]);
    updated(&mut new, Running);
    new.machines[0].is_updated_in_place = true;
    new.wanted = 0;
    let mut sets = vec![old, new];
    update(sets.clone(), in_place(1, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-node node-b0 -old-taint update-ended uncordon
        write-set workers-b 0→1
        write-set workers-a 3→2
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 2 of all Machines are available, of which 2 must stay: goes on
        event Normal ScalingMachineSet: Scaled up machine set workers-b to 1
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 2
        then at once
    "#]]);
    (sets[0].wanted, sets[1].wanted) = (2, 1);
    update(sets, in_place(1, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-node node-b0 -old-taint update-ended uncordon
        write-machine b0 unlabel
        WaitingForMachines: 0 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-b to be available: b0; 2 old ones stay until then, since 2 must be available
        then at once
    "#]]);
}

#[test]
fn in_mid_rollout_more_are_made_of_the_new_template() {
    let sets = vec![old(&[Running, Running]), new(&[Running])];
    update(sets, in_place(1, 0, "Auto")).wants(5, "b").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b 1→3 desired=5 max=5
        write-set workers-a desired=5 max=5
        WaitingForMachines: 1 of 5 Machines are available and of the current template; 3 of all Machines are available, of which 4 must stay: goes on
        event Normal ScalingMachineSet: Scaled up machine set workers-b to 3
        then at once
    "#]]);
}

#[test]
fn in_mid_rollout_fewer_are_taken_from_those_that_are_out_of_service() {
    let mut old = old(&[InPlaceUpdating, Running]);
    old.machines[0].node = Some(RolloutNodeFact {
        is_candidate: true,
        is_selected: true,
        stage: Some(UpdateStage::HandedOver),
        has_old_taint: true,
        scale_down: ScaleDown::HeldByUs,
        ..super::facts::node("a0")
    });
    report(&mut old);
    update(vec![old, new(&[Running])], in_place(1, 0, "Auto")).wants(2, "b").check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b desired=2 max=2
        write-set workers-a 2→1 desired=2 max=2
        UpdatingInPlace: 1 of 2 Machines are available and of the current template; waits for updates in place of a0
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 1
        then at once
    "#]]);
}

#[test]
fn a_node_that_was_selected_in_an_earlier_rollout_is_no_candidate_before_it_can_be_spared() {
    let mut old = old(&[Running, Running, Running]);
    let node = old.machines[1].node.as_mut().unwrap();
    (node.is_candidate, node.stage) = (false, Some(UpdateStage::Selected));
    let others = nodes(&mut old).filter(|node| node.stage == Some(UpdateStage::Candidate));
    others.for_each(|node| node.is_selected = node.name.as_str() == "node-a0");
    update(vec![old.clone(), new(&[])], in_place(1, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-set workers-b max=3
        write-set workers-a max=3
        UpdatingInPlace: 0 of 3 Machines are available and of the current template; waits for updates in place of a0
        then at once
    "#]]);
    update(vec![old, new(&[])], in_place(2, 0, "Auto")).check(&expect![[r#"
        write-deployment revision=2
        write-node node-a1 +candidate +selected
        write-set workers-b max=3
        write-set workers-a max=3
        UpdatingInPlace: 0 of 3 Machines are available and of the current template; waits for updates in place of a0
        then at once
    "#]]);
}

#[test]
fn turned_back_nodes_that_were_not_handed_over_are_let_go() {
    let mut set = old(&[Running, Running]);
    let node = set.machines[0].node.as_mut().unwrap();
    (node.is_selected, node.is_cordoned, node.stage) = (true, true, Some(UpdateStage::Selected));
    update(vec![set], in_place(1, 0, "Auto")).wants(2, "a").check(&expect![[r#"
        write-node node-a0 -old-taint -autoscaler-held -candidate -selected uncordon
        write-node node-a1 -old-taint -autoscaler-held -candidate
        write-set workers-a -scale-up-disabled desired=2 max=2 -prefer-no-schedule
        WaitingForMachines: 1 of 2 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-a to be available: a0
        then at once
    "#]]);
}

#[test]
fn under_another_strategy_no_node_waits_to_be_updated() {
    let mut old = old(&[Running, Running, Running]);
    let node = old.machines[0].node.as_mut().unwrap();
    (node.is_selected, node.is_cordoned, node.stage) = (true, true, Some(UpdateStage::Selected));
    update(vec![old, new(&[])], super::facts::rolling(1, 0)).check(&expect![[r#"
        write-deployment revision=2
        write-node node-a0 -candidate -selected uncordon
        write-node node-a1 -candidate
        write-node node-a2 -candidate
        write-set workers-b max=3
        write-set workers-a 3→2 -scale-up-disabled max=3
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 2 of all Machines are available, of which 2 must stay: goes on
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 2
        then at once
    "#]]);
}
