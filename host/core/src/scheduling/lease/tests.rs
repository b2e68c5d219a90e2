use proptest::prelude::*;

use super::*;

const TIMES: LeaseTimes = LeaseTimes {
    duration: SignedDuration::from_secs(15),
    renew_deadline: SignedDuration::from_secs(10),
    retry: SignedDuration::from_secs(2),
};

fn secs(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

/// Both clocks stand at `second`.
fn at(second: i64) -> Moment {
    clocks(second, second)
}

fn clocks(monotonic: i64, wall: i64) -> Moment {
    Moment { monotonic: secs(monotonic), wall: Timestamp::from_second(wall).unwrap() }
}

fn lease(holder: &str, renewed_at: i64) -> LeaseFact {
    LeaseFact {
        holder: holder.into(),
        transitions: 3,
        duration: secs(15),
        renewed_at: Some(at(renewed_at).wall),
    }
}

/// A candidate that saw `lease` at second 100.
fn candidate(lease: Option<LeaseFact>) -> Election {
    let mut election = Election::new("me", TIMES);
    election.observed(lease, at(100));
    election
}

/// A leader whose last write was sent at second 100.
fn leader() -> Election {
    let mut election = candidate(None);
    let claim = election.claim(3, at(100));
    election.wrote(claim, at(100));
    election
}

const fn wait(seconds: i64) -> LeaseAction {
    LeaseAction::Wait { delay: SignedDuration::from_secs(seconds) }
}

#[test]
fn a_missing_or_released_lease_is_taken_at_once() {
    assert_eq!(candidate(None).decide(at(100)), LeaseAction::Acquire { transitions: 0 });
    assert_eq!(candidate(Some(lease("", 99))).decide(at(100)), LeaseAction::Acquire { transitions: 4 });
}

#[test]
fn a_lease_of_our_own_from_a_lost_answer_is_taken_without_a_transition() {
    assert_eq!(candidate(Some(lease("me", 99))).decide(at(100)), LeaseAction::Acquire { transitions: 3 });
}

#[test]
fn somebody_elses_lease_is_taken_after_it_stood_still_for_its_duration() {
    let election = candidate(Some(lease("other", 99)));
    assert_eq!(election.decide(at(100)), wait(2));
    assert_eq!(election.decide(at(114)), wait(1));
    assert_eq!(election.decide(at(115)), LeaseAction::Acquire { transitions: 4 });
}

#[test]
fn a_renewal_starts_the_wait_again_and_a_second_look_at_the_same_record_does_not() {
    let mut election = candidate(Some(lease("other", 99)));
    election.observed(Some(lease("other", 99)), at(110));
    assert_eq!(election.decide(at(115)), LeaseAction::Acquire { transitions: 4 });
    election.observed(Some(lease("other", 112)), at(114));
    assert_eq!(election.decide(at(128)), wait(1));
}

#[test]
fn the_other_ones_clock_does_not_matter() {
    for its_time in [-1_000_000, 1_000_000] {
        let election = candidate(Some(lease("other", its_time)));
        assert_eq!(election.decide(at(100)), wait(2));
        assert_eq!(election.decide(at(115)), LeaseAction::Acquire { transitions: 4 });
    }
}

#[test]
fn a_wall_clock_that_jumps_does_not_make_a_candidate_take_a_lease_early() {
    let election = candidate(Some(lease("other", 99)));
    assert_eq!(election.decide(clocks(101, 1_000_000)), wait(2));
    assert_eq!(election.decide(clocks(115, -1_000_000)), LeaseAction::Acquire { transitions: 4 });
}

#[test]
fn a_leader_renews_and_steps_down_when_it_could_not() {
    let election = leader();
    assert_eq!(election.decide(at(101)), wait(1));
    assert_eq!(election.decide(at(102)), LeaseAction::Renew);
    assert!(election.holds(at(109)));
    assert_eq!(election.decide(at(110)), LeaseAction::Lost);
    assert!(!election.holds(at(110)));
}

#[test]
fn a_renewal_is_later_than_the_one_before_also_on_a_clock_that_was_set_back() {
    let mut election = leader();
    let mut before = Some(at(100).wall);
    for wall in [50, 100, 99, 101, 7] {
        let claim = election.claim(3, clocks(102, wall));
        assert!(claim.renewed_at > before, "{:?} after {before:?}", claim.renewed_at);
        before = claim.renewed_at;
        election.wrote(claim, clocks(102, wall));
    }
}

#[test]
fn a_leader_that_slept_knows_by_the_wall_that_its_time_is_over() {
    assert_eq!(leader().decide(clocks(100, 200)), LeaseAction::Lost);
}

#[test]
fn a_leader_steps_down_when_it_reads_another_name() {
    let mut election = leader();
    election.observed(Some(lease("other", 101)), at(101));
    assert_eq!(election.decide(at(101)), LeaseAction::Lost);
    assert_eq!(election.released(at(101)), None);
}

#[test]
fn a_leader_whose_lease_was_deleted_makes_it_again() {
    let mut election = leader();
    election.observed(None, at(101));
    assert_eq!(election.decide(at(101)), LeaseAction::Acquire { transitions: 0 });
    assert!(election.holds(at(101)));
}

#[test]
fn a_released_lease_names_nobody_and_lasts_a_second() {
    let mut election = leader();
    let released = election.released(at(101)).unwrap();
    assert_eq!((released.holder.as_str(), released.transitions, released.duration), ("", 3, secs(1)));
    election.gave_back();
    assert!(!election.holds(at(101)));
}

#[test]
fn the_default_times_are_sound_and_swapped_ones_are_not() {
    assert_eq!(LeaseTimes::default(), TIMES);
    assert!(TIMES.are_sound());
    assert!(!LeaseTimes { duration: secs(10), renew_deadline: secs(15), ..TIMES }.are_sound());
}

fn both(first: Election, second: Election) -> Leadership {
    Leadership { first, second: Some(second) }
}

fn check_both(both: &Leadership, first: LeaseAction, second: LeaseAction) {
    assert_eq!(both.decide(at(101)), LeadershipActions { first, second: Some(second) });
}

#[test]
fn a_seat_of_one_lease_is_led_from_while_that_one_is_held() {
    let seat = |first| Leadership { first, second: None };
    let check = |seat: &Leadership, first, leads| {
        assert_eq!(seat.decide(at(101)), LeadershipActions { first, second: None });
        assert_eq!(seat.leads(at(101)), leads);
    };
    check(&seat(candidate(None)), LeaseAction::Acquire { transitions: 0 }, false);
    check(&seat(candidate(Some(lease("other", 99)))), wait(2), false);
    check(&seat(leader()), wait(1), true);
    let mut robbed = leader();
    robbed.observed(Some(lease("other", 101)), at(101));
    check(&seat(robbed), LeaseAction::Lost, false);
}

#[test]
fn of_two_leases_none_is_taken_while_one_is_held_by_another() {
    let taken = || candidate(Some(lease("other", 99)));
    check_both(&both(candidate(None), taken()), wait(2), wait(2));
    check_both(&both(taken(), candidate(None)), wait(2), wait(2));
    check_both(&both(taken(), taken()), wait(2), wait(2));
}

#[test]
fn of_two_free_leases_the_first_is_taken_first() {
    let take = LeaseAction::Acquire { transitions: 0 };
    check_both(&both(candidate(None), candidate(None)), take, wait(2));
    check_both(&both(leader(), candidate(None)), wait(1), take);
    assert!(!both(leader(), candidate(None)).leads(at(101)));
    assert!(both(leader(), leader()).leads(at(101)));
}

#[test]
fn the_first_lease_is_given_back_when_the_second_is_lost_to_another() {
    check_both(&both(leader(), candidate(Some(lease("other", 99)))), LeaseAction::Release, wait(2));
}

#[test]
fn leadership_ends_when_either_lease_is_lost() {
    let mut robbed = leader();
    robbed.observed(Some(lease("other", 101)), at(101));
    for pair in [both(robbed.clone(), leader()), both(leader(), robbed)] {
        let actions = pair.decide(at(101));
        assert!([Some(actions.first), actions.second].contains(&Some(LeaseAction::Lost)));
        assert!(!pair.leads(at(101)));
    }
}

/// The API server's side: a record and its version.
#[derive(Clone, Default)]
struct Server {
    lease: Option<LeaseFact>,
    version: u64,
}

impl Server {
    fn write(&mut self, lease: LeaseFact, on: u64) -> bool {
        let is_current = self.version == on;
        if is_current {
            self.lease = Some(lease);
            self.version += 1;
        }
        is_current
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum WriteOutcome {
    Arrives,
    RequestLost,
    AnswerLost,
}

/// A process with clocks of its own.
struct Process {
    election: Election,
    version: u64,
    slept: i64,
    wall_offset: i64,
}

impl Process {
    fn new(name: usize) -> Self {
        Self {
            election: Election::new(format!("process-{name}"), TIMES),
            version: 0,
            slept: 0,
            wall_offset: 0,
        }
    }

    fn clock(&self, now: i64) -> Moment {
        clocks(now - self.slept, now + self.wall_offset)
    }

    fn read(&mut self, server: &Server, now: i64) {
        self.election.observed(server.lease.clone(), self.clock(now));
        self.version = server.version;
    }

    /// One turn of a process's loop, whose write takes `latency`.
    fn turn(
        &mut self,
        server: &mut Server,
        action: LeaseAction,
        delivery: WriteOutcome,
        now: &mut i64,
        latency: i64,
    ) {
        let sent_at = self.clock(*now);
        let lease = match action {
            LeaseAction::Acquire { transitions } => self.election.claim(transitions, sent_at),
            LeaseAction::Renew => self.election.claim(self.election.transitions(), sent_at),
            LeaseAction::Release => {
                let Some(released) = self.election.released(sent_at) else { return };
                self.election.gave_back();
                released
            }
            LeaseAction::Wait { .. } => return self.read(server, *now),
            LeaseAction::Lost => {
                self.election.gave_back();
                return self.read(server, *now);
            }
        };
        if delivery == WriteOutcome::RequestLost {
            return;
        }
        *now += latency;
        let is_accepted = server.write(lease.clone(), self.version);
        if delivery == WriteOutcome::AnswerLost {
            return;
        }
        if is_accepted {
            self.version = server.version;
            if !lease.holder.is_empty() {
                self.election.wrote(lease, sent_at);
                return;
            }
        }
        self.read(server, *now);
    }
}

#[derive(Clone, Debug)]
enum Event {
    Turn { process: usize, delivery: WriteOutcome, latency: i64 },
    Pass { seconds: i64 },
    WallJumps { process: usize, by: i64 },
    Sleeps { process: usize, seconds: i64 },
}

fn event() -> impl Strategy<Value = Event> {
    let delivery = prop_oneof![6 => Just(WriteOutcome::Arrives), 1 => Just(WriteOutcome::RequestLost), 1 => Just(WriteOutcome::AnswerLost)];
    prop_oneof![
        12 => (0..3_usize, delivery, 0..12_i64)
            .prop_map(|(process, delivery, latency)| Event::Turn { process, delivery, latency: latency.saturating_sub(8) }),
        6 => (0..6_i64).prop_map(|seconds| Event::Pass { seconds }),
        1 => (0..3_usize, -100..100_i64).prop_map(|(process, by)| Event::WallJumps { process, by }),
        1 => (0..3_usize, 1..60_i64).prop_map(|(process, seconds)| Event::Sleeps { process, seconds }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tier::cases(512)))]

    #[test]
    fn there_is_never_a_second_leader_whatever_is_lost_slow_or_asleep(
        events in proptest::collection::vec(event(), 0..200)
    ) {
        let (mut server, mut now) = (Server::default(), 1_000);
        let mut processes = [0, 1, 2].map(Process::new);
        for process in &mut processes {
            process.read(&server, now);
        }
        for event in events {
            match event {
                Event::Turn { process, delivery, latency } => {
                    let process = &mut processes[process];
                    let action = process.election.decide(process.clock(now));
                    process.turn(&mut server, action, delivery, &mut now, latency.max(0));
                }
                Event::Pass { seconds } => now += seconds,
                // A process whose wall clock is set back during a sleep is beyond the promise: process 2 never sleeps,
                // the others' clocks are never set back.
                Event::WallJumps { process, by } => {
                    processes[process].wall_offset += if process == 2 { by } else { by.abs() };
                }
                Event::Sleeps { process: 2, seconds } => now += seconds,
                Event::Sleeps { process, seconds } => {
                    processes[process].slept += seconds;
                    now += seconds;
                }
            }
            let leaders = processes.iter().filter(|process| process.election.holds(process.clock(now))).count();
            prop_assert!(leaders <= 1, "{leaders} leaders at {now}");
        }
    }

    #[test]
    fn of_candidates_for_both_leases_one_comes_to_lead_and_candidates_for_one_of_them_do_not_starve(
        turns in proptest::collection::vec(0..4_usize, 0..60)
    ) {
        let (mut servers, mut now) = ([Server::default(), Server::default()], 1_000);
        // The last two want one Lease each: as machine-controller-manager's two binaries do.
        let wants = [[true, true], [true, true], [true, false], [false, true]];
        let mut pairs = [0, 1, 2, 3].map(|name| [Process::new(name), Process::new(name)]);
        let seat = |pair: usize, [first, second]: &[Process; 2]| match wants[pair] {
            [true, true] => Leadership { first: first.election.clone(), second: Some(second.election.clone()) },
            [true, false] => Leadership { first: first.election.clone(), second: None },
            [false, _] => Leadership { first: second.election.clone(), second: None },
        };
        // Any order of turns first, then fair ones until all claims of that time have run out twice.
        let fair = (0..80).map(|turn| turn % 4);
        for pair in turns.into_iter().chain(fair) {
            now += 1;
            let actions = seat(pair, &pairs[pair]).decide(pairs[pair][0].clock(now));
            let [first, second] = &mut pairs[pair];
            match wants[pair] {
                [true, true] => {
                    first.turn(&mut servers[0], actions.first, WriteOutcome::Arrives, &mut now, 0);
                    let action = actions.second.expect("there are two");
                    second.turn(&mut servers[1], action, WriteOutcome::Arrives, &mut now, 0);
                }
                [true, false] => first.turn(&mut servers[0], actions.first, WriteOutcome::Arrives, &mut now, 0),
                [false, _] => second.turn(&mut servers[1], actions.first, WriteOutcome::Arrives, &mut now, 0),
            }
        }
        let leaders: Vec<usize> = (0..4)
            .filter(|pair| seat(*pair, &pairs[*pair]).leads(pairs[*pair][0].clock(now)))
            .collect();
        // Either one process has both, or each Lease has a process that needs no other.
        prop_assert!(matches!(leaders[..], [0] | [1] | [2, 3]), "{leaders:?}");
    }
}
