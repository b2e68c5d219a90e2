use proptest::prelude::*;

use super::super::pace::LONGEST_PAUSE;
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const FAR: Duration = Duration::from_secs(100_000);

struct Fixture {
    bucket: Bucket,
    start: Instant,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        let now = Instant::now();
        Self { bucket: Bucket::new(now), start: now, now }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn enter(&mut self) -> Entry {
        self.bucket.enter(Urgency::Normal, self.now, self.now + FAR)
    }

    fn slow_down(&mut self, retry_after: Option<Duration>) {
        self.bucket.answered(self.now, self.now, RateSignal::TooFast { retry_after });
    }

    /// Lets a request wait until it may go; returns the wait.
    fn goes_after(&mut self) -> Duration {
        let came = self.now;
        let mut entry = self.enter();
        while let Entry::Wait { ticket, until } = entry {
            assert!(until > self.now, "no busy waiting");
            self.now = until;
            entry = match self.bucket.poll(ticket, self.now, self.now + FAR) {
                Turn::Go => Entry::Go,
                Turn::Wait { until } => Entry::Wait { ticket, until },
                Turn::Late { retry_after } => Entry::Late { retry_after },
            };
        }
        assert_eq!(entry, Entry::Go);
        self.now - came
    }
}

#[test]
fn an_account_is_free_until_the_cloud_complains() {
    let mut world = Fixture::new();
    for _ in 0..10_000 {
        assert_eq!(world.enter(), Entry::Go);
    }
}

#[test]
fn after_the_pause_that_the_cloud_asks_for_one_request_goes() {
    let mut world = Fixture::new();
    world.enter();
    world.slow_down(Some(7 * SECOND));
    let waited = world.goes_after();
    assert!((7.0..7.01).contains(&waited.as_secs_f64()), "{waited:?}");
    let next = world.goes_after();
    assert!((0.1..0.3).contains(&next.as_secs_f64()), "five a second: {next:?}");
}

#[test]
fn a_pause_without_end_ends_after_an_hour() {
    let mut world = Fixture::new();
    world.slow_down(Some(Duration::MAX));
    assert!(world.goes_after() <= LONGEST_PAUSE + SECOND);
}

#[test]
fn requests_go_in_the_order_of_arrival() {
    let mut world = Fixture::new();
    world.slow_down(Some(SECOND));
    let mut tickets = Vec::new();
    for _ in 0..5 {
        let Entry::Wait { ticket, .. } = world.enter() else { panic!("waits") };
        tickets.push(ticket);
    }
    world.pass(SECOND + SECOND / 100);
    let far = world.now + FAR;
    for ticket in tickets.iter().skip(1) {
        assert!(matches!(world.bucket.poll(*ticket, world.now, far), Turn::Wait { .. }));
    }
    assert_eq!(world.bucket.poll(tickets[0], world.now, far), Turn::Go);
    // A request that gives up makes room.
    world.bucket.leave(tickets[1]);
    world.pass(3 * SECOND);
    assert!(matches!(world.bucket.poll(tickets[3], world.now, far), Turn::Wait { .. }));
    assert_eq!(world.bucket.poll(tickets[2], world.now, far), Turn::Go);
}

#[test]
fn a_turn_behind_the_deadline_is_no_turn() {
    let mut world = Fixture::new();
    world.slow_down(Some(30 * SECOND));
    let entry = world.bucket.enter(Urgency::Normal, world.now, world.now + 20 * SECOND);
    let Entry::Late { retry_after } = entry else { panic!("{entry:?}") };
    assert!((30.0..30.1).contains(&retry_after.as_secs_f64()), "{retry_after:?}");
    assert_eq!(world.bucket.waiting(), 0, "it took no place");
    let Entry::Wait { ticket, .. } = world.bucket.enter(Urgency::Normal, world.now, world.now + 40 * SECOND)
    else {
        panic!("waits")
    };
    world.slow_down(Some(60 * SECOND));
    let turn = world.bucket.poll(ticket, world.now, world.now + 40 * SECOND);
    assert!(matches!(turn, Turn::Late { .. }), "{turn:?}");
    assert_eq!(world.bucket.waiting(), 0);
}

#[test]
fn deletions_and_queries_overtake_creates_and_creates_do_not_starve() {
    let mut world = Fixture::new();
    world.slow_down(Some(SECOND));
    let far = world.now + FAR;
    let mut waiting: Vec<Ticket> = Vec::new();
    for urgency in [Urgency::Normal; 3].into_iter().chain([Urgency::Urgent; 5]) {
        let Entry::Wait { ticket, .. } = world.bucket.enter(urgency, world.now, far) else { panic!("waits") };
        waiting.push(ticket);
    }
    world.pass(SECOND);
    let mut order = Vec::new();
    while !waiting.is_empty() {
        world.pass(SECOND / 4);
        let now = world.now;
        waiting.retain(|ticket| match world.bucket.poll(*ticket, now, far) {
            Turn::Go => {
                order.push(ticket.0);
                false
            }
            _ => true,
        });
    }
    assert_eq!(order, [3, 4, 5, 0, 6, 7, 1, 2]);
}

