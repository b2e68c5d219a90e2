//! Injected faults, and the choice of one for a request.

use std::time::Duration;

/// The effect of a fault on a request.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The connection closes without an answer, and nothing is done.
    LostRequest,
    /// The work is done; the connection closes without an answer.
    LostAnswer,
    /// The work is done; half of the answer arrives.
    HalfAnswer,
    /// The work is done; the body ends in its middle, with the length that belongs to that.
    CutJson,
    /// An error of the API. `is_after_work`: it comes after the work.
    Error { status: u16, code: &'static str, is_after_work: bool },
    /// The page of a proxy.
    Html { status: u16, is_after_work: bool },
    /// The answer comes later.
    Delay(Duration),
    /// An answer of this text instead of the work.
    Instead(String),
}

/// One rule. It holds for all requests until it is narrowed.
#[derive(Clone, Debug)]
pub struct Rule {
    method: Option<String>,
    path: Option<String>,
    first: u64,
    every: u64,
    seen: u64,
    used: u64,
    most: u64,
    pub(crate) effect: Effect,
}

impl Rule {
    /// A rule for all requests.
    pub fn new(effect: Effect) -> Self {
        Self { method: None, path: None, first: 1, every: 1, seen: 0, used: 0, most: u64::MAX, effect }
    }

    /// Only this method and path; `*` in the path is one segment.
    #[must_use]
    pub fn on(self, method: &str, path: &str) -> Self {
        Self { method: Some(method.to_owned()), path: Some(path.to_owned()), ..self }
    }

    /// Only the request with this number, from 1.
    #[must_use]
    pub fn nth(self, number: u64) -> Self {
        Self { first: number, most: 1, ..self }
    }

    /// Every so many requests.
    #[must_use]
    pub fn every(self, number: u64) -> Self {
        Self { first: number, every: number.max(1), ..self }
    }

    /// At most so often.
    #[must_use]
    pub fn times(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Counts a request. True if the rule applies to it.
    pub(crate) fn takes(&mut self, method: &str, path: &str) -> bool {
        let is_method = self.method.as_ref().is_none_or(|wanted| wanted == method);
        if !is_method || !self.path.as_ref().is_none_or(|wanted| is_path(wanted, path)) {
            return false;
        }
        self.seen += 1;
        let is_turn = self.seen >= self.first && (self.seen - self.first).is_multiple_of(self.every);
        let applies = is_turn && self.used < self.most;
        self.used += u64::from(applies);
        applies
    }
}

fn is_path(pattern: &str, path: &str) -> bool {
    let (wanted, given): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    wanted.len() == given.len()
        && wanted.iter().zip(given).all(|(wanted, given)| *wanted == "*" || *wanted == given)
}
