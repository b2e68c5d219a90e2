//! Failed and old Machines, and rollouts, within windows and a budget.

use expect_test::expect;
use jiff::tz::TimeZone;

use crate::disruption::maintenance::Windows;
use crate::machine_deployment::{OwnedSetFact, WindowsFact, words};
use crate::value::phase::Phase::{self, Failed, Pending, Running};

use super::facts::{self, recreate, rolling, seconds, set};
use super::report::{Case, case};

/// A set of three of which Machines with these names have failed, and have Nodes.
fn failing(phases: &[Phase]) -> Case {
    case(vec![with_nodes(set("a", 1, phases))])
}

fn with_nodes(mut set: OwnedSetFact) -> OwnedSetFact {
    for machine in &mut set.machines {
        if machine.phase == Failed {
            machine.node = Some(facts::node(machine.name.as_str()));
        }
    }
    set
}

impl Case {
    fn window(self, text: &str) -> Self {
        let windows = Windows::parse(text, |_| Some(TimeZone::UTC)).unwrap();
        self.with(|view| view.deployment.spec.windows = WindowsFact::Given(windows))
    }

    fn strategy(self, unavailable: i64, surge: i64) -> Self {
        self.with(|view| view.deployment.spec.strategy = rolling(unavailable, surge))
    }

    /// The set wants so many.
    fn set_wants(self, wanted: u32) -> Self {
        self.with(|view| view.sets[0].wanted = wanted)
    }

    fn marked(self, machine: usize) -> Self {
        self.with(|view| {
            let machine = &mut view.sets[0].machines[machine];
            (machine.priority, machine.marked_at) = (1, Some(seconds(990)));
        })
    }
}

// Second 1000 is a Thursday, a quarter past midnight: 1970-01-01T00:16:40Z.

