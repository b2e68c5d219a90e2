//! The status of a deployment: conditions, deadlines, and problems to fix.

use expect_test::expect;
use jiff::tz::TimeZone;

use crate::disruption::maintenance::Windows;
use crate::driver::write_error::ActError;
use crate::machine::node::health::ConditionStatus as Holds;
use crate::machine_deployment::{
    DeploymentCondition, DeploymentConditionKind, DeploymentSelectorFact, OwnedSetFact, RawRolloutBounds,
    RawStrategy, WindowsFact, words,
};
use crate::value::int_or_percent::RawIntOrPercent;
use crate::value::phase::Phase::{Pending, Running};

use super::facts::{self, in_place, rolling, seconds, set};
use super::report::{Case, case};

fn running() -> Case {
    case(vec![set("a", 1, &[Running, Running, Running])])
}

fn progressing(reason: &str, updated: i64) -> DeploymentCondition {
    DeploymentCondition {
        kind: DeploymentConditionKind::Progressing,
        status: Holds::True,
        reason: reason.into(),
        message: "as before".into(),
        updated: Some(seconds(updated)),
        since: Some(seconds(5)),
    }
}

fn said(case: Case, condition: DeploymentCondition) -> Case {
    case.with(|view| {
        view.deployment.status.conditions = vec![condition];
        let available: u32 = view.sets.iter().map(|set| set.status.available).sum();
        let replicas = view.sets.iter().map(|set| set.status.replicas).sum();
        (view.deployment.status.available, view.deployment.status.ready) = (available, available);
        view.deployment.status.replicas = replicas;
        let updated = view
            .sets
            .iter()
            .filter(|set| set.template.class_name == view.deployment.spec.template.class_name);
        view.deployment.status.updated = updated.map(|set| set.status.replicas).sum();
    })
}

fn rolled() -> Vec<OwnedSetFact> {
    vec![set("a", 1, &[Running, Running, Running]), set("b", 2, &[Pending])]
}

