//! While the host is frozen nothing is done to a Machine that nobody deletes, and the Machine says what is held.

use expect_test::expect;

use crate::drain;
use crate::driver::error::Code;
use crate::machine::node::health::ConditionStatus;
use crate::machine::{
    MachineEffect, MachineOutcome, MachineProgress, MachineStep, NodeConditionText, NodeConditionWrite,
    NodeFact, in_place, step,
};
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

use super::facts::{CREATION_TIMEOUT_SECONDS, guest, node, unhealthy_node};
use super::{Case, begun, check, deleting, failed, pending, running, seconds};

/// A Node that is selected for an update and has come as far as this.
fn updating(stage: &str) -> NodeFact {
    let mut node = node();
    node.meta.labels.insert("candidate".into(), "true".into());
    node.meta.labels.insert("selected".into(), "true".into());
    let (reason, message) = (stage.to_owned(), "so it is".to_owned());
    node.in_place =
        Some(NodeConditionText { status: ConditionStatus::True, reason, message, since: Some(seconds(100)) });
    node
}

fn kept() -> Case {
    let kept = failed().node(unhealthy_node()).at(200);
    kept.with(|view| {
        view.machine.phase_since = Some(seconds(100));
        view.machine.preservation.request = Some("now".into());
        view.machine.preservation.until = Some(seconds(10_000));
    })
}

#[test]
fn a_node_that_is_not_to_be_updated_any_more_does_not_say_that_it_is() {
    let mut node = updating(in_place::words::SELECTED);
    node.meta.labels.remove("candidate");
    let still = running().node(node.clone()).at(110).report();
    assert!(!still.contains("set-node-condition"), "it is selected: {still}");
    node.meta.labels.remove("selected");
    let case = running().node(node).at(110);
    assert!(
        case.report().contains("act set-node-condition") && case.report().contains("CandidateForUpdate"),
        "{}",
        case.report()
    );
}

