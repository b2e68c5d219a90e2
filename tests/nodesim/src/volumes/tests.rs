use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::{Attacher, AttacherAction, AttachmentFact};
use crate::config::VolumeTiming;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn attachment(name: &str, volume: &str, node: &str) -> AttachmentFact {
    AttachmentFact {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        version: "1".to_owned(),
        attacher: "disks.example.com".to_owned(),
        node: node.to_owned(),
        volume: volume.to_owned(),
        is_attached: false,
        is_deleting: false,
        finalizers: Vec::new(),
    }
}

fn attached(fact: AttachmentFact) -> AttachmentFact {
    AttachmentFact { is_attached: true, finalizers: vec![fact.finalizer()], ..fact }
}

/// Performs what is due until the time; each write succeeds at once.
fn run_until(attacher: &mut Attacher, from: i64, end: i64) -> Vec<String> {
    let (mut now, mut log) = (from, Vec::new());
    loop {
        for action in attacher.take_due(at(now), 10) {
            let (what, left) = match &action {
                AttacherAction::Hold(fact) => {
                    ("hold", AttachmentFact { finalizers: vec![fact.finalizer()], ..fact.clone() })
                }
                AttacherAction::Attached(fact) => ("attached", attached(fact.clone())),
                AttacherAction::Release(fact) => {
                    ("release", AttachmentFact { finalizers: Vec::new(), ..fact.clone() })
                }
            };
            log.push(format!("{now} {what} {}", action.fact().name));
            attacher.finish(&action, Some(left), at(now));
        }
        match attacher.next_wake().map(Timestamp::as_millisecond).filter(|next| *next <= end) {
            Some(next) => now = next.max(now),
            None => return log,
        }
    }
}

fn timing() -> VolumeTiming {
    VolumeTiming { attach: Duration::from_millis(200), detach: Duration::from_millis(500) }
}

#[test]
fn a_volume_is_held_then_attached_and_released_some_time_after_its_end_was_asked_for() {
    let mut attacher = Attacher::new(timing());
    attacher.hear(attachment("a", "pv", "n1"), at(0));
    assert_eq!(run_until(&mut attacher, 0, 1000), ["0 hold a", "200 attached a"]);
    attacher.hear(AttachmentFact { is_deleting: true, ..attached(attachment("a", "pv", "n1")) }, at(1000));
    assert_eq!(run_until(&mut attacher, 1000, 9000), ["1500 release a"]);
    let stats = attacher.stats();
    assert_eq!((stats.attached, stats.detached, stats.failures), (1, 1, 0));
}

#[test]
fn a_volume_is_attached_to_one_node_at_a_time() {
    let mut attacher = Attacher::new(timing());
    attacher.hear(attached(attachment("a", "pv", "n1")), at(0));
    attacher.hear(attachment("b", "pv", "n2"), at(0));
    assert_eq!(run_until(&mut attacher, 0, 9000), [""; 0]);
    attacher.hear(AttachmentFact { is_deleting: true, ..attached(attachment("a", "pv", "n1")) }, at(9000));
    assert_eq!(run_until(&mut attacher, 9000, 20_000), ["9500 release a", "9500 hold b", "9500 attached b"]);
}

#[test]
fn where_detaching_is_stuck_it_waits_until_it_is_not() {
    let mut attacher = Attacher::new(timing());
    attacher.set_stuck("n1", true);
    attacher.hear(AttachmentFact { is_deleting: true, ..attached(attachment("a", "pv", "n1")) }, at(0));
    assert_eq!(run_until(&mut attacher, 0, 60_000), [""; 0]);
    attacher.set_stuck("n1", false);
    assert_eq!(run_until(&mut attacher, 60_000, 60_000), ["60000 release a"]);
}

#[test]
fn a_write_that_failed_is_repeated_with_what_is_seen_then() {
    let mut attacher = Attacher::new(timing());
    attacher.hear(attachment("a", "pv", "n1"), at(0));
    let action = attacher.take_due(at(0), 1).remove(0);
    attacher.finish(&action, None, at(0));
    assert_eq!(attacher.stats().failures, 1);
    attacher.hear(AttachmentFact { version: "2".to_owned(), ..attachment("a", "pv", "n1") }, at(10));
    let again = attacher.take_due(at(500), 1).remove(0);
    assert_eq!(again.fact().version, "2");
    attacher.keep_only(&BTreeSet::new());
    assert_eq!(attacher.next_wake(), None);
}

#[test]
fn the_writes_of_finalizers_hold_for_one_version_and_keep_those_of_others() {
    let mut fact = attachment("a", "pv", "n1");
    fact.finalizers = vec!["foreign".to_owned()];
    let patch = AttacherAction::Hold(fact.clone()).patch();
    assert_eq!(patch["metadata"]["resourceVersion"], "1");
    assert_eq!(
        patch["metadata"]["finalizers"],
        serde_json::json!(["foreign", "external-attacher/disks-example-com"])
    );
    fact.finalizers.push(fact.finalizer());
    let patch = AttacherAction::Release(fact).patch();
    assert_eq!(patch["metadata"]["finalizers"], serde_json::json!(["foreign"]));
}
