use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Owner "a" has written `wrote` of kind "vm"; which of `seen` frees it?
fn check(wrote: &str, seen: &[(&str, bool)]) {
    for (version, frees) in seen {
        let mut barrier = Barrier::new();
        barrier.wrote("a", "machine", wrote, at(0));
        let freed = barrier.seen(&"machine", version);
        assert_eq!(
            (freed.len(), barrier.is_empty()),
            (usize::from(*frees), *frees),
            "{wrote} after {version}"
        );
    }
}

#[test]
fn an_owner_waits_until_its_write_or_a_later_one_was_seen() {
    check("100", &[("99", false), ("100", true), ("101", true), ("1000", true), ("", false)]);
}

#[test]
fn versions_compare_as_numbers_of_any_length() {
    check("9", &[("10", true), ("8", false), ("0009", true)]);
    check("10", &[("009", false), ("0010", true)]);
    check("18446744073709551616", &[("18446744073709551615", false), ("18446744073709551617", true)]);
    check("0", &[("0", true), ("1", true)]);
}

#[test]
fn of_versions_that_are_no_numbers_only_equality_counts() {
    check("abc", &[("abd", false), ("7", false), ("abc", true)]);
    check("-5", &[("5", false), ("-5", true)]);
    check("+5", &[("6", false)]);
    check("7", &[("abc", false)]);
}

#[test]
fn an_event_that_overtakes_the_answer_blocks_nobody() {
    let mut barrier = Barrier::new();
    assert!(barrier.seen(&"machine", "100").is_empty());
    barrier.wrote("a", "machine", "100", at(0));
    assert_eq!(barrier.blocked(&"a"), None);
}

#[test]
fn an_owner_that_leaves_waits_for_its_end_whatever_is_seen_and_not_for_ever() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(0));
    barrier.leaves("a", at(1));
    barrier.leaves("b", at(2));
    assert!(barrier.seen(&"machine", "1000").is_empty());
    assert_eq!(barrier.blocked(&"a"), Some(Blocked { since: at(0), until: at(31) }));
    barrier.forget(&"a");
    assert_eq!((barrier.blocked(&"a"), barrier.next_expiry()), (None, Some(at(32))));
    assert_eq!(barrier.expire(at(32)), ["b"]);
    assert!(barrier.is_empty());
}

#[test]
fn an_owner_waits_for_all_its_writes_and_only_for_its_own() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(1));
    barrier.wrote("a", "secret", "6", at(2));
    barrier.wrote("b", "machine", "7", at(2));
    assert!(barrier.seen(&"machine", "6").is_empty());
    assert_eq!(barrier.blocked(&"a"), Some(Blocked { since: at(1), until: at(32) }));
    assert_eq!(barrier.seen(&"secret", "9"), ["a"]);
    assert_eq!(barrier.seen(&"machine", "7"), ["b"]);
}

#[test]
fn a_write_that_is_never_seen_frees_its_owner_after_the_time_out() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(0));
    assert_eq!((barrier.next_expiry(), barrier.expire(at(29))), (Some(at(30)), vec![]));
    assert_eq!(
        (barrier.expire(at(30)), barrier.blocked(&"a"), barrier.next_expiry()),
        (vec!["a"], None, None)
    );
    assert!(barrier.seen(&"machine", "5").is_empty());
}

#[test]
fn a_clock_that_goes_back_prolongs_a_wait_by_the_time_out_at_most() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(100_000));
    assert!(barrier.expire(at(0)).is_empty());
    assert_eq!((barrier.next_expiry(), barrier.expire(at(30))), (Some(at(30)), vec!["a"]));
}

#[test]
fn after_a_restored_database_writes_are_awaited_again_and_nobody_for_ever() {
    let mut barrier = Barrier::new();
    barrier.seen(&"machine", "1000000");
    barrier.wrote("before", "machine", "1000001", at(0));
    assert!(barrier.seen(&"machine", "500").is_empty());
    barrier.wrote("after", "machine", "501", at(10));
    assert_eq!(barrier.blocked(&"after"), Some(Blocked { since: at(10), until: at(40) }));
    assert_eq!(barrier.seen(&"machine", "502"), ["after"]);
    assert_eq!(barrier.expire(at(30)), ["before"]);
}

#[test]
fn a_forgotten_owner_is_not_woken() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(0));
    barrier.wrote("b", "machine", "5", at(0));
    barrier.forget(&"a");
    assert_eq!(barrier.seen(&"machine", "5"), ["b"]);
}

/// The same promises, from a list of all writes.
#[derive(Default)]
struct Model {
    position: BTreeMap<u8, u64>,
    writes: Vec<(u8, u8, u64)>,
    until: BTreeMap<u8, i64>,
}

impl Model {
    fn free(&mut self, before: &BTreeSet<u8>) -> Vec<u8> {
        let after = self.owners();
        self.until.retain(|owner, _| after.contains(owner));
        before.difference(&after).copied().collect()
    }