#[test]
fn no_node_is_selected_emptied_or_handed_over_for_an_update() {
    use in_place::words;
    for stage in [words::CANDIDATE, words::SELECTED, words::DRAINED] {
        let case = running().with(|view| view.machine.has_join_duration = true).node(updating(stage)).at(110);
        assert!(
            case.report().contains("act ") || case.report().contains("InPlaceUpdating"),
            "{stage}: it goes on"
        );
        let text = case.frozen().report();
        assert!(!text.contains("act ") && !text.contains("phase"), "{stage}: {text}");
        assert!(text.contains("InPlaceUpdated=False Held"), "{stage}: {text}");
    }
    check(
        &running()
            .with(|view| view.machine.has_join_duration = true)
            .node(updating(words::SELECTED))
            .at(110)
            .frozen(),
        &expect![[r#"
            NodeHealthy: the Node is healthy
            status: conditions, Healthy=True NodeHealthy (the Node is healthy), InPlaceUpdated=False Held (the update in place of the Node is held: the API server of the target cluster does not answer; it goes on when it does)
            again at the next resync
        "#]],
    );
    let given =
        running().with(|view| view.machine.phase = Phase::InPlaceUpdating).node(updating(words::DRAINED));
    assert!(given.report().contains("act set-node-condition") && !given.frozen().report().contains("act "));
}

#[test]
fn what_an_agent_says_of_an_update_that_has_begun_is_written_down() {
    let mut node = updating(in_place::words::READY);
    node.meta.labels.insert("result".into(), "successful".into());
    let case = running().with(|view| view.machine.phase = Phase::InPlaceUpdating).node(node);
    let text = case.frozen().report();
    assert!(
        text.contains("act set-node-condition") && text.contains("phase InPlaceUpdateSuccessful"),
        "{text}"
    );
}

#[test]
fn a_node_that_is_kept_is_not_drained() {
    assert!(kept().report().contains("act look-at-pods"));
    check(
        &kept().frozen(),
        &expect![[r#"
            act sync-node node-1 ca-off=true ca-off-by-us=true taint:preserved
            Failed: failed: Ready is False
            status: conditions, Healthy=False NodeUnhealthy (Ready is False; the Machine has failed, at 1971-01-01T00:01:40Z), Preserved=True DrainHeld (kept until 1971-01-01T02:46:40Z; draining the Node is held: the API server of the target cluster does not answer; it goes on when it does)
            again after 2h43m21s
        "#]],
    );
}

/// Whether the reconcile looks at the pods to delete them without asking.
fn drains_by_force(case: &Case) -> bool {
    let mut progress = MachineProgress::default();
    for _ in 0..super::BATCHES_PER_PASS {
        let MachineStep::Act(effects) = step(&case.view, &progress, case.now) else {
            panic!("nothing is drained")
        };
        for effect in &effects {
            if let MachineEffect::Drain(drain::DrainEffect::ListPods { read, .. }) = effect {
                return *read == drain::ReadConsistency::WithoutVolumes;
            }
            progress.record(case.answer(effect));
        }
    }
    panic!("the pass does not end")
}

#[test]
fn the_clock_of_a_drain_that_was_held_starts_again_so_that_it_is_not_forced_at_once() {
    let late = 100 + 3 * 3_600;
    let thawed = |case: Case, at: Option<i64>| {
        drains_by_force(&case.with(|view| view.thawed_at = at.map(seconds)).at(late))
    };
    let update = || {
        let mut node = updating(in_place::words::SELECTED);
        node.is_cordoned = true;
        running().node(node)
    };
    let keep = || kept().with(|view| view.machine.preservation.until = Some(seconds(100_000)));
    for case in [update(), keep().node(node())] {
        assert!(thawed(case.clone(), None) && thawed(case.clone(), Some(50)));
        assert!(!thawed(case, Some(late - 60)));
    }
}

#[test]
fn an_update_in_place_does_not_time_out() {
    let case = running()
        .with(|view| {
            view.machine.phase = Phase::InPlaceUpdating;
            view.machine.phase_since = Some(seconds(100));
        })
        .node(updating(in_place::words::READY))
        .at(101 + 20 * 60);
    assert!(case.report().contains("phase InPlaceUpdateFailed"));
    check(
        &case.frozen(),
        &expect![[r#"
            Frozen: the Node is being updated in place; its time is over, and saying that it has failed is held
            status: conditions, Healthy=Unknown UpdatingInPlace (the Node is being updated in place: its health does not count)
            retry from 5s to 10m0s
        "#]],
    );
}

#[test]
fn a_creation_time_out_counts_from_the_end_of_an_outage() {
    let late = CREATION_TIMEOUT_SECONDS + 1;
    let refused = begun().at(late).on(MachineOutcome::CreateVm(Err(guest(Code::Internal))));
    assert!(refused.report().contains("phase Failed"));
    let after = refused.with(|view| view.thawed_at = Some(seconds(late - 30)));
    check(
        &after,
        &expect![[r#"
            act probe-vm
            act ensure-token
            act create-vm
            CreationFailed: machine codes error: code = [Internal] message = [so it is]
            status: phase CrashLoopBackOff, Create Failed CreationFailed { error: "machine codes error: code = [Internal] message = [so it is]" }, code Internal
            retry from 5s to 3m0s
        "#]],
    );
}

#[test]
fn the_gate_knows_a_drain_that_somebody_asked_for_from_one_that_nobody_did() {
    let pod = drain::PodRef { key: ObjectKey::new("default", "web"), uid: "web".into() };
    let says = |kind: &str, reason: &str| MachineEffect::SetNodeCondition {
        node: "node-1".into(),
        condition: NodeConditionWrite {
            kind: kind.into(),
            status: ConditionStatus::True,
            reason: reason.into(),
            message: "so it is".into(),
        },
    };
    let update = |reason| says(in_place::words::CONDITION, reason);
    let effects = [
        MachineEffect::Cordon { node: "node-1".into() },
        MachineEffect::Drain(drain::DrainEffect::Evict(pod)),
        update(in_place::words::CANDIDATE),
        update(in_place::words::SELECTED),
        update(in_place::words::DRAINED),
        update(in_place::words::READY),
        update(in_place::words::SUCCESSFUL),
        says("Preserved", in_place::words::READY),
    ];
    let row = |effect: &MachineEffect| {
        let reason = if let MachineEffect::SetNodeCondition { condition, .. } = effect {
            format!(" {} {}", condition.kind, condition.reason)
        } else {
            String::new()
        };
        let of = |case: Case| effect.kind(&case.view.machine);
        format!("{}{reason}: {:?}, deleting {:?}\n", effect.name(), of(pending()), of(deleting()))
    };
    expect![[r#"
        cordon: EmptyNode, deleting Drain
        evict: EmptyNode, deleting Drain
        set-node-condition InPlaceUpdate CandidateForUpdate: NodeWrite, deleting NodeWrite
        set-node-condition InPlaceUpdate SelectedForUpdate: EmptyNode, deleting EmptyNode
        set-node-condition InPlaceUpdate DrainSuccessful: EmptyNode, deleting EmptyNode
        set-node-condition InPlaceUpdate ReadyForUpdate: EmptyNode, deleting EmptyNode
        set-node-condition InPlaceUpdate UpdateSuccessful: NodeWrite, deleting NodeWrite
        set-node-condition Preserved ReadyForUpdate: NodeWrite, deleting NodeWrite
    "#]]
    .assert_eq(&effects.iter().map(row).collect::<String>());
}