#[test]
fn a_deployment_that_has_all_says_so_with_the_words_of_others() {
    running().check(&expect![[r#"
        Complete: 3 of 3 Machines are available and of the current template
        then rest
    "#]]);
    expect![[r#"
        Available=True MinimumReplicasAvailable (1000, 1000): enough Machines are available
        Progressing=True NewMachineSetAvailable (1000, 1000): MachineSet workers-a has all Machines, and they are available
    "#]].assert_eq(&running().conditions());
}

#[test]
fn while_new_machines_of_the_same_template_come_the_rollout_stays_done() {
    let case = said(running(), progressing(words::COMPLETE, 10)).wants(5, "a");
    assert!(
        case.conditions().contains("Progressing=True NewMachineSetAvailable (10, 5): as before"),
        "{}",
        case.conditions()
    );
}

#[test]
fn another_template_ends_what_was_done() {
    let case = said(case(rolled()).wants(3, "b"), progressing(words::COMPLETE, 10));
    expect![[r#"
        Available=True MinimumReplicasAvailable (1000, 1000): enough Machines are available
        Progressing=True MachineSetUpdated (1000, 5): MachineSet workers-b takes over
    "#]]
    .assert_eq(&case.conditions());
}

#[test]
fn progress_starts_the_deadline_again_and_none_is_reported_after_it() {
    let late = |updated| {
        said(case(rolled()).wants(3, "b").annotated("revision", "2"), progressing(words::UPDATED, updated))
            .with(|view| {
                view.deployment.spec.progress_deadline_seconds = Some(600);
                view.sets[0].annotations.insert("prefer-no-schedule".into(), "True".into());
                let nodes = view
                    .sets
                    .iter_mut()
                    .flat_map(|set| &mut set.machines)
                    .filter_map(|machine| machine.node.as_mut());
                nodes.for_each(|node| {
                    node.has_old_taint = true;
                    node.scale_down = crate::machine_deployment::ScaleDown::HeldByUs;
                });
            })
    };
    late(500).check(&expect![[r#"
        WaitingForMachines: 0 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-b to be available: b0; 3 old ones stay until then, since 3 must be available
        then after 1m 41s
    "#]]);
    late(400).check(&expect![[r#"
        ProgressDeadlineExceeded: no progress for 600 s (spec.progressDeadlineSeconds): 0 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-b to be available: b0; 3 old ones stay until then, since 3 must be available; fix what holds it up, or return to the template before with spec.rollbackTo
        then rest
    "#]]);
    expect![[r#"
        Available=True MinimumReplicasAvailable (1000, 1000): enough Machines are available
        Progressing=False ProgressDeadlineExceeded (1000, 1000): no progress since: as before
    "#]]
    .assert_eq(&late(400).conditions());
    let moving = late(400).with(|view| view.deployment.status.available = 2);
    assert!(
        moving.conditions().contains("Progressing=True MachineSetUpdated (1000, 5)"),
        "{}",
        moving.conditions()
    );
}

#[test]
fn pausing_and_resuming_are_reported_and_stop_the_clock() {
    let paused = |reason| {
        let case = said(case(rolled()).wants(3, "b"), progressing(reason, 10));
        case.with(|view| {
            view.deployment.spec.is_paused = true;
            view.deployment.spec.progress_deadline_seconds = Some(60);
        })
    };
    expect![[r#"
        Available=True MinimumReplicasAvailable (1000, 1000): enough Machines are available
        Progressing=Unknown DeploymentPaused (1000, 1000): the deployment is paused
    "#]]
    .assert_eq(&paused(words::UPDATED).conditions());
    assert!(paused(words::LATE).conditions().contains("ProgressDeadlineExceeded"));
    let resumed = paused(words::PAUSED).with(|view| view.deployment.spec.is_paused = false);
    assert!(resumed.conditions().contains("DeploymentResumed (1000"), "{}", resumed.conditions());
}

#[test]
fn outside_its_window_a_rollout_is_held_and_the_number_is_followed() {
    let windows = |text: &str| Windows::parse(text, |_| Some(TimeZone::UTC));
    // Second 1000 is a Thursday, a quarter past midnight.
    let held = |sets, text: &str| {
        case(sets).wants(3, "b").annotated("revision", "2").with(|view| {
            view.deployment.spec.windows = windows(text)
                .map_or_else(|error| WindowsFact::Invalid(error.to_string()), WindowsFact::Given);
        })
    };
    held(rolled(), "Fri 02:00-04:00 UTC").check(&expect![[r#"
        WaitingForWindow: 0 of 3 Machines are available and of the current template; the rollout waits for its maintenance window, which opens at 1970-01-02T02:00:00Z
        then after 25h 43m 20s
    "#]]);
    held(vec![set("a", 1, &[Running, Running, Running])], "Thu").check(&expect![[r#"
        WaitingForWindow: 0 of 3 Machines are available and of the current template; the rollout is held since maintenance window "Thu" is not days, hours and a time zone, such as "Mon-Fri 22:00-06:00 Europe/Berlin": fix or remove it
        then rest
    "#]]);
    let conditions = held(rolled(), "Fri 02:00-04:00 UTC").conditions();
    assert!(conditions.contains("Progressing=Unknown DeploymentPaused"), "{conditions}");
    assert!(
        held(rolled(), "Thu 00:00-04:00 UTC").reported().contains("write-node"),
        "an open window holds nothing"
    );
    let complete = held(vec![set("b", 2, &[Running, Running, Running])], "Fri 02:00-04:00 UTC");
    assert!(complete.reported().contains("Complete"), "{}", complete.reported());
    let scaled = held(rolled(), "Fri 02:00-04:00 UTC").wants(5, "b").reported();
    assert!(scaled.contains("write-set workers-b 1→3"), "{scaled}");
}

#[test]
fn a_node_that_cannot_be_written_holds_up_no_more_than_what_it_would_say() {
    let denied = ActError::Denied { message: "a webhook".into() };
    let case = running()
        .with(|view| {
            let mut node = facts::node("a0");
            node.has_old_taint = true;
            view.sets[0].machines[0].node = Some(node);
        })
        .on("write-node", Err(denied));
    let (_, conclusion) = case.run();
    assert_eq!(conclusion.status.observed_generation, Some(case.view.deployment.generation));
    assert!(case.conditions().contains("Progressing=True NewMachineSetAvailable"), "{}", case.conditions());
    assert!(case.reported().contains("WriteFailed: failed to write Node node-a0"), "{}", case.reported());
}

#[test]
fn failures_and_freezes_of_sets_are_shown() {
    let case = running().with(|view| {
        view.sets[0].status.failure = Some(("FailedCreate".into(), "quota".into()));
        view.sets[0].is_frozen = true;
    });
    case.check(&expect![[r#"
        write-deployment +freeze 
        MachineSetFrozen: 3 of 3 Machines are available and of the current template; MachineSet workers-a creates no Machines: its label for that is set, and it has not said why yet; set the annotation unfreeze on the deployment to go on
        then at once
    "#]]);
    expect![[r#"
        Available=True MinimumReplicasAvailable (1000, 1000): enough Machines are available
        Frozen=True MachineDeploymentStateSync (1000, 1000): MachineSet workers-a creates no Machines: its label for that is set, and it has not said why yet
        Progressing=True NewMachineSetAvailable (1000, 1000): MachineSet workers-a has all Machines, and they are available
        ReplicaFailure=True FailedCreate (1000, 1000): MachineSet workers-a: quota
    "#]].assert_eq(&case.conditions());
}

#[test]
fn a_wish_to_thaw_goes_to_the_sets_and_then_away() {
    let frozen = |sets: &mut Vec<OwnedSetFact>| sets[0].is_frozen = true;
    running().annotated("unfreeze", "yes").with(|view| frozen(&mut view.sets)).check(&expect![[r#"
        write-deployment +freeze 
        write-set workers-a unfreeze=yes
        MachineSetFrozen: 3 of 3 Machines are available and of the current template; MachineSet workers-a creates no Machines: its label for that is set, and it has not said why yet; set the annotation unfreeze on the deployment to go on
        then at once
    "#]]);
    let thawed =
        running().annotated("unfreeze", "yes").with(|view| view.deployment.is_labelled_frozen = true);
    thawed.check(&expect![[r#"
        write-deployment -freeze -unfreeze
        Complete: 3 of 3 Machines are available and of the current template
        then at once
    "#]]);
}

#[test]
fn what_cannot_be_understood_is_all_reported_and_nothing_is_done() {
    let spec = |view: &mut crate::machine_deployment::DeploymentView| {
        view.deployment.spec.replicas = -1;
        view.deployment.spec.selector = DeploymentSelectorFact::Misses;
        view.deployment.spec.template.class_name.clear();
        view.deployment.spec.template.class_kind.clear();
        view.deployment.spec.strategy =
            RawStrategy { kind: Some("Rolling".into()), ..RawStrategy::default() };
    };
    running().with(spec).check(&expect![[r#"
        InvalidDeployment: spec.replicas is -1: set it to 0 or more; spec.selector does not select the labels of spec.template.metadata: make one fit the other; spec.template.spec.class.name is missing: set it to a MachineClass; spec.template.spec.class.kind is missing: set it to MachineClass; spec.strategy.type is "Rolling": set it to RollingUpdate, Recreate or InPlaceUpdate; until then nothing is done
        then rest
    "#]]);
}

#[test]
fn each_way_to_get_a_strategy_wrong_says_what_to_write() {
    let reported = |strategy: RawStrategy, has_target: bool| {
        let case = running().with(|view| {
            view.deployment.spec.strategy = strategy;
            view.settings.has_target = has_target;
        });
        case.run().1.message
    };
    let half =
        RawRolloutBounds { max_unavailable: Some(RawIntOrPercent::Text("many".into())), max_surge: None };
    let lines = [
        reported(RawStrategy::default(), true),
        reported(RawStrategy { kind: Some("RollingUpdate".into()), ..RawStrategy::default() }, true),
        reported(
            RawStrategy { kind: Some("RollingUpdate".into()), rolling: Some(half), ..RawStrategy::default() },
            true,
        ),
        reported(in_place(1, 0, "auto"), true),
        reported(in_place(1, 0, "Auto"), false),
        reported(in_place(-1, 0, "Auto"), true),
    ];
    expect![[r#"
        spec.strategy.type is missing: set it to RollingUpdate, Recreate or InPlaceUpdate; until then nothing is done
        spec.strategy.rollingUpdate is missing: set maxUnavailable and maxSurge there; until then nothing is done
        spec.strategy.rollingUpdate.maxUnavailable: "many" is neither a number of at least 0 such as 3 nor a share such as 25%; spec.strategy.rollingUpdate.maxSurge is missing: set a number such as 1 or a share such as 25%; until then nothing is done
        spec.strategy.inPlaceUpdate.orchestrationType is "auto": set it to Auto or Manual; until then nothing is done
        spec.strategy.type is InPlaceUpdate, and there is no target cluster whose Nodes could be updated: use another; until then nothing is done
        spec.strategy.inPlaceUpdate.maxUnavailable: -1 is neither a number of at least 0 such as 3 nor a share such as 25%; until then nothing is done"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_selector_that_selects_everything_or_nothing_does_nothing() {
    running().with(|view| view.deployment.spec.selector = DeploymentSelectorFact::Everything).check(&expect![[r#"
        SelectingAll: spec.selector is empty and would select all Machines: set it to labels of spec.template; until then nothing is done
        then rest
    "#]]);
    running().with(|view| view.deployment.spec.selector = DeploymentSelectorFact::Missing).check(&expect![[r#"
        InvalidDeployment: spec.selector is missing: set it to labels of spec.template; until then nothing is done
        then rest
    "#]]);
    running()
        .with(|view| view.deployment.spec.selector = DeploymentSelectorFact::Invalid("no key".into()))
        .check(&expect![[r#"
        InvalidDeployment: spec.selector cannot be understood: no key; until then nothing is done
        then rest
    "#]]);
}

#[test]
fn what_is_unusual_and_harmless_is_reported_beside() {
    let unusual = running().with(|view| {
        view.overlapping = vec!["others".into()];
        view.deployment.spec.strategy = rolling(0, 0);
        view.deployment.spec.progress_deadline_seconds = Some(0);
    });
    unusual.check(&expect![[r#"
        write-set workers-a max=3
        Complete: 3 of 3 Machines are available and of the current template (maxSurge and maxUnavailable are both 0: maxUnavailable counts as 1; progressDeadlineSeconds 0 is no deadline: set it to 1 or more, or remove it; its selector overlaps with that of others, so that sets without an owner go to whichever comes first: give each deployment a label of its own)
        then at once
    "#]]);
    let share = |text: &str| Some(RawIntOrPercent::Text(text.into()));
    let much = running().with(|view| {
        view.deployment.spec.strategy.rolling =
            Some(RawRolloutBounds { max_unavailable: share("150%"), max_surge: share("150%") });
    });
    assert!(much.reported().contains("maxUnavailable 150% counts as 100%"), "{}", much.reported());
}

#[test]
fn a_frozen_deployment_says_what_its_set_says() {
    let case = running().with(|view| {
        view.sets[0].is_frozen = true;
        view.sets[0].status.frozen = Some("its last Machines have all failed to join".into());
    });
    let reported = format!("{}{}", case.reported(), case.conditions());
    let why = "MachineSet workers-a creates no Machines: its last Machines have all failed to join";
    assert_eq!(reported.matches(why).count(), 2, "{reported}");
    assert!(!reported.contains("too many"), "{reported}");
}

#[test]
fn a_set_that_cannot_be_decoded_holds_everything() {
    let unreadable =
        |case: super::report::Case| case.with(|view| view.unreadable_sets = vec!["workers-x".into()]);
    unreadable(running().wants(9, "b")).check(&expect![[r#"
        UnreadableMachineSet: MachineSet workers-x cannot be decoded: correct or delete it; until then nothing is done
        then rest
    "#]]);
    let last = unreadable(running()).with(|view| {
        view.sets.clear();
        view.deployment.deletion = Some(super::facts::seconds(900));
    });
    assert!(!last.reported().contains("-finalizer"), "{}", last.reported());
}

#[test]
fn what_cannot_be_understood_is_reported_beside_what_goes_on() {
    let problem = "annotation effective-creation-timeout is no duration";
    let reported = running().with(|view| view.deployment.spec.problems = vec![problem.into()]).reported();
    assert!(
        reported.starts_with("InvalidOption: 3 of 3 Machines") && reported.contains(problem),
        "{reported}"
    );
}
