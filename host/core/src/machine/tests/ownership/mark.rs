//! A Machine or class with another cluster's mark than the process has.

use crate::machine::{
    ClassFact, MachineEffect, MachineProgress, MachineStep, NodePresence, TargetFact, invariants,
    invariants::MachineViolation, step,
};
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::Phase;

use crate::machine::tests::{Case, begun, creating, deleting, pending, running, seconds, unknown};

fn moved(case: Case) -> Case {
    case.with(|view| view.marks.of_machine = Some("before".into()))
}

fn of_moved_class(case: Case) -> Case {
    case.with(|view| {
        view.marks.of_machine = None;
        view.marks.of_class = Some("before".into());
    })
}

/// How the first batch of a reconcile is answered: with effects, or with a reason and a message.
fn ends(case: &Case) -> Result<(String, String, Option<Phase>), String> {
    match step(&case.view, &MachineProgress::default(), case.now) {
        MachineStep::Act(effects) => Err(format!("{effects:?}")),
        MachineStep::Finish(conclusion) => {
            let reason = conclusion.reason.as_str().to_owned();
            Ok((reason, conclusion.message, conclusion.status.phase))
        }
    }
}

#[test]
fn neither_creation_nor_deletion_nor_drain_begins_for_a_machine_of_another_mark() {
    let on_its_way = deleting().with(|view| view.machine.deletion_facts.is_forced = true);
    let just_asked = deleting().with(|view| view.machine.phase = Phase::Running);
    let declared = deleting().with(|view| view.machine.deletion_facts.is_vm_declared_gone = true);
    let never_made = creating().with(|view| {
        view.machine.has_finalizer = true;
        view.machine.deletion = Some(seconds(1));
        view.class = ClassFact::Missing("worker".into());
    });
    for case in [creating(), begun(), deleting(), on_its_way, just_asked, declared, never_made] {
        let (reason, message, _) = ends(&moved(case)).unwrap();
        assert_eq!(reason, "ClusterMarkDiffers");
        assert!(message.contains("start it with --cluster-id=before"), "{message}");
        assert!(message.contains("the Machine carries"), "{message}");
    }
}

#[test]
fn a_machine_without_a_mark_goes_by_its_class_and_no_machine_is_made_of_a_class_of_another_mark() {
    for case in [creating(), begun(), deleting()] {
        let (reason, message, _) = ends(&of_moved_class(case)).unwrap();
        assert_eq!(reason, "ClusterMarkDiffers");
        assert!(message.contains("MachineClass worker carries the mark of cluster before"), "{message}");
    }
    let own = |case: Case| of_moved_class(case).with(|view| view.marks.of_machine = Some("here".into()));
    assert_eq!(ends(&own(creating())).unwrap().0, "ClusterMarkDiffers", "no VM is made of that class");
    assert!(ends(&own(deleting())).is_err(), "its own mark is known, so that its VM can be removed");
}

#[test]
fn the_same_mark_and_none_hold_nothing() {
    for case in [creating(), begun(), deleting(), pending()] {
        let case = case.with(|view| view.marks.of_machine = None);
        let same = case.clone().with(|view| {
            view.marks.of_machine = Some("here".into());
            view.marks.of_class = Some("here".into());
        });
        assert_eq!(format!("{:?}", ends(&case)), format!("{:?}", ends(&same)));
    }
}

#[test]
fn a_machine_of_another_mark_that_lives_says_so_and_is_neither_failed_nor_looked_for() {
    let (reason, _, phase) = ends(&moved(running())).unwrap();
    assert_eq!((reason.as_str(), phase), ("ClusterMarkDiffers", None));
    let (reason, _, phase) = ends(&moved(unknown().at(100_000))).unwrap();
    assert_eq!((reason.as_str(), phase), ("ClusterMarkDiffers", None), "no permit is asked for");
    let silent = moved(pending()).with(|view| view.target = TargetFact::Cluster(NodePresence::Absent));
    let (reason, _, phase) = ends(&silent.at(100_000)).unwrap();
    assert_eq!((reason.as_str(), phase), ("ClusterMarkDiffers", None));
}

#[test]
fn invariants_name_what_is_done_under_another_mark() {
    for (case, effect) in [
        (moved(deleting()), MachineEffect::DeleteVm),
        (moved(deleting()), MachineEffect::ProbeVm),
        (moved(deleting()), MachineEffect::ReleaseFinalizer),
        (moved(deleting()), MachineEffect::Cordon { node: "node-1".into() }),
        (moved(begun()), MachineEffect::CreateVm),
        (of_moved_class(begun()), MachineEffect::CreateVm),
        (moved(running()), MachineEffect::RebootVm),
    ] {
        let verdict = invariants::batch(
            &case.view,
            &MachineProgress::default(),
            std::slice::from_ref(&effect),
            case.now,
        );
        assert_eq!(verdict, Err(MachineViolation::OtherMark), "{effect:?}");
    }
}

#[test]
fn nothing_of_a_copied_machine_is_created_emptied_or_removed_while_another_control_plane_holds_the_mark() {
    let forced = deleting().with(|view| view.machine.deletion_facts.is_forced = true);
    let just_asked = deleting().with(|view| view.machine.phase = Phase::Running);
    for case in [creating(), begun(), deleting(), forced, just_asked] {
        let reason = FreezeReason::ClusterMarkHeld;
        let held = case.clone().with(|view| view.gate = Gate::Frozen { since: seconds(0), reason });
        let (reason, message, phase) = ends(&held).unwrap();
        assert_eq!((reason.as_str(), phase), ("Frozen", None), "{message}");
        assert!(message.contains("another control plane holds this cluster's mark"), "{message}");
        assert!(ends(&case).is_err(), "without the other one it goes on");
    }
}
