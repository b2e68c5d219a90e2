use proptest::prelude::*;

use super::super::pace::LONGEST_PAUSE;
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const FAR: Duration = Duration::from_secs(100_000);

struct TimedBucket {
    bucket: Bucket,
    start: Instant,
    now: Instant,
}

impl TimedBucket {
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
    let mut timed = TimedBucket::new();
    for _ in 0..10_000 {
        assert_eq!(timed.enter(), Entry::Go);
    }
}

#[test]
fn after_the_pause_that_the_cloud_asks_for_one_request_goes() {
    let mut timed = TimedBucket::new();
    timed.enter();
    timed.slow_down(Some(7 * SECOND));
    let waited = timed.goes_after();
    assert!((7.0..7.01).contains(&waited.as_secs_f64()), "{waited:?}");
    let next = timed.goes_after();
    assert!((0.1..0.3).contains(&next.as_secs_f64()), "five a second: {next:?}");
}

#[test]
fn a_pause_without_end_ends_after_an_hour() {
    let mut timed = TimedBucket::new();
    timed.slow_down(Some(Duration::MAX));
    assert!(timed.goes_after() <= LONGEST_PAUSE + SECOND);
}

#[test]
fn requests_go_in_the_order_of_arrival() {
    let mut timed = TimedBucket::new();
    timed.slow_down(Some(SECOND));
    let mut tickets = Vec::new();
    for _ in 0..5 {
        let Entry::Wait { ticket, .. } = timed.enter() else { panic!("waits") };
        tickets.push(ticket);
    }
    timed.pass(SECOND + SECOND / 100);
    let far = timed.now + FAR;
    for ticket in tickets.iter().skip(1) {
        assert!(matches!(timed.bucket.poll(*ticket, timed.now, far), Turn::Wait { .. }));
    }
    assert_eq!(timed.bucket.poll(tickets[0], timed.now, far), Turn::Go);
    // A request that gives up makes room.
    timed.bucket.leave(tickets[1]);
    timed.pass(3 * SECOND);
    assert!(matches!(timed.bucket.poll(tickets[3], timed.now, far), Turn::Wait { .. }));
    assert_eq!(timed.bucket.poll(tickets[2], timed.now, far), Turn::Go);
}

#[test]
fn a_turn_behind_the_deadline_is_no_turn() {
    let mut timed = TimedBucket::new();
    timed.slow_down(Some(30 * SECOND));
    let entry = timed.bucket.enter(Urgency::Normal, timed.now, timed.now + 20 * SECOND);
    let Entry::Late { retry_after } = entry else { panic!("{entry:?}") };
    assert!((30.0..30.1).contains(&retry_after.as_secs_f64()), "{retry_after:?}");
    assert_eq!(timed.bucket.waiting(), 0, "it took no place");
    let Entry::Wait { ticket, .. } = timed.bucket.enter(Urgency::Normal, timed.now, timed.now + 40 * SECOND)
    else {
        panic!("waits")
    };
    timed.slow_down(Some(60 * SECOND));
    let turn = timed.bucket.poll(ticket, timed.now, timed.now + 40 * SECOND);
    assert!(matches!(turn, Turn::Late { .. }), "{turn:?}");
    assert_eq!(timed.bucket.waiting(), 0);
}

#[test]
fn deletions_and_queries_overtake_creates_and_creates_do_not_starve() {
    let mut timed = TimedBucket::new();
    timed.slow_down(Some(SECOND));
    let far = timed.now + FAR;
    let mut waiting: Vec<Ticket> = Vec::new();
    for urgency in [Urgency::Normal; 3].into_iter().chain([Urgency::Urgent; 5]) {
        let Entry::Wait { ticket, .. } = timed.bucket.enter(urgency, timed.now, far) else { panic!("waits") };
        waiting.push(ticket);
    }
    timed.pass(SECOND);
    let mut order = Vec::new();
    while !waiting.is_empty() {
        timed.pass(SECOND / 4);
        let now = timed.now;
        waiting.retain(|ticket| match timed.bucket.poll(*ticket, now, far) {
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
    let mut timed = TimedBucket::new();
    timed.slow_down(Some(SECOND));
    for _ in 0..MOST_WAITING {
        assert!(matches!(timed.enter(), Entry::Wait { .. }));
    }
    assert!(matches!(timed.enter(), Entry::Crowded { .. }));
    assert_eq!(timed.bucket.waiting(), MOST_WAITING);
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
        let mut timed = TimedBucket::new();
        timed.pass(10 * SECOND);
        // Ticket, deadline; in the order in which they came.
        let mut waiting: Vec<(Ticket, Instant)> = Vec::new();
        let mut closed_until = timed.start;
        for event in events {
            let now = timed.now;
            match event {
                Event::Pass { ms } => timed.pass(Duration::from_millis(ms)),
                Event::SlowDown { sent_ago_ms, retry_after_ms } => {
                    let pause = retry_after_ms.map(Duration::from_millis);
                    let answer = RateSignal::TooFast { retry_after: pause };
                    timed.bucket.answered(now - Duration::from_millis(sent_ago_ms), now, answer);
                    let until = now + pause.unwrap_or_default().min(LONGEST_PAUSE);
                    closed_until = closed_until.max(until);
                }
                Event::Enter { deadline_ms } => {
                    let deadline = now + Duration::from_millis(deadline_ms);
                    match timed.bucket.enter(Urgency::Normal, now, deadline) {
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
                    let was_slow = timed.bucket.is_slow(now);
                    match timed.bucket.poll(ticket, now, deadline) {
                        Turn::Go => {
                            prop_assert!(now >= closed_until, "went while closed");
                            prop_assert!(nth == 0 || !was_slow, "overtook");
                            waiting.remove(nth);
                        }
                        Turn::Wait { until } => prop_assert!(until > now),
                        Turn::Late { .. } => drop(waiting.remove(nth)),
                    }
                }
                Event::Leave { nth } if nth < waiting.len() => timed.bucket.leave(waiting.remove(nth).0),
                Event::Poll { .. } | Event::Leave { .. } => {}
            }
            prop_assert_eq!(timed.bucket.waiting(), waiting.len());
            let rate = timed.bucket.per_second(timed.now);
            prop_assert!(rate.is_none_or(|rate| rate == 0.0 || (0.5..=1000.0).contains(&rate)), "{:?}", rate);
        }
        // Without further complaints all requests go, in order, and the account is free.
        for (ticket, _) in waiting {
            let end = timed.now + LONGEST_PAUSE + 1000 * SECOND;
            loop {
                match timed.bucket.poll(ticket, timed.now, end + SECOND) {
                    Turn::Go => break,
                    Turn::Wait { until } => {
                        prop_assert!(until > timed.now && until < end, "stuck");
                        timed.now = until;
                    }
                    Turn::Late { .. } => prop_assert!(false, "stuck"),
                }
            }
        }
        timed.pass(LONGEST_PAUSE + 100 * SECOND);
        prop_assert!(timed.bucket.is_idle(timed.now));
    }
}
