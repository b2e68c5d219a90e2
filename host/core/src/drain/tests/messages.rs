use expect_test::{Expect, expect};

use super::*;

fn message(mut drain: Drain) -> String {
    match drain.pass(|_| None).1 {
        DrainStep::Wait { report, .. } | DrainStep::Done { report } => report.message,
        DrainStep::Act(_) => unreachable!(),
    }
}

fn check_message(drain: Drain, expected: &Expect) {
    expected.assert_eq(&message(drain));
}

#[test]
fn a_message_says_what_is_awaited_why_until_when_and_what_to_do() {
    let mut many = drain([
        pod("a").under(misconfigured("strict")),
        pod("b").under(budget("spent", 0)),
        pod("c").under(budget("x", 0)).under(budget("y", 0)),
        pod("late").ending(0),
        pod("slow").ending(60),
        pod("v0").with_volume("v0").ending(97),
        pod("v1").with_volume("v1"),
        PodFact { has_local_storage: true, ..pod("v2") }.with_volume("v2"),
        pod("v3").with_volume("v3").owned_by(PodOwner::Nobody),
        pod("v4").with_volume("v4"),
    ])
    .attachment("left", Some("gone"))
    .at(100);
    many.pods[4].grace = SignedDuration::from_mins(5);
    check_message(
        many,
        &expect![
            "1 pod (d/a) is held by a PodDisruptionBudget that never allows an eviction (d/strict): let it allow one; 1 pod (d/c) is selected by several PodDisruptionBudgets, so that Kubernetes refuses an eviction (d/x, d/y): let one select it; 1 pod (d/b) is held by PodDisruptionBudget d/spent; 1 pod (d/late) should have ended by now: see its finalizers and its node; 1 pod (d/slow) ends within the grace period; pods are ending that were asked a moment ago; 4 pods (d/v1, d/v2, d/v3 and 1 more) with volumes wait for others to move; 1 volume (gone) is being detached; local data is lost of d/v2; no controller replaces d/v3. Pods that are left at 1970-01-01T02:00:00Z are deleted at once"
        ],
    );
}

#[test]
fn messages_of_each_end() {
    check_message(drain([]), &expect!["all pods have gone"]);
    check_message(
        drain([pod("a")]).forced(Force::NodeUnhealthy),
        &expect![
            "pods and volume attachments were deleted without waiting, because the Node is unhealthy and they could not end by themselves"
        ],
    );
    check_message(
        drain([pod("a")]).at(7_200),
        &expect![
            "pods and volume attachments were deleted without waiting, because the time for the drain is over"
        ],
    );
    let left = drain([]).attachment("a1", Some("v1")).remembering(awaited("v1", "db-1", 0)).at(150);
    check_message(
        left,
        &expect![
            "all pods have gone, and volumes that did not leave the Node in time were let go of; 1 volume (v1) should have been detached by now"
        ],
    );
    let mut gone = drain([]);
    gone.facts.node = NodeState::Gone;
    check_message(gone, &expect!["the Node is gone, so nothing is to be drained"]);
}

#[test]
fn a_message_tells_when_asking_ends_before_waiting_does() {
    let early = |seconds| {
        let mut drain = drain([pod("a").ending(0)]).at(seconds);
        drain.settings.max_evict_retries = 9;
        drain
    };
    check_message(
        early(3),
        &expect![
            "pods are ending that were asked a moment ago. Pods are deleted without asking from 1970-01-01T00:03:00Z on, and nothing is awaited from 1970-01-01T02:00:00Z on"
        ],
    );
    check_message(
        early(190),
        &expect![
            "pods are ending that were asked a moment ago. Pods are deleted without asking since 1970-01-01T00:03:00Z, and nothing is awaited from 1970-01-01T02:00:00Z on"
        ],
    );
}

#[test]
fn a_crowd_that_goes_within_its_first_moment_is_reported_once() {
    let reported: BTreeSet<String> = (0..4)
        .map(|left| {
            let pods = (0..=left).map(|n| pod(&format!("p{n}")).ending(0));
            message(drain(pods).at(3 - left))
        })
        .collect();
    assert_eq!(reported.len(), 1, "{reported:?}");
}

#[test]
fn while_attachments_are_unknown_the_message_says_what_is_missing() {
    let mut drain = drain([]);
    drain.facts.attachments = None;
    check_message(
        drain,
        &expect![
            "the VolumeAttachments of the cluster are not listed yet, so no pod with volumes is evicted: if this lasts, let this host list and watch them. Pods that are left at 1970-01-01T02:00:00Z are deleted at once"
        ],
    );
}
