use expect_test::expect;

use super::*;

fn three() -> Drain {
    drain([
        pod("db-0").with_volume("v0"),
        pod("db-1").with_volume("v1").priority(5),
        pod("db-2").with_volume("v2"),
        pod("web"),
    ])
    .attachment("a0", Some("v0"))
    .attachment("a1", Some("v1"))
    .attachment("a2", Some("v2"))
}

fn without(mut drain: Drain, pod: &str) -> Drain {
    drain.pods.retain(|fact| fact.pod.key.name.as_str() != pod);
    drain
}

fn detached(mut drain: Drain, volume: &str) -> Drain {
    let attachments = drain.facts.attachments.as_mut().unwrap();
    attachments.retain(|attachment| attachment.volume != Some(VolumeName::new(volume)));
    drain
}

#[test]
fn pods_with_volumes_go_one_after_another_the_most_important_first() {
    check(
        three(),
        &expect![[r#"
        look Cached
        evict d/db-1
        evict d/web
        JustAsked: 2
        WaitsForTurn: 2
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn several_go_at_a_time_where_that_is_wished() {
    let mut drain = three();
    drain.settings.parallel_volumes = 2;
    check(
        drain,
        &expect![[r#"
        look Cached
        evict d/db-1
        evict d/db-0
        evict d/web
        JustAsked: 3
        WaitsForTurn: 1
        remember v0
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn the_next_one_waits_until_the_volume_has_left_the_node() {
    let drain = without(three(), "db-1").remembering(awaited("v1", "db-1", 0)).at(40);
    check(
        drain,
        &expect![[r#"
        look Cached
        evict d/web
        JustAsked: 1
        WaitsForTurn: 2
        Detaching: 1
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn a_restart_that_lost_the_memory_still_waits_for_what_is_attached_and_unused() {
    let drain = without(three(), "db-1").at(40);
    check(
        drain,
        &expect![[r#"
        look Cached
        evict d/web
        JustAsked: 1
        WaitsForTurn: 2
        Detaching: 1
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn the_node_tells_too_what_is_attached() {
    let drain = detached(without(three(), "db-1"), "v1")
        .attached("kubernetes.io/csi/ebs.csi.aws.com^id-v1")
        .remembering(awaited("v1", "db-1", 0))
        .at(40);
    check(
        drain,
        &expect![[r#"
        look Cached
        evict d/web
        JustAsked: 1
        WaitsForTurn: 2
        Detaching: 1
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn a_similar_id_is_another_volume() {
    let drain = detached(without(three(), "db-1"), "v1")
        .attached("kubernetes.io/csi/ebs.csi.aws.com^id-v12")
        .attached("kubernetes.io/csi/ebs.csi.aws.com^xid-v1")
        .remembering(AwaitedVolume { detached: Some(at(35)), ..awaited("v1", "db-1", 0) })
        .at(40);
    check(
        drain,
        &expect![[r#"
        look Cached
        evict d/web
        JustAsked: 1
        WaitsForTurn: 2
        Reattaching: 1
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn after_the_detach_timeout_the_next_one_goes() {
    let drain = without(three(), "db-1").remembering(awaited("v1", "db-1", 0));
    check(
        drain.clone().at(149),
        &expect![[r#"
        look Cached
        evict d/web
        JustAsked: 1
        WaitsForTurn: 2
        Detaching: 1
        remember v1
        back in 1 s
    "#]],
    );
    check(
        drain.at(150),
        &expect![[r#"
        look Cached
        evict d/db-0
        evict d/web
        JustAsked: 2
        WaitsForTurn: 1
        DetachingTooLong: 1
        remember v0
        remember v1
        back in 1 s
    "#]],
    );
}

#[test]
fn the_next_one_waits_until_the_volume_is_elsewhere_but_not_for_ever() {
    let between = detached(without(three(), "db-1"), "v1")
        .remembering(AwaitedVolume { detached: Some(at(40)), ..awaited("v1", "db-1", 0) });
    check(
        between.clone().at(100),
        &expect![[r#"
        look Cached
        evict d/web
        JustAsked: 1
        WaitsForTurn: 2
        Reattaching: 1
        remember v1
        back in 1 s
    "#]],
    );
    check(
        between.clone().at(130),
        &expect![[r#"
        look Cached
        evict d/db-0
        evict d/web
        JustAsked: 2
        WaitsForTurn: 1
        remember v0
        back in 1 s
    "#]],
    );
    let mut arrived = between.at(100);
    arrived
        .facts
        .attachments
        .get_or_insert_default()
        .push(AttachmentFact { is_here: false, ..attachment("b1", Some("v1")) });
    check(
        arrived,
        &expect![[r#"
        look Cached
        evict d/db-0
        evict d/web
        JustAsked: 2
        WaitsForTurn: 1
        remember v0
        back in 1 s
    "#]],
    );
}

#[test]
fn the_last_volume_need_not_be_elsewhere() {
    let drain =
        drain([]).remembering(AwaitedVolume { detached: Some(at(40)), ..awaited("v1", "db-1", 0) }).at(45);
    check(
        drain,
        &expect![[r#"
            look Cached
            look Latest
            done Drained
        "#]],
    );
}

#[test]
fn a_volume_that_never_leaves_is_let_go_of_at_the_end() {
    let drain = drain([])
        .attachment("a1", Some("v1"))
        .attachment("inline", None)
        .remembering(awaited("v1", "db-1", 0))
        .at(150);
    check(
        drain,
        &expect![[r#"
            look Cached
            look Latest
            detach a1
            DetachingTooLong: 1
            done VolumesLeft
        "#]],
    );
}

#[test]
fn a_volume_that_others_on_the_node_use_is_not_awaited() {
    let daemon = pod("agent").owned_by(PodOwner::DaemonSet).with_volume("shared");
    let drain = drain([daemon]).attachment("a", Some("shared")).at(5);
    check(
        drain,
        &expect![[r#"
        look Cached
        look Latest
        done Drained
    "#]],
    );
}

#[test]
fn pods_that_share_a_volume_are_all_awaited_and_then_the_volume() {
    let both = drain([pod("a").with_volume("s"), pod("b").with_volume("s")]).attachment("va", Some("s"));
    check(
        both.clone(),
        &expect![[r#"
        look Cached
        evict d/a
        JustAsked: 1
        WaitsForTurn: 1
        remember s
        back in 1 s
    "#]],
    );
    let second = without(both, "a").remembering(awaited("s", "a", 0)).at(31);
    check(
        second.clone(),
        &expect![[r#"
        look Cached
        evict d/b
        JustAsked: 1
        remember s
        back in 1 s
    "#]],
    );
    check(
        without(second, "b").at(62),
        &expect![[r#"
        look Cached
        Detaching: 1
        remember s
        back in 10 s
    "#]],
    );
}

#[test]
fn the_last_of_several_users_counts_for_the_detach_timeout() {
    let mut drain = drain([pod("b").with_volume("s").ending(100)])
        .attachment("va", Some("s"))
        .remembering(awaited("s", "a", 0))
        .at(110);
    let (_, DrainStep::Wait { report, .. }) = drain.pass(|_| None) else { panic!("no wait") };
    assert_eq!(report.memory.volumes, [awaited("s", "b", 100)]);
}

#[test]
fn pods_whose_volumes_nobody_can_follow_are_awaited_all_the_same() {
    let unknown = |name: &str| {
        let mut pod = pod(name);
        pod.claims.push(PvcFact { claim: Name::new("nfs"), volume: None, ids: BTreeSet::new() });
        pod
    };
    check(
        drain([unknown("a").ending(0), unknown("b")]).at(10),
        &expect![[r#"
        look Cached
        Ending: 1
        WaitsForTurn: 1
        back in 2 s
    "#]],
    );
    check(
        drain([unknown("b")]).at(20),
        &expect![[r#"
        look Cached
        evict d/b
        JustAsked: 1
        back in 1 s
    "#]],
    );
}

#[test]
fn a_pod_with_volumes_that_hangs_does_not_hold_the_others_for_ever() {
    let hanging = drain([pod("a").with_volume("v").ending(0), pod("b").with_volume("w")])
        .attachment("x", Some("v"))
        .attachment("y", Some("w"));
    check(
        hanging.clone().at(149),
        &expect![[r#"
        look Cached
        Overdue: 1
        WaitsForTurn: 1
        remember v
        back in 20 s
    "#]],
    );
    check(
        hanging.at(150),
        &expect![[r#"
        look Cached
        evict d/b
        Overdue: 1
        JustAsked: 1
        remember v
        remember w
        back in 1 s
    "#]],
    );
}

#[test]
fn a_budget_does_not_hold_the_turn_of_others() {
    let drain = drain([
        pod("held").with_volume("v").priority(9).under(budget("spent", 0)),
        pod("free").with_volume("w"),
    ]);
    check(
        drain,
        &expect![[r#"
        look Cached
        evict d/free
        Budget: 1
        JustAsked: 1
        back in 1 s
    "#]],
    );
}

#[test]
fn turns_refused_by_the_server_pass_to_the_next_a_few_times() {
    let mut drain = drain((0..9).map(|n| pod(&format!("p{n}")).with_volume(&format!("v{n}"))));
    let (told, _) = drain.pass(|effect| match effect {
        DrainEffect::Evict(_) => Some(ActError::Denied { message: "no".into() }),
        _ => None,
    });
    assert_eq!(told, ["look Cached", "evict d/p0", "evict d/p1", "evict d/p2", "evict d/p3"]);
}

#[test]
fn nothing_with_volumes_goes_before_the_attachments_are_known() {
    let mut drain = drain([pod("a").with_volume("v"), pod("b")]);
    drain.facts.attachments = None;
    check(
        drain.clone(),
        &expect![[r#"
        look Cached
        evict d/b
        JustAsked: 1
        WaitsForTurn: 1
        back in 1 s
    "#]],
    );
    drain.pods.clear();
    drain.progress = DrainProgress::default();
    check(
        drain,
        &expect![[r#"
        look Cached
        back in 10 s
    "#]],
    );
}

#[test]
fn the_node_that_goes_in_mid_drain_ends_all_waiting() {
    let mut drain = three().remembering(awaited("v1", "db-1", 0)).at(20);
    drain.facts.node = NodeState::Gone;
    check(
        drain,
        &expect![[r#"
        done NodeGone
    "#]],
    );
}

#[test]
fn pods_that_always_fail_do_not_keep_those_behind_them_from_their_turn() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut reached = BTreeSet::new();
    for seconds in (0..200).step_by(20) {
        let mut drain = drain(names.map(|name| pod(name).with_volume(name))).at(seconds);
        let (told, _) = drain.pass(|effect| {
            matches!(effect, DrainEffect::Evict(_)).then(|| ActError::Denied { message: "a webhook".into() })
        });
        let asked: Vec<_> = told.into_iter().filter(|line| line.starts_with("evict")).collect();
        assert_eq!(asked.first().map(String::as_str), Some("evict d/a"), "the first stays the first");
        assert!(asked.len() <= 4, "{asked:?}");
        reached.extend(asked);
    }
    assert_eq!(reached.len(), names.len(), "{reached:?}");
}
