//! Injected faults: rules, and the choice of one for a request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// One rule. It holds for all requests until it is narrowed.
#[derive(Clone, Debug)]
pub struct Rule {
    name: String,
    action: Option<String>,
    client: Option<String>,
    turn: Turn,
    effect: Effect,
}

/// Which of the matching requests.
#[derive(Clone, Copy, Debug)]
enum Turn {
    All,
    First(u64),
    Nth(u64),
    Every(u64),
    Share { share: f64, seed: u64 },
}

/// The effect of a fault on a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Answers with an error.
    Error {
        code: String,
        /// Instead of the code's own.
        status: Option<u16>,
        message: String,
        /// Seconds for the header `Retry-After`.
        retry_after_seconds: Option<u64>,
        /// Whether the work is done all the same.
        is_after_work: bool,
    },
    /// The work is done; after this time the connection closes without an answer.
    LostAnswer {
        /// How long it is held.
        hold: Duration,
    },
    /// The request gets lost on the way; after this time the connection closes.
    LostRequest {
        /// How long it is held.
        hold: Duration,
    },
    /// The answer comes later. Several delays add up, and other effects hold beside them.
    Delay(Duration),
    /// The work is done; the XML ends in its middle, with the length that belongs to that.
    CutXml,
    /// The work is done; the answer is sound XML of another kind.
    OtherShape,
    /// The work is done; the announced length is that of the answer, but half of it arrives.
    WrongLength,
    /// The error page of a proxy before the cloud.
    Html {
        status: u16,
        /// Whether the work is done all the same.
        is_after_work: bool,
    },
    /// Each page of a list says that there is one more page, and names it alike.
    RepeatedPageToken,
    /// Instances have no `privateDnsName` yet.
    NoPrivateDnsName,
}

impl Effect {
    /// An error instead of the work.
    pub fn error(code: &str) -> Self {
        let message = format!("{code} by the tests' wish");
        let (code, status, retry_after_seconds) = (code.to_owned(), None, None);
        Self::Error { code, status, message, retry_after_seconds, is_after_work: false }
    }

    /// EC2's throttling, with or without `Retry-After`.
    pub fn throttle(retry_after_seconds: Option<u64>) -> Self {
        Self::Error {
            code: "RequestLimitExceeded".to_owned(),
            status: None,
            message: "Request limit exceeded.".to_owned(),
            retry_after_seconds,
            is_after_work: false,
        }
    }

    /// The answer never comes, though the work is done.
    pub fn lost_answer() -> Self {
        Self::LostAnswer { hold: Duration::ZERO }
    }
}

impl Rule {
    /// A rule for all requests, STS included.
    pub fn new(effect: Effect) -> Self {
        Self { name: String::new(), action: None, client: None, turn: Turn::All, effect }
    }

    /// Its name in the counts; by default its place in the list.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    #[must_use]
    pub fn on(self, action: &str) -> Self {
        Self { action: Some(action.to_owned()), ..self }
    }

    /// Only this caller: an access key id, or the name of an account.
    #[must_use]
    pub fn of(self, client: &str) -> Self {
        Self { client: Some(client.to_owned()), ..self }
    }

    /// Only the first so many requests that match.
    #[must_use]
    pub fn first(self, count: u64) -> Self {
        Self { turn: Turn::First(count), ..self }
    }

    /// Only the request with this number, from 1, of those that match.
    #[must_use]
    pub fn nth(self, number: u64) -> Self {
        Self { turn: Turn::Nth(number), ..self }
    }

    /// Of the requests that match, only those whose number is a multiple of this.
    #[must_use]
    pub fn every(self, step: u64) -> Self {
        Self { turn: Turn::Every(step.max(1)), ..self }
    }

    /// Only this share of the requests that match, from 0 to 1; which ones, the seed decides.
    #[must_use]
    pub fn share(self, share: f64, seed: u64) -> Self {
        Self { turn: Turn::Share { share: share.clamp(0.0, 1.0), seed }, ..self }
    }
}

/// The rules that hold, to be changed at any time.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    book: Arc<Mutex<Vec<Page>>>,
}

#[derive(Debug)]
struct Page {
    rule: Rule,
    seen: u64,
    fired: u64,
    rng: Xoshiro256PlusPlus,
}

/// The faults of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Injection {
    pub(crate) delay: Duration,
    /// The first that fires.
    pub(crate) effect: Option<Effect>,
}