#[test]
fn the_queue_has_an_end() {
    let mut world = Fixture::new();
    world.slow_down(Some(SECOND));
    for _ in 0..MOST_WAITING {
        assert!(matches!(world.enter(), Entry::Wait { .. }));
    }
    assert!(matches!(world.enter(), Entry::Crowded { .. }));
    assert_eq!(world.bucket.waiting(), MOST_WAITING);
}

#[derive(Clone, Debug)]
enum Event {
    Enter { deadline_ms: u64 },
    Poll { nth: usize },
    Leave { nth: usize },
    SlowDown { sent_ago_ms: u64, retry_after_ms: Option<u64> },
    Pass { ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..100_000_u64).prop_map(|deadline_ms| Event::Enter { deadline_ms }),
        3 => (0..50_usize).prop_map(|nth| Event::Poll { nth }),
        1 => (0..50_usize).prop_map(|nth| Event::Leave { nth }),
        1 => (0..5_000_u64, prop::option::of(0..10_000_000_u64))
            .prop_map(|(sent_ago_ms, retry_after_ms)| Event::SlowDown { sent_ago_ms, retry_after_ms }),
        3 => (0..20_000_u64).prop_map(|ms| Event::Pass { ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn turns_are_in_order_and_paced_and_always_come(events in prop::collection::vec(event(), 1..120)) {
        let mut world = Fixture::new();
        world.pass(10 * SECOND);
        // Ticket, deadline; in the order in which they came.
        let mut waiting: Vec<(Ticket, Instant)> = Vec::new();
        let mut closed_until = world.start;
        for event in events {
            let now = world.now;
            match event {
                Event::Pass { ms } => world.pass(Duration::from_millis(ms)),
                Event::SlowDown { sent_ago_ms, retry_after_ms } => {
                    let pause = retry_after_ms.map(Duration::from_millis);
                    let answer = RateSignal::TooFast { retry_after: pause };
                    world.bucket.answered(now - Duration::from_millis(sent_ago_ms), now, answer);
                    let until = now + pause.unwrap_or_default().min(LONGEST_PAUSE);
                    closed_until = closed_until.max(until);
                }
                Event::Enter { deadline_ms } => {
                    let deadline = now + Duration::from_millis(deadline_ms);
                    match world.bucket.enter(Urgency::Normal, now, deadline) {
                        Entry::Go => prop_assert!(now >= closed_until, "went while closed"),
                        Entry::Wait { ticket, until } => {
                            prop_assert!(until > now && until <= deadline);
                            waiting.push((ticket, deadline));
                        }
                        Entry::Late { retry_after } => prop_assert!(now + retry_after >= deadline),
                        Entry::Crowded { .. } => prop_assert!(false, "not so many"),
                    }
                }
                Event::Poll { nth } if nth < waiting.len() => {
                    let (ticket, deadline) = waiting[nth];
                    let was_slow = world.bucket.is_slow(now);
                    match world.bucket.poll(ticket, now, deadline) {
                        Turn::Go => {
                            prop_assert!(now >= closed_until, "went while closed");
                            prop_assert!(nth == 0 || !was_slow, "overtook");
                            waiting.remove(nth);
                        }
                        Turn::Wait { until } => prop_assert!(until > now),
                        Turn::Late { .. } => drop(waiting.remove(nth)),
                    }
                }
                Event::Leave { nth } if nth < waiting.len() => world.bucket.leave(waiting.remove(nth).0),
                Event::Poll { .. } | Event::Leave { .. } => {}
            }
            prop_assert_eq!(world.bucket.waiting(), waiting.len());
            let rate = world.bucket.per_second(world.now);
            prop_assert!(rate.is_none_or(|rate| rate == 0.0 || (0.5..=1000.0).contains(&rate)), "{:?}", rate);
        }
        // Without further complaints all requests go, in order, and the account is free.
        for (ticket, _) in waiting {
            let end = world.now + LONGEST_PAUSE + 1000 * SECOND;
            loop {
                match world.bucket.poll(ticket, world.now, end + SECOND) {
                    Turn::Go => break,
                    Turn::Wait { until } => {
                        prop_assert!(until > world.now && until < end, "stuck");
                        world.now = until;
                    }
                    Turn::Late { .. } => prop_assert!(false, "stuck"),
                }
            }
        }
        world.pass(LONGEST_PAUSE + 100 * SECOND);
        prop_assert!(world.bucket.is_idle(world.now));
    }
}
