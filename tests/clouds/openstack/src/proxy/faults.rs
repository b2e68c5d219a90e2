//! Injected faults: rules, and the choice of one for a request.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// One rule. It holds for all requests until it is narrowed.
#[derive(Clone, Debug)]
pub struct Rule {
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
    Share { share: f64, seed: u64 },
}

/// The effect of a fault on a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// This answer instead of the work.
    Instead { status: u16, body: String, retry_after_seconds: Option<u64> },
    /// This answer after the work.
    After { status: u16, body: String },
    /// The work is done; the connection closes without an answer.
    LostAnswer,
    /// The request gets lost on the way; the connection closes.
    LostRequest,
    /// The answer comes later. Several delays add up, and other effects apply in addition.
    Delay(Duration),
    /// The work is done; the connection breaks in the middle of the body.
    Cut,
    /// The work is done; half of the body comes as if it were all.
    Half,
}

impl Effect {
    /// Nova's answer to too many requests, with or without `Retry-After`.
    pub fn throttle(retry_after_seconds: Option<u64>) -> Self {
        let body = r#"{"overLimit": {"code": 429, "message": "This request was rate-limited."}}"#.to_owned();
        Self::Instead { status: 429, body, retry_after_seconds }
    }

    /// The error page of a gateway.
    pub fn html(status: u16) -> Self {
        Self::Instead {
            status,
            body: "<html><body>Bad Gateway</body></html>".to_owned(),
            retry_after_seconds: None,
        }
    }
}

impl Rule {
    /// A rule for all requests, those of the host for tokens included.
    pub fn new(effect: Effect) -> Self {
        Self { action: None, turn: Turn::All, effect }
    }

    /// Only this action, such as `POST compute/servers`.
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

    /// Only this share of the requests that match, from 0 to 1, chosen by the seed.
    #[must_use]
    pub fn share(self, share: f64, seed: u64) -> Self {
        Self { turn: Turn::Share { share: share.clamp(0.0, 1.0), seed }, ..self }
    }
}

/// The rules that hold, to be changed at any time.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Arc<Mutex<Vec<Active>>>,
}

#[derive(Debug)]
struct Active {
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
            Turn::All | Turn::First(_) | Turn::Nth(_) => 0,
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.with(|rules| rules.push(Active { rule, seen: 0, fired: 0, rng }));
    }

    pub fn clear(&self) {
        self.with(Vec::clear);
    }

    /// Returns how often the rules fired.
    pub fn fired(&self) -> u64 {
        self.with(|rules| rules.iter().map(|active| active.fired).sum())
    }

    pub(crate) fn decide(&self, action: &str) -> Injection {
        self.with(|rules| {
            let mut injection = Injection::default();
            for active in rules {
                if !active.fires(action) {
                    continue;
                }
                match &active.rule.effect {
                    Effect::Delay(delay) => injection.delay += *delay,
                    effect if injection.effect.is_none() => injection.effect = Some(effect.clone()),
                    // The other effect waits for its next request.
                    _ => continue,
                }
                active.fired += 1;
            }
            injection
        })
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Vec<Active>) -> T) -> T {
        ask(&mut self.rules.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Active {
    fn fires(&mut self, action: &str) -> bool {
        if self.rule.action.as_deref().is_some_and(|wanted| wanted != action) {
            return false;
        }
        self.seen += 1;
        match self.rule.turn {
            Turn::All => true,
            Turn::First(count) => self.fired < count,
            Turn::Nth(number) => self.seen == number,
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
        (0..requests).map(|_| faults.decide("GET compute/servers").effect.is_some()).collect()
    }

    #[test]
    fn a_rule_fires_in_its_turn_and_for_its_action() {
        let rule = || Rule::new(Effect::LostAnswer);
        assert_eq!(fires(rule().first(1), 3), [true, false, false]);
        assert_eq!(fires(rule().nth(2), 3), [false, true, false]);
        assert_eq!(fires(rule().on("POST compute/servers"), 1), [false]);
        let some = fires(rule().share(0.5, 7), 100);
        assert_eq!(some, fires(rule().share(0.5, 7), 100));
        assert!((30..70).contains(&some.iter().filter(|fired| **fired).count()));
    }

    #[test]
    fn delays_add_up_and_one_other_effect_applies() {
        let faults = Faults::default();
        faults.add(Rule::new(Effect::Delay(Duration::from_millis(1))));
        faults.add(Rule::new(Effect::Delay(Duration::from_millis(2))));
        faults.add(Rule::new(Effect::Cut).first(1));
        faults.add(Rule::new(Effect::Half).first(1));
        let first = faults.decide("x");
        assert_eq!((first.delay, first.effect), (Duration::from_millis(3), Some(Effect::Cut)));
        assert_eq!(faults.decide("x").effect, Some(Effect::Half));
        assert_eq!(faults.fired(), 6);
    }
}
