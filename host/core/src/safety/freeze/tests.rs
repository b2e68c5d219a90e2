use proptest::prelude::*;

use super::*;

const PACE: CheckInterval =
    CheckInterval { period: SignedDuration::from_secs(60), timeout: SignedDuration::from_secs(30) };
const WELL: ServerCheck = ServerCheck {
    control: ServerState::Up,
    target: Some(ServerState::Up),
    is_requested: false,
    is_mark_held: false,
    is_caught_up: false,
};
const CAUGHT_UP: ServerCheck = ServerCheck { is_caught_up: true, ..WELL };
const NO_CONTROL: ServerCheck = ServerCheck { control: ServerState::Down, ..WELL };
const NO_TARGET: ServerCheck = ServerCheck { target: Some(ServerState::Down), ..WELL };
const REQUESTED: ServerCheck = ServerCheck { is_requested: true, ..WELL };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// One that has found all well at second 0.
fn open() -> Freeze {
    let mut freeze = Freeze::starting(at(0));
    assert_eq!(freeze.observe(WELL, PACE, at(0)), FreezeChange::None);
    assert_eq!(freeze.gate(), Gate::Open);
    freeze
}

fn is_shut(freeze: &Freeze) -> bool {
    freeze.gate() != Gate::Open
}

#[test]
fn the_gate_is_shut_until_the_first_good_look_and_that_is_no_thaw() {
    let freeze = Freeze::starting(at(0));
    assert!(is_shut(&freeze));
    assert_eq!(open().thawed_at(), None);
}

#[test]
fn a_process_that_starts_in_an_outage_thaws_when_it_is_over_however_short_it_was() {
    let mut freeze = Freeze::starting(at(0));
    assert_eq!(freeze.observe(NO_TARGET, PACE, at(1)), FreezeChange::None);
    assert!(is_shut(&freeze));
    let thawed = FreezeChange::Thawed { since: at(0), reason: FreezeReason::ControlClusterUnreachable };
    assert_eq!(freeze.observe(WELL, PACE, at(7)), thawed);
    assert_eq!((freeze.gate(), freeze.thawed_at()), (Gate::Open, Some(at(7))));
}

#[test]
fn another_holder_of_the_mark_shuts_the_gate_at_once_from_the_first_look_on() {
    let mut freeze = Freeze::starting(at(0));
    let held = ServerCheck { is_mark_held: true, ..WELL };
    let reason = FreezeReason::ClusterMarkHeld;
    assert_eq!(freeze.observe(held, PACE, at(0)), FreezeChange::Froze { reason });
    assert_eq!(freeze.gate(), Gate::Frozen { since: at(0), reason });
    assert_eq!(freeze.observe(held, PACE, at(60)), FreezeChange::None);
    // Whatever else holds as well: this reason permits least.
    let all = ServerCheck { is_requested: true, is_mark_held: true, ..NO_TARGET };
    assert_eq!(freeze.observe(all, PACE, at(70)), FreezeChange::None);
    assert_eq!(freeze.observe(all, PACE, at(170)), FreezeChange::None);
    assert_eq!(freeze.gate(), Gate::Frozen { since: at(0), reason });
    freeze.observe(WELL, PACE, at(180));
    assert_eq!(freeze.observe(CAUGHT_UP, PACE, at(400)), FreezeChange::Thawed { since: at(0), reason });
}

#[test]
fn a_server_that_is_away_shuts_the_gate_after_the_timeout_and_not_before() {
    for (look, reason) in [
        (NO_CONTROL, FreezeReason::ControlClusterUnreachable),
        (NO_TARGET, FreezeReason::TargetClusterUnreachable),
    ] {
        let mut freeze = open();
        assert_eq!(freeze.observe(look, PACE, at(100)), FreezeChange::None);
        assert_eq!(freeze.observe(look, PACE, at(129)), FreezeChange::None);
        assert!(!is_shut(&freeze));
        assert_eq!(freeze.observe(look, PACE, at(130)), FreezeChange::Froze { reason });
        assert_eq!(freeze.gate(), Gate::Frozen { since: at(130), reason });
        assert_eq!(freeze.observe(look, PACE, at(136)), FreezeChange::None, "it is told once");
        assert_eq!(freeze.observe(WELL, PACE, at(190)), FreezeChange::CatchUp);
        assert_eq!(freeze.observe(CAUGHT_UP, PACE, at(200)), FreezeChange::Thawed { since: at(130), reason });
        assert_eq!((freeze.gate(), freeze.thawed_at()), (Gate::Open, Some(at(200))));
    }
}