#[test]
fn by_default_nothing_is_noted_and_nobody_is_held() {
    failing(&[Running, Running, Failed]).check(&expect![[r#"
        WaitingForMachines: 2 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-a to be available: a2
        then rest
    "#]]);
}

#[test]
fn failed_machines_are_let_go_as_far_as_the_budget_allows() {
    let failed = failing(&[Failed, Failed, Running]).annotated("budget", "1/1h");
    failed.check(&expect![[r#"
        write-deployment taken=a0~1970-01-01T00:16:40Z
        WaitingForDisruptionBudget: 1 of 3 Machines are available and of the current template; waits for 2 Machines of MachineSet workers-a to be available: a0, a1; failed Machines wait: a1; the disruption budget of 1/1h allows the next one at 1970-01-01T01:16:40Z
        then at once
    "#]]);
    // Once it is noted there is nothing to write, and the next one goes when the hour is over.
    let noted = failing(&[Failed, Failed, Running])
        .annotated("budget", "1/1h")
        .annotated("taken", "a0~1970-01-01T00:16:40Z");
    assert!(noted.reported().ends_with("then after 1h\n"), "{}", noted.reported());
    let later = noted.with(|view| view.sets[0].machines[0].is_deleting = true).at(4_600);
    assert!(
        later.reported().starts_with("write-deployment taken=a1~1970-01-01T01:16:40Z\n"),
        "{}",
        later.reported()
    );
}

#[test]
fn who_was_let_go_and_has_not_gone_counts_for_longer() {
    let noted = failing(&[Failed, Failed, Running])
        .annotated("budget", "1/1h")
        .annotated("taken", "a0~1970-01-01T00:00:00Z")
        .at(4_000);
    assert!(
        noted.reported().starts_with("write-deployment taken=a0~1970-01-01T01:06:40Z\n"),
        "{}",
        noted.reported()
    );
}

#[test]
fn who_is_kept_or_has_no_node_needs_no_place_in_the_budget() {
    let kept = |change: fn(&mut OwnedSetFact)| {
        failing(&[Failed, Running, Running])
            .annotated("budget", "1/1h")
            .with(|view| change(&mut view.sets[0]))
            .reported()
    };
    assert!(kept(|_| {}).contains("taken=a0"));
    assert!(!kept(|set| set.machines[0].node = None).contains("taken"));
    assert!(!kept(|set| set.machines[0].preserve_request = Some("when-failed".into())).contains("taken"));
    assert!(!kept(|set| set.machines[0].is_deleting = true).contains("taken"));
}

#[test]
fn failed_machines_wait_for_a_window_where_that_is_asked_for() {
    let failed = failing(&[Running, Running, Failed]).window("Fri 02:00-04:00 UTC");
    assert!(!failed.reported().contains("taken"));
    let held = failing(&[Running, Running, Failed])
        .window("Fri 02:00-04:00 UTC")
        .annotated("remediate-in-windows", "true");
    held.check(&expect![[r#"
        WaitingForWindow: 2 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-a to be available: a2; failed Machines wait for the maintenance window, which opens at 1970-01-02T02:00:00Z: a2
        then after 25h 43m 20s
    "#]]);
    let open = failing(&[Running, Running, Failed])
        .window("Thu 00:00-04:00 UTC")
        .annotated("remediate-in-windows", "true");
    assert!(open.reported().starts_with("write-deployment taken=a2~"), "{}", open.reported());
}

#[test]
fn a_replacement_is_made_before_a_failed_machine_goes() {
    let failed = |phases: &[Phase]| failing(phases).annotated("replace-first", "true");
    failed(&[Running, Running, Failed]).check(&expect![[r#"
        write-deployment replacing=a2~1970-01-01T00:16:40Z
        write-set workers-a 3→4
        ReplacingMachines: 2 of 3 Machines are available and of the current template; waits for 1 Machines of MachineSet workers-a to be available: a2; Machines are being replaced, which go when their replacements are there: a2
        event Normal ScalingMachineSet: Scaled up machine set workers-a to 4
        then at once
    "#]]);
    let replacing = |phases: &[Phase]| failed(phases).annotated("replacing", "a2~1970-01-01T00:16:00Z");
    // Its replacement is not there yet.
    assert!(!replacing(&[Running, Running, Failed, Pending]).reported().contains("write"));
    // It is there: that the failed one goes is noted, it is marked, and goes once both are seen.
    let ready = replacing(&[Running, Running, Failed, Running]).reported();
    let noted =
        "write-deployment taken=a2~1970-01-01T00:16:40Z\nwrite-machine a2 mark 1970-01-01T00:16:40Z\n";
    assert!(ready.starts_with(noted), "{ready}");
    let replacing = |phases: &[Phase]| replacing(phases).annotated("taken", "a2~1970-01-01T00:16:40Z");
    let seen = replacing(&[Running, Running, Failed, Running]).marked(2).reported();
    assert!(seen.starts_with("write-set workers-a 4→3\n"), "{seen}");
    // It is on its way out, and nothing is left to remember.
    let deleting = replacing(&[Running, Running, Failed, Running])
        .marked(2)
        .set_wants(3)
        .with(|view| view.sets[0].machines[2].is_deleting = true);
    assert!(
        deleting.reported().starts_with("write-deployment -replacing -taken\n"),
        "{}",
        deleting.reported()
    );
}

#[test]
fn a_replacement_is_awaited_for_its_time_and_not_for_ever() {
    let replacing = failing(&[Running, Running, Failed, Failed])
        .annotated("replace-first", "10m")
        .annotated("replacing", "a2~1970-01-01T00:06:41Z")
        .with(|view| view.sets[0].machines[3].node = None);
    assert!(replacing.reported().ends_with("then after 1s\n"), "{}", replacing.reported());
    let over = replacing.at(1_001).reported();
    expect![[r#"
        write-deployment -replacing taken=a2~1970-01-01T00:16:41Z
        write-set workers-a 4→3
        WaitingForMachines: 2 of 3 Machines are available and of the current template; waits for 2 Machines of MachineSet workers-a to be available: a2, a3
        event Normal ScalingMachineSet: Scaled down machine set workers-a to 3
        then at once
    "#]]
    .assert_eq(&over);
}

#[test]
fn there_is_one_machine_more_at_a_time_or_as_many_as_the_surge_says() {
    let failed = |surge| {
        failing(&[Failed, Failed, Failed]).annotated("replace-first", "true").strategy(1, surge).reported()
    };
    assert!(failed(0).contains("write-set workers-a 3→4"), "{}", failed(0));
    assert!(failed(2).contains("write-set workers-a 3→5"), "{}", failed(2));
    // One that is on its way out has its place until it is gone.
    let draining = failing(&[Running, Running, Failed, Running])
        .annotated("replace-first", "true")
        .with(|view| {
            view.sets[0].machines[0].is_deleting = true;
            facts::report(&mut view.sets[0]);
        })
        .set_wants(3)
        .reported();
    assert!(draining.contains("replacing=a2") && !draining.contains("write-set"), "{draining}");
}

#[test]
fn who_recovers_is_replaced_no_more() {
    let case = failing(&[Running, Running, Running, Pending])
        .annotated("replace-first", "true")
        .annotated("replacing", "a2~1970-01-01T00:16:00Z");
    let reported = case.reported();
    assert!(reported.starts_with("write-deployment -replacing\nwrite-set workers-a 4→3\n"), "{reported}");
}

#[test]
fn a_replacement_keeps_a_place_in_the_budget_for_the_one_that_goes() {
    let both = failing(&[Running, Failed, Failed])
        .annotated("replace-first", "true")
        .annotated("budget", "1/1h")
        .strategy(1, 2);
    both.check(&expect![[r#"
        write-deployment replacing=a1~1970-01-01T00:16:40Z
        write-set workers-a 3→4 max=5
        WaitingForDisruptionBudget: 1 of 3 Machines are available and of the current template; waits for 2 Machines of MachineSet workers-a to be available: a1, a2; failed Machines wait: a2; the disruption budget of 1/1h is kept for Machines whose replacements are awaited; Machines are being replaced, which go when their replacements are there: a1
        event Normal ScalingMachineSet: Scaled up machine set workers-a to 4
        then at once
    "#]]);
    let ready = failing(&[Running, Failed, Running, Running])
        .annotated("replace-first", "true")
        .annotated("budget", "1/1h")
        .annotated("replacing", "a1~1970-01-01T00:16:00Z")
        .reported();
    assert!(
        ready.starts_with("write-deployment taken=a1~1970-01-01T00:16:40Z\nwrite-machine a1 mark"),
        "{ready}"
    );
}

#[test]
fn in_a_rollout_failed_machines_are_let_go_without_a_replacement() {
    let rollout = case(vec![with_nodes(set("a", 1, &[Running, Running, Failed])), set("b", 2, &[Pending])])
        .wants(3, "b")
        .annotated("replace-first", "true")
        .annotated("replacing", "a2~1970-01-01T00:16:00Z");
    let reported = rollout.reported();
    assert!(reported.starts_with("write-deployment -replacing revision=2\n"), "{reported}");
    let next = case(vec![with_nodes(set("a", 1, &[Running, Running, Failed])), set("b", 2, &[Pending])])
        .wants(3, "b")
        .annotated("replace-first", "true");
    assert!(next.reported().contains("taken=a2~"), "{}", next.reported());
}

fn rollout(budget: &str) -> Case {
    // All new ones run already, so that nothing but the budget holds the old ones.
    case(vec![set("a", 1, &[Running, Running, Running]), set("b", 2, &[Running, Running, Running])])
        .wants(3, "b")
        .annotated("revision", "2")
        .annotated("budget", budget)
        .strategy(0, 3)
        .with(|view| {
            let nodes = view.sets[0].machines.iter_mut().filter_map(|machine| machine.node.as_mut());
            nodes.for_each(|node| node.has_old_taint = true);
            view.settings.holds_autoscaler = false;
        })
}

#[test]
fn a_rollout_takes_away_as_many_as_the_budget_allows() {
    let reported = rollout("2/1h").reported();
    assert!(
        reported.contains("write-deployment taken=a0~1970-01-01T00:16:40Z,a1~1970-01-01T00:16:40Z\n")
            && reported.contains("write-set workers-a 3→1"),
        "{reported}"
    );
    let used =
        rollout("2/1h").annotated("taken", "x~1970-01-01T00:16:00Z,y~1970-01-01T00:16:10Z").with(|view| {
            view.sets[0].annotations.insert("prefer-no-schedule".into(), "True".into());
            view.sets.iter_mut().for_each(|set| drop(set.annotations.insert("max".into(), "6".into())));
        });
    used.check(&expect![[r#"
        WaitingForDisruptionBudget: 3 of 3 Machines are available and of the current template; 6 of all Machines are available, of which 3 must stay: goes on; the rollout waits; the disruption budget of 2/1h allows the next one at 1970-01-01T01:16:00Z
        then after 59m 20s
    "#]]);
    assert!(used.conditions().contains("Progressing=Unknown DeploymentPaused"), "{}", used.conditions());
    assert!(words::PAUSED == "DeploymentPaused");
}

#[test]
fn machines_without_nodes_cost_a_rollout_nothing() {
    let reported = rollout("1/1h")
        .with(|view| {
            view.sets[0].machines[0].node = None;
            view.sets[0].machines[1].node = None;
        })
        .reported();
    assert!(reported.contains("write-set workers-a 3→0") && reported.contains("taken=a2~"), "{reported}");
}

#[test]
fn recreate_begins_when_all_may_go_at_once() {
    let of = |budget: &str| {
        case(vec![set("a", 1, &[Running, Running, Running])])
            .wants(3, "b")
            .annotated("budget", budget)
            .with(|view| view.deployment.spec.strategy = recreate())
    };
    let recreated = |budget: &str| of(budget).reported();
    assert!(recreated("3/1h").contains("write-set workers-a 3→0"), "{}", recreated("3/1h"));
    let held = recreated("2/1h");
    assert!(!held.contains("write-set workers-a 3→"), "{held}");
    let never = "until all 3 Machines may go at once, and the disruption budget of 2/1h never allows so many: raise it or remove it";
    assert!(held.contains(never), "{held}");
    let later = of("3/1h")
        .annotated("taken", "x~1970-01-01T00:16:00Z")
        .annotated("revision", "2")
        .with(|view| drop(view.sets[0].annotations.insert("max".into(), "3".into())))
        .reported();
    assert!(!later.contains("write-set workers-a 3→"), "{later}");
    assert!(later.contains("the disruption budget of 3/1h allows that at 1970-01-01T01:16:00Z"), "{later}");
    assert!(later.contains("then after 59m"), "somebody looks then: {later}");
}

#[test]
fn scaling_down_asks_no_budget() {
    let reported = failing(&[Running, Running, Running])
        .annotated("budget", "1/1h")
        .annotated("taken", "x~1970-01-01T00:16:00Z")
        .wants(1, "a")
        .reported();
    assert!(reported.contains("write-set workers-a 3→1"), "{reported}");
}

/// Three Machines whose age of a day is over: they were made at second 10.
fn old(unavailable: i64, surge: i64) -> Case {
    case(vec![set("a", 1, &[Running, Running, Running])])
        .annotated("max-age", "24h")
        .strategy(unavailable, surge)
        .with(|view| drop(view.sets[0].annotations.insert("max".into(), (3 + surge).to_string())))
        .at(90_000)
}

#[test]
fn old_machines_are_replaced_one_by_one_where_there_may_be_one_more() {
    let reported = old(0, 1).reported();
    let replaced = reported.split("replacing=").nth(1).unwrap();
    assert!(!replaced.lines().next().unwrap().contains(','), "{reported}");
    assert!(
        reported.contains("write-set workers-a 3→4") && reported.contains("ReplacingMachines"),
        "{reported}"
    );
    let two = old(0, 2).reported();
    assert!(two.contains("write-set workers-a 3→5"), "{two}");
}

#[test]
fn an_old_machine_that_is_preserved_stays_and_no_other_goes_in_its_place() {
    for (unavailable, surge) in [(0, 1), (1, 0)] {
        let reported = old(unavailable, surge)
            .with(|view| {
                for machine in &mut view.sets[0].machines {
                    machine.preserved_until = Some(seconds(900_000));
                }
            })
            .reported();
        assert!(!reported.contains("write-set") && !reported.contains("write-machine"), "{reported}");
    }
}

#[test]
fn an_old_machine_that_somebody_has_marked_gets_its_replacement_all_the_same() {
    let marked = || (0..3).fold(old(0, 1), Case::marked);
    let begun = marked().reported();
    assert!(begun.contains("write-set workers-a 3→4") && begun.contains("replacing="), "{begun}");
    // It is noted that a0 goes, and its owner wants one more before it does.
    let grown = marked()
        .annotated("replacing", "a0~1970-01-02T00:50:00Z")
        .annotated("taken", "a0~1970-01-02T00:55:00Z")
        .wants(4, "a")
        .reported();
    assert!(grown.contains("write-set workers-a 3→"), "{grown}");
}

#[test]
fn where_there_may_not_be_one_more_an_old_machine_goes_first() {
    let begun = old(1, 0).reported();
    assert!(begun.starts_with("write-machine a") && !begun.contains("write-set"), "{begun}");
    let name = begun["write-machine ".len()..].chars().take(2).collect::<String>();
    let index: usize = name[1..].parse().unwrap();
    let marked = old(1, 0).marked(index).reported();
    assert!(marked.starts_with("write-set workers-a 3→2\n"), "{marked}");
    // While it is missing nobody else goes, and it is made again when there is room.
    let missing = old(1, 0).marked(index).set_wants(2).reported();
    assert!(!missing.contains("write-machine") && !missing.contains("write-set"), "{missing}");
    let gone = old(1, 0).set_wants(2).with(|view| {
        view.sets[0].machines.remove(index);
        facts::report(&mut view.sets[0]);
    });
    assert!(gone.reported().starts_with("write-set workers-a 2→3\n"), "{}", gone.reported());
}

#[test]
fn old_machines_wait_for_windows_budgets_pauses_and_whoever_is_missing() {
    let closed = old(0, 1).window("Thu 02:00-04:00 UTC");
    let reported = closed.reported();
    assert!(
        reported.starts_with("Complete: ")
            && reported.contains(
                "Machines have reached their age, and their replacement waits for its maintenance window"
            ),
        "{reported}"
    );
    let used = old(0, 1).annotated("budget", "1/1h").annotated("taken", "x~1970-01-02T00:50:00Z").reported();
    assert!(
        !used.contains("write") && used.contains("allows the next one at 1970-01-02T01:50:00Z"),
        "{used}"
    );
    assert!(
        !old(0, 1).with(|view| view.deployment.spec.is_paused = true).reported().contains("write-deployment")
    );
    let missing = old(0, 1).with(|view| {
        view.sets[0].machines[0].phase = Pending;
        facts::report(&mut view.sets[0]);
    });
    assert!(!missing.reported().contains("write"), "{}", missing.reported());
    let rolled = case(vec![set("a", 1, &[Running, Running, Running]), set("b", 2, &[Pending])])
        .wants(3, "b")
        .annotated("max-age", "24h")
        .at(90_000);
    assert!(!rolled.reported().contains("replacing"), "{}", rolled.reported());
}

#[test]
fn the_next_look_is_when_the_next_machine_will_be_too_old() {
    let young = old(0, 1).at(80).reported();
    assert!(young.starts_with("Complete") && young.contains("then after 2"), "{young}");
}

#[test]
fn what_begins_in_a_window_ends_after_it() {
    let begun = old(0, 1)
        .window("Thu 02:00-04:00 UTC")
        .annotated("replacing", "a1~1970-01-02T00:50:00Z")
        .with(|view| {
            view.sets[0] = set("a", 1, &[Running, Running, Running, Running]);
            view.sets[0].machines[3].created = seconds(89_000);
        })
        .reported();
    assert!(begun.contains("write-machine a1 mark"), "{begun}");
}

#[test]
fn what_cannot_be_understood_is_reported_and_holds_what_can_wait() {
    let unusual = failing(&[Running, Running, Running]).annotated("max-age", "7d");
    unusual.check(&expect![[r#"
        InvalidOption: 3 of 3 Machines are available and of the current template (annotation max-age: duration "7d" has the unknown unit "d" (known are ns, us, ms, s, m and h): fix or remove it; it counts as not set)
        then rest
    "#]]);
    let held = rollout("many").reported();
    assert!(held.starts_with("InvalidOption: 3 of 3"), "{held}");
    assert!(held.contains("the rollout is held since its disruption budget cannot be understood (annotation budget: \"many\""), "{held}");
    // A failed Machine does not wait until somebody fixes a text.
    let failed = failing(&[Running, Running, Failed]).annotated("budget", "many").reported();
    assert!(!failed.contains("taken") && !failed.contains("failed Machines wait"), "{failed}");
}

#[test]
fn wishes_and_notes_stay_with_the_deployment() {
    let reported =
        case(Vec::new()).annotated("budget", "1/1h").annotated("taken", "x~1970-01-01T00:16:00Z").reported();
    assert!(reported.contains("create-set") && !reported.contains("budget="), "{reported}");
}

#[test]
fn without_a_budget_no_more_are_noted_than_an_annotation_holds() {
    let many =
        failing(&[Failed; 1_200]).wants(1_200, "a").set_wants(1_200).annotated("replace-first", "true");
    let (_, conclusion) = many.run();
    let reported = many.reported();
    let list = reported.split_once("replacing=").unwrap().1.lines().next().unwrap();
    assert_eq!(list.matches('~').count(), 1_000);
    assert!(conclusion.message.contains("failed Machines wait: "), "{}", conclusion.message);
}
