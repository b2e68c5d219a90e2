use expect_test::expect;

use super::*;

#[test]
fn an_empty_node_is_drained_once_the_server_says_so_for_sure() {
    check(
        drain([]),
        &expect![[r#"
        look Cached
        look Latest
        done Drained
    "#]],
    );
}

#[test]
fn a_node_that_is_gone_needs_no_look() {
    let mut drain = drain([pod("a")]);
    drain.facts.node = NodeState::Gone;
    check(
        drain,
        &expect![[r#"
        done NodeGone
    "#]],
    );
}

#[test]
fn pods_of_kubelet_and_daemon_sets_stay_and_all_others_go() {
    let finished = PodFact { phase: PodPhase::Finished, ..pod("finished") };
    let local = PodFact { has_local_storage: true, ..pod("local") };
    let mut drain = drain([
        pod("mirror").owned_by(PodOwner::Mirror),
        pod("daemon").owned_by(PodOwner::DaemonSet),
        pod("unmanaged").owned_by(PodOwner::Nobody),
        local,
        finished,
        pod("plain"),
    ]);
    let (reported, end) = drain.pass(|_| None);
    assert_eq!(
        reported,
        ["look Cached", "evict d/finished", "evict d/local", "evict d/plain", "evict d/unmanaged"]
    );
    assert!(matches!(end, DrainStep::Wait { .. }));
}

#[test]
fn only_pods_that_stay_are_left_so_the_node_is_drained() {
    check(
        drain([pod("m").owned_by(PodOwner::Mirror), pod("d").owned_by(PodOwner::DaemonSet)]),
        &expect![[r#"
            look Cached
            look Latest
            done Drained
        "#]],
    );
}

#[test]
fn pods_on_their_way_are_not_asked_again() {
    check(
        drain([pod("a").ending(6), pod("b")]).at(8),
        &expect![[r#"
        look Cached
        evict d/b
        JustAsked: 2
        back in 1 s
    "#]],
    );
}

#[test]
fn the_most_important_pod_is_asked_first_then_by_name() {
    check(
        drain([pod("b"), pod("c").priority(7), pod("a"), pod("d").priority(-1)]),
        &expect![[r#"
        look Cached
        evict d/c
        evict d/a
        evict d/b
        evict d/d
        JustAsked: 4
        back in 1 s
    "#]],
    );
}

#[test]
fn a_pass_asks_a_few_and_the_next_one_follows_within_a_second() {
    let (reported, end) = drain((0..50).map(|n| pod(&format!("p{n:02}")))).pass(|_| None);
    assert_eq!(reported.len(), 1 + 20);
    assert!(matches!(end, DrainStep::Wait { wake: Requeue::After(after), .. } if after.as_secs() == 1));
}

#[test]
fn looks_are_soon_at_first_and_then_further_apart_with_one_at_the_deadline() {
    let back = |seconds| {
        let long = PodFact { grace: SignedDuration::from_mins(2), ..pod("a") }.ending(0);
        match drain([long]).at(seconds).pass(|_| None).1 {
            DrainStep::Wait { wake: Requeue::After(after), .. } => after.as_secs(),
            other => panic!("{other:?}"),
        }
    };
    let mut looks = vec![0];
    while *looks.last().unwrap() < 200 {
        let seconds = looks.last().unwrap();
        looks.push(seconds + back(*seconds));
    }
    assert!(looks.len() < 45, "{looks:?}");
    assert_eq!(looks[..6], [0, 1, 2, 3, 4, 5]);
    assert!(looks.contains(&121), "{looks:?}");
}

#[test]
fn a_pod_that_hangs_is_reported_until_it_is_deleted_without_grace() {
    let hanging = || {
        let mut drain = drain([pod("a").ending(0)]);
        drain.settings.max_evict_retries = 30;
        drain
    };
    check(
        hanging().at(599),
        &expect![[r#"
        look Cached
        Overdue: 1
        back in 1 s
    "#]],
    );
    check(
        hanging().at(600),
        &expect![[r#"
            look Cached
            delete d/a
            JustAsked: 1
            back in 1 s
        "#]],
    );
}

#[test]
fn a_budget_that_is_spent_holds_its_pods_and_no_others() {
    check(
        drain([
            pod("a").under(budget("spent", 0)),
            pod("b").under(budget("free", 1)),
            pod("c").under(misconfigured("strict")),
            pod("d").under(budget("x", 1)).under(budget("y", 1)),
        ]),
        &expect![[r#"
            look Cached
            evict d/b
            BudgetMisconfigured: 1
            SeveralBudgets: 1
            Budget: 1
            JustAsked: 1
            back in 1 s
        "#]],
    );
}

#[test]
fn budgets_that_let_sick_pods_go_do_not_hold_and_one_that_is_being_processed_does() {
    let stale = BudgetFact { generation: 2, ..budget("stale", 1) };
    let always = BudgetFact { unhealthy_pods: UnhealthyPods::AlwaysAllow, ..misconfigured("always") };
    let sick = |name: &str| PodFact { is_ready: false, ..pod(name) };
    let broken = BudgetFact { current_healthy: 1, ..budget("broken", 0) };
    check(
        drain([
            pod("stale").under(stale),
            sick("sick-always").under(always.clone()),
            pod("well-always").under(always),
            sick("sick-healthy").under(budget("healthy", 0)),
            sick("sick-broken").under(broken),
            PodFact { phase: PodPhase::Pending, ..pod("pending") }.under(budget("spent", 0)),
            PodFact { phase: PodPhase::Finished, ..pod("finished") }.under(budget("spent", 0)),
        ]),
        &expect![[r#"
            look Cached
            evict d/finished
            evict d/pending
            evict d/sick-always
            evict d/sick-healthy
            BudgetMisconfigured: 1
            Budget: 2
            JustAsked: 4
            back in 1 s
        "#]],
    );
}

#[test]
fn a_budget_in_transition_is_not_called_misconfigured() {
    let just = BudgetFact { has_disrupted_pods: true, ..misconfigured("just") };
    let none = BudgetFact { expected_pods: 0, ..misconfigured("none") };
    check(
        drain([pod("a").under(just), pod("b").under(none)]),
        &expect![[r#"
        look Cached
        Budget: 2
        back in 5 s
    "#]],
    );
}

#[test]
fn a_misconfigured_budget_is_looked_at_calmly_and_asked_in_doubt_every_three_minutes() {
    let drain = drain([pod("a").under(misconfigured("strict"))]);
    check(
        drain.clone().at(10),
        &expect![[r#"
            look Cached
            BudgetMisconfigured: 1
            back in 20 s
        "#]],
    );
    check(
        drain.clone().at(180),
        &expect![[r#"
        look Cached
        evict d/a
        JustAsked: 1
        back in 1 s
    "#]],
    );
    check(
        drain.at(190),
        &expect![[r#"
            look Cached
            BudgetMisconfigured: 1
            back in 20 s
        "#]],
    );
}

#[test]
fn a_refusal_of_the_server_counts_even_if_the_budget_looked_free() {
    let mut drain = drain([pod("a").under(budget("free", 1)), pod("b")]);
    drain.progress.record(DrainOutcome::Pods(Ok(PodListing {
        read: ReadConsistency::Cached,
        pods: drain.pods.clone(),
    })));
    let after = Some(SignedDuration::from_secs(13));
    drain.progress.record(DrainOutcome::Evict {
        pod: drain.pods[0].pod.clone(),
        result: Err(EvictError::Budget { after }),
    });
    let (reported, end) = drain.pass(|_| None);
    expect![[r#"
        evict d/b
        Budget: 1
        JustAsked: 1
        back in 1 s
    "#]]
    .assert_eq(&render(reported, &end));
}

#[test]
fn a_pod_whose_namespace_is_being_deleted_goes_by_itself_and_is_no_failure() {
    let mut drain = drain([pod("a")]);
    drain.progress.record(DrainOutcome::Pods(Ok(PodListing {
        read: ReadConsistency::Cached,
        pods: drain.pods.clone(),
    })));
    let result = Err(EvictError::NamespaceEnding);
    drain.progress.record(DrainOutcome::Evict { pod: drain.pods[0].pod.clone(), result });
    let (reported, end) = drain.pass(|_| None);
    expect![[r#"
        JustAsked: 1
        back in 20 s
    "#]]
    .assert_eq(&render(reported, &end));
}

#[test]
fn budgets_that_never_allow_an_eviction_are_errors_in_words_that_others_know_whether_just_tried_or_not() {
    let several = || pod("b").under(misconfigured("x")).under(misconfigured("y"));
    let mut pods: Vec<PodFact> =
        ["a1", "a2", "a3", "a4"].map(|name| pod(name).under(misconfigured("strict"))).into();
    pods.push(several());
    pods.push(pod("c").under(budget("spent", 0)));
    let error = |drain: &Drain| {
        let mut drain = drain.clone();
        let (_, end) = drain.pass(|_| None);
        let DrainStep::Wait { report, .. } = end else { panic!("{end:?}") };
        report.error().unwrap_or_default()
    };
    let mut drain = drain(pods).at(30);
    let said = error(&drain);
    expect!["error while evicting pods d/a1, d/a2, d/a3 and 1 more: pod disruption budget d/strict is misconfigured and requires zero voluntary evictions; error while evicting pod d/b: several pod disruption budgets select the same pod, which Kubernetes refuses to evict (d/x, d/y)"].assert_eq(&said);
    drain.progress.record(DrainOutcome::Pods(Ok(PodListing {
        read: ReadConsistency::Cached,
        pods: drain.pods.clone(),
    })));
    let refused = ActError::Unreachable { message: "500".into() };
    drain
        .progress
        .record(DrainOutcome::Evict { pod: several().pod, result: Err(EvictError::Failed(refused)) });
    assert_eq!(error(&drain), said, "a try does not change what there is to say");
}

#[test]
fn the_servers_wish_to_wait_is_kept_and_nobody_is_asked_meanwhile() {
    let mut drain = drain((0..30).map(|n| pod(&format!("p{n:02}"))));
    let (reported, end) = drain.pass(|effect| match effect {
        DrainEffect::Evict(_) => Some(ActError::Throttled { after: Some(SignedDuration::from_secs(17)) }),
        _ => None,
    });
    assert_eq!(reported.len(), 21);
    let DrainStep::Wait { report, wake: Requeue::After(after) } = end else { panic!("{end:?}") };
    assert_eq!(report.groups[0].cause, WaitCause::NotAsked);
    assert_eq!(after.as_secs(), 17);
}

#[test]
fn an_eviction_that_fails_is_reported_and_tried_again_later() {
    let mut drain = drain([pod("a"), pod("b").ending(0)]).at(100);
    let (reported, end) = drain.pass(|effect| {
        matches!(effect, DrainEffect::Evict(_)).then(|| ActError::Denied { message: "no such right".into() })
    });
    expect![[r#"
        look Cached
        evict d/a
        Failed: 1
        Overdue: 1
        back in 20 s
    "#]]
    .assert_eq(&render(reported, &end));
    let DrainStep::Wait { report, .. } = end else { panic!() };
    assert_eq!(report.failures, ["d/a: forbidden: no such right"]);
}

#[test]
fn a_drain_whose_turn_it_is_not_is_in_line_and_has_not_failed() {
    let in_line = |seconds, after| {
        let (reported, end) = drain([pod("a")]).at(seconds).pass(|_| Some(ActError::Throttled { after }));
        let DrainStep::Wait { report, .. } = &end else { panic!("{end:?}") };
        assert!(report.is_in_line && report.failures.is_empty(), "{report:?}");
        assert!(report.message.starts_with("other drains go first"), "{}", report.message);
        render(reported, &end)
    };
    assert_eq!(in_line(0, None), "look Cached\nback in 10 s\n");
    assert_eq!(in_line(0, Some(SignedDuration::from_secs(30))), "look Cached\nback in 30 s\n");
    // Never past the end of its time.
    assert_eq!(in_line(7_196, None), "look Cached\nback in 4 s\n");
}

#[test]
fn a_look_that_fails_is_tried_again_with_growing_pauses() {
    let (_, end) = drain([pod("a")]).pass(|_| Some(ActError::Unreachable { message: "refused".into() }));
    assert!(matches!(end, DrainStep::Wait { wake: Requeue::Retry { .. }, .. }), "{end:?}");
}

#[test]
fn no_retries_means_that_nobody_is_asked() {
    let mut drain = drain([pod("a").under(misconfigured("strict"))]);
    drain.settings.max_evict_retries = 0;
    check(
        drain,
        &expect![[r#"
        look Cached
        delete d/a
        JustAsked: 1
        back in 1 s
    "#]],
    );
}

#[test]
fn a_pod_of_a_budget_that_the_server_wants_left_alone_is_not_asked_while_others_end() {
    let until = |second| BudgetFact { held_until: Some(at(second)), ..budget("held", 1) };
    let both = |second| drain([pod("held").under(until(second)), pod("other").ending(0)]).at(3);
    check(
        both(10),
        &expect![[r#"
            look Cached
            Budget: 1
            JustAsked: 1
            back in 1 s
        "#]],
    );
    check(
        both(3),
        &expect![[r#"
            look Cached
            evict d/held
            JustAsked: 2
            back in 1 s
        "#]],
    );
    // Not even in doubt of its copy, and beyond the usual pause.
    let held = BudgetFact { held_until: Some(at(230)), ..misconfigured("held") };
    check(
        drain([pod("held").under(BudgetFact { held_until: Some(at(230)), ..budget("held", 0) })]).at(181),
        &expect![[r#"
            look Cached
            Budget: 1
            back in 49 s
        "#]],
    );
    check(
        drain([pod("held").under(held)]).at(181),
        &expect![[r#"
            look Cached
            BudgetMisconfigured: 1
            back in 20 s
        "#]],
    );
}

#[test]
fn who_asks_nobody_any_more_is_held_by_no_wish_of_the_server() {
    let mut insisting = drain([pod("a").under(BudgetFact { held_until: Some(at(90)), ..budget("b", 0) })]);
    insisting.settings.max_evict_retries = 2;
    check(
        insisting.at(60),
        &expect![[r#"
            look Cached
            delete d/a
            JustAsked: 1
            back in 1 s
        "#]],
    );
}