    fn owners(&self) -> BTreeSet<u8> {
        self.writes.iter().map(|(owner, ..)| *owner).collect()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Wrote(u8, u8, u64),
    Seen(u8, u64),
    Pass(i64),
    Forget(u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..4_u8, 0..2_u8, 90..120_u64).prop_map(|(owner, kind, version)| Op::Wrote(owner, kind, version)),
        4 => (0..2_u8, 90..120_u64).prop_map(|(kind, version)| Op::Seen(kind, version)),
        1 => (0..2_u8, 1..5_u64).prop_map(|(kind, version)| Op::Seen(kind, version)),
        2 => (0..20_i64).prop_map(Op::Pass),
        1 => (0..4_u8).prop_map(Op::Forget),
    ]
}

proptest! {
    #[test]
    fn it_agrees_with_a_list_of_all_writes(ops in proptest::collection::vec(op(), 0..100)) {
        let (mut barrier, mut model, mut now) = (Barrier::new(), Model::default(), 0);
        for op in ops {
            let before = model.owners();
            match op {
                Op::Wrote(owner, kind, version) => {
                    barrier.wrote(owner, kind, &version.to_string(), at(now));
                    if model.position.get(&kind).is_none_or(|position| *position < version) {
                        model.writes.push((owner, kind, version));
                        model.until.insert(owner, now + 30);
                    }
                }
                Op::Seen(kind, version) => {
                    let freed = barrier.seen(&kind, &version.to_string());
                    model.position.insert(kind, version);
                    model.writes.retain(|(_, k, v)| *k != kind || *v > version);
                    prop_assert_eq!(freed, model.free(&before));
                }
                Op::Pass(seconds) => {
                    now += seconds;
                    let freed = barrier.expire(at(now));
                    let until = &model.until;
                    model.writes.retain(|(owner, ..)| until.get(owner).is_some_and(|until| *until > now));
                    prop_assert_eq!(freed, model.free(&before));
                }
                Op::Forget(owner) => {
                    barrier.forget(&owner);
                    model.writes.retain(|(o, ..)| *o != owner);
                    model.free(&before);
                }
            }
            for owner in 0..4 {
                let until = barrier.blocked(&owner).map(|blocked| blocked.until);
                prop_assert_eq!(until, model.until.get(&owner).copied().map(at));
            }
            prop_assert_eq!(barrier.next_expiry(), model.until.values().min().copied().map(at));
            let awaited: usize = barrier.streams.values().map(|stream| stream.awaited.len()).sum();
            let versions: BTreeSet<_> = model.writes.iter().map(|(_, kind, version)| (kind, version)).collect();
            prop_assert_eq!(awaited, versions.len(), "nothing is left behind");
            prop_assert_eq!(barrier.deadlines.len(), barrier.len(), "an owner has one deadline");
        }
    }
}

#[test]
fn a_write_without_an_answer_blocks_until_it_cannot_arrive_and_leaves_its_owner_in_doubt() {
    let mut barrier: Barrier<&str, &str> = Barrier::new();
    barrier.lost("a", at(0));
    barrier.wrote("a", "machine", "5", at(1));
    // Others that are seen do not free it.
    assert!(barrier.seen(&"machine", "9").is_empty());
    assert_eq!(barrier.blocked(&"a"), Some(Blocked { since: at(0), until: at(15) }));
    assert_eq!((barrier.expire(at(14)), barrier.is_in_doubt(&"a")), (vec![], false));
    assert!(barrier.may_land());
    assert_eq!((barrier.expire(at(15)), barrier.is_in_doubt(&"a")), (vec!["a"], true));
    assert!(!barrier.may_land());
    assert_eq!((barrier.blocked(&"a"), barrier.is_in_doubt(&"b")), (None, false));
}

#[test]
fn doubt_ends_with_a_look_and_the_next_pass_waits_until_the_cache_is_there() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(0));
    barrier.expire(at(30));
    // That the write is seen after all does not tell what else was missed.
    assert!(barrier.seen(&"machine", "5").is_empty() && barrier.is_in_doubt(&"a"));
    barrier.looked("a", "machine", "8", at(31));
    assert!(!barrier.is_in_doubt(&"a") && barrier.blocked(&"a").is_some());
    assert_eq!(barrier.seen(&"machine", "8"), ["a"]);
    barrier.lost("a", at(40));
    barrier.expire(at(55));
    barrier.forget(&"a");
    assert!(!barrier.is_in_doubt(&"a"));
}

#[test]
fn who_has_seen_all_of_its_writes_is_not_in_doubt() {
    let mut barrier = Barrier::new();
    barrier.wrote("a", "machine", "5", at(0));
    barrier.seen(&"machine", "5");
    barrier.expire(at(99));
    assert!(!barrier.is_in_doubt(&"a"));
}
