//! Revisions, rollbacks, the history, and names that are taken.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine::Requeue;
use crate::machine_deployment::{
    DeploymentProgress, DeploymentStep, EffectResult, ExistingSet, OwnedSetFact, step,
};
use crate::value::phase::Phase::Running;

use super::facts::{set, template};
use super::report::{Case, case, effect_text};

fn revised(mut set: OwnedSetFact, revision: &str) -> OwnedSetFact {
    set.annotations.insert("revision".into(), revision.into());
    set
}

/// Three templates, the last of them in place.
fn three() -> Vec<OwnedSetFact> {
    vec![
        revised(set("a", 1, &[]), "1"),
        revised(set("b", 2, &[]), "2"),
        revised(set("c", 3, &[Running, Running, Running]), "3"),
    ]
}

fn rolled_back(to: i64) -> Case {
    case(three()).wants(3, "c").annotated("revision", "3").with(|view| {
        view.deployment.spec.rollback_to = Some(to);
    })
}

#[test]
fn a_rollback_puts_the_template_before_in_place() {
    rolled_back(0).check(&expect![[r#"
        write-deployment template of workers-b 
        UnderWay: an earlier template is being put in place
        event Normal DeploymentRollback: Rolled back to revision 2
        then at once
    "#]]);
}

#[test]
fn a_rollback_brings_annotations_back_but_not_the_time_of_the_autoscaler() {
    let mut case = rolled_back(1);
    case.view.sets[0].annotations.insert("cause".into(), "because".into());
    case.view.sets[0].annotations.insert("lowered".into(), "1970-01-01T00:00:00Z".into());
    case.check(&expect![[r#"
        write-deployment template of workers-a cause=because
        UnderWay: an earlier template is being put in place
        event Normal DeploymentRollback: Rolled back to revision 1
        then at once
    "#]]);
}

#[test]
fn a_rollback_to_what_is_in_place_or_gone_is_reported_and_the_wish_is_taken_away() {
    rolled_back(3).check(&expect![[r#"
        write-deployment -rollback 
        UnderWay: an earlier template is being put in place
        event Warning DeploymentRollbackTemplateUnchanged: nothing to roll back: the template is that of revision 3 already
        then at once
    "#]]);
    let mut gone = rolled_back(7);
    gone.view.deployment.spec.revision_history_limit = Some(5);
    gone.check(&expect![[r#"
        write-deployment -rollback 
        UnderWay: an earlier template is being put in place
        event Warning DeploymentRollbackRevisionNotFound: cannot roll back: revision 7 is not kept (spec.revisionHistoryLimit is 5): kept are 1, 2, 3; set spec.rollbackTo.revision to one of these, or write the template
        then at once
    "#]]);
    let mut first = case(vec![set("a", 1, &[Running, Running, Running])]);
    first.view.deployment.spec.rollback_to = Some(0);
    first.check(&expect![[r#"
        write-deployment -rollback 
        UnderWay: an earlier template is being put in place
        event Warning DeploymentRollbackRevisionNotFound: cannot roll back: an earlier revision is not kept: kept are 1; set spec.rollbackTo.revision to one of these, or write the template
        then at once
    "#]]);
    let mut negative = rolled_back(-4);
    negative.view.sets.clear();
    negative.check(&expect![[r#"
        write-deployment -rollback 
        UnderWay: an earlier template is being put in place
        event Warning DeploymentRollbackRevisionNotFound: cannot roll back: revision -4 is not kept, and neither is any other: write the template that is wanted
        then at once
    "#]]);
}

/// Rules of the server's, or of an administrator's, may be younger than a set.
#[test]
fn a_template_that_the_server_does_not_let_back_in_is_reported_and_no_longer_wished_for() {
    let case = rolled_back(1);
    let mut progress = DeploymentProgress::default();
    let refused = ActError::Invalid { message: "spec.template: no".into() };
    for (expected, outcome) in [
        ("write-deployment template of workers-a \n", Err(refused.clone())),
        ("write-deployment -rollback \n", Ok(EffectResult::Done)),
    ] {
        let DeploymentStep::Act(effects) = step(&case.view, &progress, case.now) else {
            panic!("{expected}")
        };
        assert_eq!(effects.iter().map(effect_text).collect::<String>(), expected);
        effects.into_iter().for_each(|effect| progress.record(effect, outcome.clone()));
    }
    let DeploymentStep::Finish(end) = step(&case.view, &progress, case.now) else {
        panic!("the pass is over")
    };
    assert_eq!((end.wake, end.reason.as_str()), (Requeue::Now, "WriteFailed"));
    let reported: Vec<&str> = end.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        reported,
        [
            "cannot roll back to the template of MachineSet workers-a: refused: spec.template: no; write the template that is \
          wanted"
        ]
    );
    // A write that may succeed a moment later is tried again.
    let conflict = rolled_back(1).on("write-deployment", Err(ActError::Conflict));
    conflict.check(&expect![[r#"
        write-deployment template of workers-a 
        UnderWay: an earlier template is being put in place
        then retry after 200ms
    "#]]);
}

#[test]
fn a_rollback_waits_while_the_deployment_is_paused() {
    let paused = rolled_back(0).with(|view| view.deployment.spec.is_paused = true);
    assert!(!paused.reported().contains("template of"), "{}", paused.reported());
}

#[test]
fn who_comes_back_gets_the_next_revision_and_remembers_the_one_before() {
    case(three()).wants(3, "a").annotated("revision", "3").check(&expect![[r#"
        write-deployment revision=4
        write-node node-c0 +old-taint +autoscaler-held
        write-node node-c1 +old-taint +autoscaler-held
        write-node node-c2 +old-taint +autoscaler-held
        write-set workers-a 0→1 revision=4 revision-history=1
        write-set workers-c prefer-no-schedule=True
        WaitingForMachines: 0 of 3 Machines are available and of the current template; 3 of all Machines are available, of which 3 must stay: goes on
        event Normal ScalingMachineSet: Scaled up machine set workers-a to 1
        then at once
    "#]]);
}

#[test]
fn the_history_of_a_set_is_bounded_and_grows_only_with_its_revision() {
    let mut sets = three();
    sets[0]
        .annotations
        .insert("revision-history".into(), (1..40).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let reported = case(sets.clone()).wants(3, "a").annotated("revision", "3").reported();
    assert!(reported.contains("revision-history=31,32,33,34,35,36,37,38,39,1\n"), "{reported}");
    // An annotation that comes or goes, as with each step of the autoscaler, is no revision.
    let reported = case(sets).wants(3, "c").annotated("revision", "3").annotated("lowered", "x").reported();
    assert!(reported.contains("lowered=x") && !reported.contains("history"), "{reported}");
}

#[test]
fn sets_beyond_the_limit_go_once_the_rollout_is_over() {
    let limited = |sets: Vec<OwnedSetFact>, limit: i32| {
        case(sets).wants(3, "c").annotated("revision", "3").with(|view| {
            view.deployment.spec.revision_history_limit = Some(limit);
        })
    };
    limited(three(), 1).check(&expect![[r#"
        delete-set workers-a
        Complete: 3 of 3 Machines are available and of the current template
        then at once
    "#]]);
    let mut busy = three();
    busy[2].machines[0].phase = crate::value::phase::Phase::Pending;
    busy[2].status.available = 2;
    assert!(!limited(busy, 0).reported().contains("delete-set"));
    let reported = limited(three(), -1).reported();
    assert!(
        !reported.contains("delete-set") && reported.contains("revisionHistoryLimit -1 keeps all"),
        "{reported}"
    );
}

#[test]
fn a_name_that_is_taken_makes_another_name() {
    let taken = |is_own, is_deleting, class| {
        let by = ExistingSet { is_own, is_deleting, template: template(class) };
        case(vec![]).on("create-set", Ok(EffectResult::Taken(by)))
    };
    taken(false, false, "a").check(&expect![[r#"
        create-set workers-557b7 with 3 desired=3 max=4 revision=1
        MachineSetNameTaken: MachineSet workers-557b7 has that name and is not this deployment's: another name is tried
        then at once
    "#]]);
    taken(true, true, "a").check(&expect![[r#"
        create-set workers-557b7 with 3 desired=3 max=4 revision=1
        MachineSetNameTaken: MachineSet workers-557b7 has that name and is being deleted: another name is tried
        then at once
    "#]]);
    taken(true, false, "other").check(&expect![[r#"
        create-set workers-557b7 with 3 desired=3 max=4 revision=1
        MachineSetNameTaken: MachineSet workers-557b7 has that name and another template: another name is tried
        then at once
    "#]]);
    assert_eq!(taken(false, false, "a").run().1.status.collision_count, Some(1));
    let again = case(vec![]).with(|view| view.deployment.status.collision_count = Some(1)).reported();
    assert!(!again.contains("create-set workers-557b7 "), "{again}");
}

#[test]
fn a_set_that_is_there_but_not_in_the_cache_is_awaited() {
    let by = ExistingSet { is_own: true, is_deleting: false, template: template("a") };
    let case = case(vec![]).on("create-set", Ok(EffectResult::Taken(by)));
    case.check(&expect![[r#"
        create-set workers-557b7 with 3 desired=3 max=4 revision=1
        WaitingForMachines: MachineSet workers-557b7 is there, and is awaited in the cache
        then retry after 200ms
    "#]]);
    assert_eq!(case.run().1.status.collision_count, None);
}

#[test]
fn a_set_that_cannot_be_made_is_reported_and_tried_again() {
    let refused = ActError::Invalid { message: "name is too long".into() };
    let case = case(vec![]).on("create-set", Err(refused));
    case.check(&expect![[r#"
        create-set workers-557b7 with 3 desired=3 max=4 revision=1
        MachineSetCreateError: failed to create MachineSet workers-557b7: refused: name is too long
        then retry after 5s
    "#]]);
    expect![[r#"
        Available=False MinimumReplicasUnavailable (1000, 1000): fewer Machines are available than must be (3)
        Progressing=False MachineSetCreateError (1000, 1000): failed to create MachineSet workers-557b7: refused: name is too long
    "#]].assert_eq(&case.conditions());
}