#[test]
fn after_an_outage_the_gate_waits_for_the_caches_and_says_so() {
    let mut freeze = open();
    freeze.observe(NO_CONTROL, PACE, at(100));
    freeze.observe(NO_CONTROL, PACE, at(130));
    // An answer to an earlier listing counts for nothing.
    assert_eq!(freeze.observe(CAUGHT_UP, PACE, at(140)), FreezeChange::CatchUp);
    let catching_up = Gate::Frozen { since: at(130), reason: FreezeReason::CatchingUp };
    assert_eq!((freeze.gate(), freeze.is_catching_up()), (catching_up, true));
    assert_eq!(freeze.observe(WELL, PACE, at(141)), FreezeChange::None, "it is asked for once");
    assert_eq!(freeze.observe(NO_TARGET, PACE, at(142)), FreezeChange::None);
    assert!(
        !freeze.is_catching_up() && is_shut(&freeze),
        "a server has gone again: that listing is out of date"
    );
    assert_eq!(freeze.observe(CAUGHT_UP, PACE, at(150)), FreezeChange::CatchUp);
    assert!(matches!(freeze.observe(CAUGHT_UP, PACE, at(151)), FreezeChange::Thawed { .. }));
    assert!(!freeze.is_catching_up() && !is_shut(&freeze));
}

#[test]
fn an_outage_during_a_request_is_caught_up_with_when_the_request_ends() {
    let mut freeze = open();
    freeze.observe(REQUESTED, PACE, at(100));
    freeze.observe(ServerCheck { is_requested: true, ..NO_CONTROL }, PACE, at(110));
    freeze.observe(REQUESTED, PACE, at(120));
    assert_eq!(freeze.observe(WELL, PACE, at(200)), FreezeChange::CatchUp);
    // The operator asks again before it is done, and lets go much later.
    assert_eq!(freeze.observe(REQUESTED, PACE, at(201)), FreezeChange::None);
    assert_eq!(freeze.observe(CAUGHT_UP, PACE, at(900)), FreezeChange::CatchUp);
    assert!(matches!(freeze.observe(CAUGHT_UP, PACE, at(901)), FreezeChange::Thawed { .. }));
}

#[test]
fn a_server_that_comes_back_in_time_leaves_no_trace() {
    let mut freeze = open();
    for begun in [100, 200, 300] {
        for look in [NO_CONTROL, NO_CONTROL, NO_CONTROL, NO_CONTROL] {
            assert_eq!(freeze.observe(look, PACE, at(begun + 20)), FreezeChange::None);
        }
        assert_eq!(freeze.observe(NO_CONTROL, PACE, at(begun + 25)), FreezeChange::None);
        assert_eq!(freeze.observe(WELL, PACE, at(begun + 29)), FreezeChange::None);
    }
    assert_eq!((freeze.gate(), freeze.thawed_at()), (Gate::Open, None));
}

#[test]
fn servers_that_are_away_by_turns_for_a_moment_shut_nothing() {
    let mut freeze = open();
    for second in 0..200 {
        let look = if second % 2 == 0 { NO_CONTROL } else { NO_TARGET };
        assert_eq!(freeze.observe(look, PACE, at(100 + second)), FreezeChange::None);
    }
}

#[test]
fn a_shut_gate_opens_only_when_both_servers_answer() {
    let mut freeze = open();
    freeze.observe(NO_CONTROL, PACE, at(100));
    freeze.observe(NO_CONTROL, PACE, at(130));
    assert_eq!(freeze.observe(NO_TARGET, PACE, at(140)), FreezeChange::None);
    assert!(is_shut(&freeze), "the control cluster is back, the target cluster has just gone");
    let other = FreezeReason::TargetClusterUnreachable;
    assert_eq!(freeze.observe(NO_TARGET, PACE, at(170)), FreezeChange::Froze { reason: other });
    assert_eq!(freeze.gate(), Gate::Frozen { since: at(130), reason: other }, "it was shut all the time");
    assert_eq!(freeze.observe(WELL, PACE, at(171)), FreezeChange::CatchUp);
    assert!(matches!(freeze.observe(CAUGHT_UP, PACE, at(172)), FreezeChange::Thawed { .. }));
}

#[test]
fn a_request_shuts_the_gate_at_once_and_its_end_opens_it() {
    let mut freeze = open();
    let reason = FreezeReason::Requested;
    assert_eq!(freeze.observe(REQUESTED, PACE, at(10)), FreezeChange::Froze { reason });
    assert_eq!(freeze.observe(REQUESTED, PACE, at(9_999)), FreezeChange::None);
    assert_eq!(freeze.observe(WELL, PACE, at(10_000)), FreezeChange::Thawed { since: at(10), reason });
    assert_eq!(freeze.thawed_at(), Some(at(10_000)));
}

#[test]
fn a_request_that_is_there_from_the_start_is_reported_and_no_look_opens_the_gate() {
    let mut freeze = Freeze::starting(at(0));
    let change = freeze.observe(REQUESTED, PACE, at(0));
    assert_eq!(change, FreezeChange::Froze { reason: FreezeReason::Requested });
    assert!(is_shut(&freeze));
}