impl Faults {
    /// Adds a rule after the others.
    pub fn add(&self, rule: Rule) {
        let seed = match rule.turn {
            Turn::Share { seed, .. } => seed,
            Turn::All | Turn::First(_) | Turn::Nth(_) | Turn::Every(_) => 0,
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.with(|book| book.push(Page { rule, seen: 0, fired: 0, rng }));
    }

    /// Takes all rules back.
    pub fn clear(&self) {
        self.with(Vec::clear);
    }

    /// How often each rule fired.
    pub fn fired(&self) -> BTreeMap<String, u64> {
        self.with(|book| {
            let counts = book.iter().enumerate().map(|(place, page)| {
                let own = &page.rule.name;
                (if own.is_empty() { format!("rule-{place}") } else { own.clone() }, page.fired)
            });
            counts.collect()
        })
    }

    /// Asks each rule about a request. `clients` are the names of its caller.
    pub(crate) fn decide(&self, action: &str, clients: &[&str]) -> Injection {
        self.with(|book| {
            let mut injection = Injection::default();
            for page in book {
                if !page.fires(action, clients) {
                    continue;
                }
                match &page.rule.effect {
                    Effect::Delay(delay) => injection.delay += *delay,
                    effect if injection.effect.is_none() => injection.effect = Some(effect.clone()),
                    // A request suffers one of them; the other waits for its next.
                    _ => continue,
                }
                page.fired += 1;
            }
            injection
        })
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Vec<Page>) -> T) -> T {
        ask(&mut self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Page {
    fn fires(&mut self, action: &str, clients: &[&str]) -> bool {
        let Rule { action: wanted, client, turn, .. } = &self.rule;
        let is_meant = wanted.as_deref().is_none_or(|wanted| wanted == action)
            && client.as_deref().is_none_or(|client| clients.contains(&client));
        if !is_meant {
            return false;
        }
        self.seen += 1;
        match *turn {
            Turn::All => true,
            Turn::First(count) => self.fired < count,
            Turn::Nth(number) => self.seen == number,
            Turn::Every(step) => self.seen.is_multiple_of(step),
            Turn::Share { share, .. } => self.rng.random::<f64>() < share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fires(rule: Rule, requests: usize) -> Vec<bool> {
        let faults = Faults::default();
        faults.add(rule);
        (0..requests).map(|_| faults.decide("RunInstances", &["AKID", "one"]).effect.is_some()).collect()
    }

    fn rule() -> Rule {
        Rule::new(Effect::throttle(None))
    }

    #[test]
    fn a_rule_fires_in_its_turn() {
        assert_eq!(fires(rule(), 2), [true, true]);
        assert_eq!(fires(rule().first(1), 3), [true, false, false]);
        assert_eq!(fires(rule().nth(2), 3), [false, true, false]);
        assert_eq!(fires(rule().every(2), 4), [false, true, false, true]);
        let some = fires(rule().share(0.5, 7), 100);
        assert_eq!(some, fires(rule().share(0.5, 7), 100));
        assert!((30..70).contains(&some.iter().filter(|fired| **fired).count()));
    }

    #[test]
    fn a_rule_is_for_its_action_and_its_client() {
        assert_eq!(fires(rule().on("DescribeInstances"), 1), [false]);
        assert_eq!(fires(rule().on("RunInstances").of("one"), 1), [true]);
        assert_eq!(fires(rule().of("AKID"), 1), [true]);
        assert_eq!(fires(rule().of("two"), 1), [false]);
    }

    #[test]
    fn delays_add_up_and_one_other_effect_befalls_a_request() {
        let faults = Faults::default();
        faults.add(Rule::new(Effect::Delay(Duration::from_millis(1))));
        faults.add(Rule::new(Effect::Delay(Duration::from_millis(2))));
        faults.add(rule().first(1).named("throttle"));
        faults.add(Rule::new(Effect::CutXml).first(1));
        let first = faults.decide("x", &[]);
        assert_eq!((first.delay, first.effect), (Duration::from_millis(3), Some(Effect::throttle(None))));
        assert_eq!(faults.decide("x", &[]).effect, Some(Effect::CutXml));
        assert_eq!(faults.fired()["throttle"], 1);
        faults.clear();
        assert_eq!(faults.decide("x", &[]), Injection::default());
    }
}
