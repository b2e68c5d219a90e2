use expect_test::expect;

use super::*;

fn node() -> Drain {
    drain([
        pod("a").under(misconfigured("strict")),
        pod("b").with_volume("v"),
        pod("c").with_volume("w").ending(-10),
        pod("mirror").owned_by(PodOwner::Mirror),
        pod("daemon").owned_by(PodOwner::DaemonSet),
    ])
    .attachment("x", Some("v"))
    .attachment("inline", None)
}

#[test]
fn force_deletes_all_at_once_then_lets_go_of_the_volumes_and_waits_for_nothing() {
    check(
        node().forced(Force::Requested),
        &expect![[r#"
            look WithoutVolumes
            delete d/a
            delete d/b
            delete d/c
            detach x
            detach inline
            done Forced
        "#]],
    );
}

#[test]
fn the_end_of_the_clock_forces_by_itself() {
    check(
        node().at(7_200),
        &expect![[r#"
            look WithoutVolumes
            delete d/a
            delete d/b
            delete d/c
            detach x
            detach inline
            done Forced
        "#]],
    );
}

#[test]
fn attachments_on_their_way_out_and_pods_without_grace_are_left_to_it() {
    let mut drain = node().forced(Force::NodeUnhealthy);
    for attachment in drain.facts.attachments.as_mut().unwrap() {
        attachment.deletion = Some(at(0));
    }
    for pod in &mut drain.pods {
        pod.ending = Some(PodTermination { deadline: at(0), grace: SignedDuration::ZERO });
    }
    check(
        drain,
        &expect![[r#"
            look WithoutVolumes
            done Forced
        "#]],
    );
}

#[test]
fn what_cannot_be_deleted_is_reported_and_holds_nothing() {
    let mut drain = node().forced(Force::Requested);
    let (reported, end) = drain.pass(|effect| match effect {
        DrainEffect::ListPods { .. } => None,
        _ => Some(ActError::Denied { message: "no".into() }),
    });
    expect![[r#"
        look WithoutVolumes
        delete d/a
        delete d/b
        delete d/c
        detach x
        detach inline
        done ForcedInPart
    "#]]
    .assert_eq(&render(reported, &end));
    let DrainStep::Done { report } = end else { panic!() };
    assert_eq!(report.failures.len(), 5, "{:?}", report.failures);
}

#[test]
fn without_a_look_at_the_pods_the_volumes_are_let_go_of_all_the_same() {
    let mut drain = node().forced(Force::Requested);
    let (reported, end) = drain.pass(|effect| {
        matches!(effect, DrainEffect::ListPods { .. })
            .then(|| ActError::Unreachable { message: "refused".into() })
    });
    expect![[r#"
        look WithoutVolumes
        detach x
        detach inline
        done ForcedInPart
    "#]]
    .assert_eq(&render(reported, &end));
}

#[test]
fn a_server_that_asks_for_a_pause_gets_it_for_a_while() {
    let throttled = |seconds| {
        let (_, end) = node().forced(Force::Requested).at(seconds).pass(|effect| {
            matches!(effect, DrainEffect::DeletePod(_))
                .then(|| ActError::Throttled { after: Some(SignedDuration::from_secs(9)) })
        });
        render(Vec::new(), &end)
    };
    assert_eq!(throttled(0), "back in 9 s\n");
    assert_eq!(throttled(7_259), "back in 9 s\n");
    assert_eq!(throttled(7_260), "done ForcedInPart\n");
    let look = |seconds| {
        let (_, end) = drain([]).forced(Force::Requested).at(seconds).pass(|effect| {
            matches!(effect, DrainEffect::ListPods { .. }).then_some(ActError::Throttled { after: None })
        });
        render(Vec::new(), &end)
    };
    assert_eq!((look(7_259).as_str(), look(7_260).as_str()), ("back in 1 s\n", "done ForcedInPart\n"));
}

#[test]
fn a_drain_that_asks_nobody_does_not_look_behind_claims() {
    let step = drain([]).forced(Force::Requested).step();
    let DrainStep::Act(effects) = step else { panic!("{step:?}") };
    assert_eq!(effects.iter().map(name).collect::<Vec<_>>(), ["look WithoutVolumes"]);
}

/// A drain by force in a process that has no list of VolumeAttachments, since that second.
fn unlisted(since: i64) -> Drain {
    let mut drain = drain([pod("db").with_volume("v")]).forced(Force::Requested);
    drain.facts.attachments = None;
    drain.facts.unlisted_since = Some(at(since));
    drain
}

#[test]
fn force_waits_for_the_list_of_attachments_with_pods_deleted_already() {
    check(
        unlisted(100).at(102),
        &expect![[r#"
            look WithoutVolumes
            delete d/db
            back in 5 s
        "#]],
    );
    check(
        unlisted(100).at(158),
        &expect![[r#"
            look WithoutVolumes
            delete d/db
            back in 2 s
        "#]],
    );
    let DrainStep::Wait { report, .. } = unlisted(100).at(102).pass(|_| None).1 else { panic!() };
    expect!["the VolumeAttachments of the cluster are not listed yet, and those of the Node are to be let go of: they are awaited until 1970-01-01T00:02:40Z. Then the drain ends without them"]
        .assert_eq(&report.message);
}

#[test]
fn the_list_comes_and_force_lets_go_of_what_it_shows() {
    let drain = unlisted(100).at(103).attachment("x", Some("v"));
    check(
        drain,
        &expect![[r#"
            look WithoutVolumes
            delete d/db
            detach x
            done Forced
        "#]],
    );
}

#[test]
fn a_list_that_does_not_come_holds_force_for_a_minute_and_a_clock_that_jumps_back_for_none() {
    for drain in [unlisted(100).at(160), unlisted(100).at(7_300), unlisted(100).at(99)] {
        check(
            drain,
            &expect![[r#"
                look WithoutVolumes
                delete d/db
                done ForcedInPart
            "#]],
        );
    }
}