#[test]
fn without_a_target_cluster_only_the_control_cluster_counts() {
    let mut freeze = Freeze::starting(at(0));
    assert_eq!(freeze.observe(ServerCheck { target: None, ..WELL }, PACE, at(0)), FreezeChange::None);
    assert_eq!(freeze.gate(), Gate::Open);
}

#[test]
fn at_the_start_looks_follow_each_other_quickly_and_then_as_while_something_is_wrong() {
    let mut freeze = Freeze::starting(at(0));
    let pauses: Vec<_> = (0..10)
        .map(|_| {
            freeze.observe(NO_CONTROL, PACE, at(0));
            freeze.next_check(PACE).as_millis()
        })
        .collect();
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1_600, 3_200, 6_000, 6_000, 6_000]);
}

#[test]
fn looks_are_frequent_while_something_is_wrong() {
    let mut freeze = open();
    assert_eq!(freeze.next_check(PACE), PACE.period);
    freeze.observe(NO_CONTROL, PACE, at(10));
    assert_eq!(freeze.next_check(PACE), SignedDuration::from_secs(6));
    freeze.observe(WELL, PACE, at(20));
    assert_eq!(freeze.next_check(PACE), PACE.period);
    freeze.observe(REQUESTED, PACE, at(30));
    assert_eq!(freeze.next_check(PACE), SignedDuration::from_secs(6));
    let zero = CheckInterval { period: SignedDuration::ZERO, timeout: SignedDuration::ZERO };
    assert!(freeze.next_check(zero) > SignedDuration::ZERO, "settings of zero do not make a hot loop");
}

#[test]
fn a_thaw_is_in_whole_seconds_so_that_what_is_written_after_it_is_never_from_before() {
    let mut freeze = open();
    let at = |millisecond| Timestamp::from_millisecond(millisecond).unwrap();
    freeze.observe(REQUESTED, PACE, at(1_000));
    freeze.observe(WELL, PACE, at(5_700));
    assert_eq!(freeze.thawed_at(), Some(at(5_000)));
}

#[test]
fn an_absence_counts_as_a_thaw() {
    let mut freeze = open();
    freeze.was_absent(at(40));
    assert_eq!((freeze.gate(), freeze.thawed_at()), (Gate::Open, Some(at(40))));
}

fn looks() -> impl Strategy<Value = Vec<(ServerCheck, i64)>> {
    let answer = prop_oneof![3 => Just(ServerState::Up), 2 => Just(ServerState::Down)];
    let look = (answer.clone(), proptest::option::of(answer), proptest::bool::weighted(0.1))
        .prop_map(|(control, target, is_requested)| ServerCheck { control, target, is_requested, ..WELL });
    // Clocks may be set back.
    proptest::collection::vec((look, -20_i64..60), 1..60)
}

proptest! {
    /// Whatever is seen in whatever order: a good look with caches that have caught up finds the gate open; a gate is
    /// shut only for a reason that a look of its time has shown; it opens only by a good look; and each opening but the
    /// first is a thaw.
    #[test]
    fn the_gate_follows_what_is_seen(looks in looks()) {
        let mut freeze = Freeze::starting(at(10_000));
        let mut now = 10_000;
        let mut is_listing = false;
        for (look, passed) in looks {
            now += passed;
            let was_shut = is_shut(&freeze);
            // Listings are done by the look after the one that has asked for them, or by the next.
            let look = ServerCheck { is_caught_up: is_listing && passed % 2 == 0, ..look };
            is_listing = freeze.is_catching_up();
            let change = freeze.observe(look, PACE, at(now));
            let is_bad = look.is_requested
                || look.control == ServerState::Down
                || look.target == Some(ServerState::Down);
            if was_shut {
                let waits = freeze.is_catching_up();
                prop_assert_eq!(is_shut(&freeze), is_bad || waits, "it opens by a good look, and by no other");
                prop_assert!(!waits || !look.is_caught_up || change == FreezeChange::CatchUp);
            } else if is_shut(&freeze) {
                prop_assert!(is_bad);
                let froze = matches!(change, FreezeChange::Froze { .. });
                prop_assert!(froze);
            }
            if matches!(change, FreezeChange::Thawed { .. }) {
                prop_assert_eq!(freeze.thawed_at(), Some(at(now)));
            }
            prop_assert!(freeze.next_check(PACE) > SignedDuration::ZERO);
        }
        freeze.observe(WELL, PACE, at(now));
        freeze.observe(CAUGHT_UP, PACE, at(now));
        prop_assert_eq!(freeze.gate(), Gate::Open, "nothing leaves it shut for ever");
    }
}
