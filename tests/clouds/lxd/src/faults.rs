//! Injected faults: rules, and the choice of one for a request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One rule. It holds for all requests until it is narrowed.
#[derive(Clone, Debug)]
pub struct Rule {
    name: String,
    action: Option<String>,
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
}

/// The effect of a fault on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An error in LXD's form.
    Error {
        status: u16,
        text: String,
        /// Whether the work is done all the same.
        is_after_work: bool,
    },
    /// Too many requests, as a gateway in front of LXD says it.
    Throttle {
        /// Seconds for the header `Retry-After`.
        retry_after: Option<u64>,
    },
    /// The operation that is waited for has failed with this text.
    Failure(String),
    /// The work is done; the connection closes without an answer.
    LostAnswer,
    /// The request gets lost on its way; the connection closes.
    LostRequest,
    /// The answer comes later. Several delays add up, and other effects hold beside them.
    Delay(Duration),
    /// The work is done; half of the answer arrives, as if it were the whole.
    Half,
    /// The work is done; half of the announced answer arrives.
    Cut,
    /// The work is done; the answer is JSON of another kind.
    OtherShape,
    /// The error page of a proxy before LXD.
    Html {
        status: u16,
        /// Whether the work is done all the same.
        is_after_work: bool,
    },
}

impl Effect {
    /// An error instead of the work.
    pub fn error(status: u16, text: &str) -> Self {
        Self::Error { status, text: text.to_owned(), is_after_work: false }
    }
}

impl Rule {
    /// A rule for all requests.
    pub fn new(effect: Effect) -> Self {
        Self { name: String::new(), action: None, turn: Turn::All, effect }
    }

    /// Its name in the counts; by default its place in the list.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Only requests of this kind, such as `create` or `wait`.
    #[must_use]
    pub fn on(self, action: &str) -> Self {
        Self { action: Some(action.to_owned()), ..self }
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
}

/// The rules that hold, to be changed at any time.
#[derive(Debug, Default)]
pub struct Faults {
    book: Mutex<Vec<Page>>,
}

#[derive(Debug)]
struct Page {
    rule: Rule,
    seen: u64,
    fired: u64,
}

/// The faults of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Injection {
    pub(crate) delay: Duration,
    /// The first that fires.
    pub(crate) effect: Option<Effect>,
}

impl Faults {
    /// Adds a rule after the others.
    pub fn add(&self, rule: Rule) {
        self.with(|book| book.push(Page { rule, seen: 0, fired: 0 }));
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

    /// Asks each rule about a request.
    pub(crate) fn decide(&self, action: &str) -> Injection {
        self.with(|book| {
            let mut injection = Injection::default();
            for page in book {
                if !page.fires(action) {
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
    fn fires(&mut self, action: &str) -> bool {
        if self.rule.action.as_deref().is_some_and(|wanted| wanted != action) {
            return false;
        }
        self.seen += 1;
        match self.rule.turn {
            Turn::All => true,
            Turn::First(count) => self.fired < count,
            Turn::Nth(number) => self.seen == number,
            Turn::Every(step) => self.seen.is_multiple_of(step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fires(rule: Rule, requests: usize) -> Vec<bool> {
        let faults = Faults::default();
        faults.add(rule);
        (0..requests).map(|_| faults.decide("create").effect.is_some()).collect()
    }

    #[test]
    fn a_rule_fires_in_its_turn_and_for_its_action() {
        let rule = || Rule::new(Effect::LostAnswer);
        assert_eq!(fires(rule(), 2), [true, true]);
        assert_eq!(fires(rule().first(1), 3), [true, false, false]);
        assert_eq!(fires(rule().nth(2), 3), [false, true, false]);
        assert_eq!(fires(rule().every(2), 4), [false, true, false, true]);
        assert_eq!(fires(rule().on("wait"), 1), [false]);
        assert_eq!(fires(rule().on("create"), 1), [true]);
    }

    #[test]
    fn delays_add_up_and_one_other_effect_befalls_a_request() {
        let faults = Faults::default();
        faults.add(Rule::new(Effect::Delay(Duration::from_millis(1))));
        faults.add(Rule::new(Effect::Delay(Duration::from_millis(2))));
        faults.add(Rule::new(Effect::LostAnswer).first(1).named("lost"));
        faults.add(Rule::new(Effect::Half).first(1));
        let first = faults.decide("x");
        assert_eq!((first.delay, first.effect), (Duration::from_millis(3), Some(Effect::LostAnswer)));
        assert_eq!(faults.decide("x").effect, Some(Effect::Half));
        assert_eq!(faults.fired()["lost"], 1);
        faults.clear();
        assert_eq!(faults.decide("x"), Injection::default());
    }
}
