//! Faults that tests order.

use crate::wire::{Request, Response, error};

/// The fault of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Azure refuses it in this way.
    Refuse { status: u16, code: String, message: String },
    /// Azure accepts it, and the operation fails in the end.
    FailLater { code: String, message: String },
    /// 429 with this pause in seconds.
    Throttle { retry_after_s: u64 },
    /// It does not reach Azure, and there is no answer.
    LoseRequest,
    /// Azure does it, and there is no answer.
    LoseAnswer,
    /// Azure does it, and answers 500.
    DoneAnd500,
    /// Of a deletion: the parts of the VM stay.
    LeaveParts,
}

/// The requests that a fault befalls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Empty is for every method.
    pub method: String,
    /// A part of the path, without regard to case.
    pub path: String,
    /// How many requests that fit pass before the first fault.
    pub after: usize,
    /// Of those that follow, each so many-th one has the fault; 1: each.
    pub every: usize,
    /// How often the fault happens at most.
    pub times: usize,
    pub effect: Effect,
}

impl Rule {
    /// The next request that fits, and no other.
    pub fn once(method: &str, path: &str, effect: Effect) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), after: 0, every: 1, times: 1, effect }
    }

    /// Each request that fits.
    pub fn always(method: &str, path: &str, effect: Effect) -> Self {
        Self { times: usize::MAX, ..Self::once(method, path, effect) }
    }
}

/// The rules of a cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    rules: Vec<(Rule, usize)>,
}

impl Faults {
    pub fn add(&mut self, rule: Rule) {
        self.rules.push((rule, 0));
    }

    pub fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn of(&mut self, request: &Request) -> Option<Effect> {
        let path = request.path.to_ascii_lowercase();
        let mut effect = None;
        for (rule, seen) in &mut self.rules {
            let fits = (rule.method.is_empty() || rule.method == request.method)
                && path.contains(&rule.path.to_ascii_lowercase());
            if !fits {
                continue;
            }
            *seen += 1;
            let due = *seen > rule.after && (*seen - rule.after - 1).is_multiple_of(rule.every.max(1));
            if due && rule.times > 0 && effect.is_none() {
                rule.times -= 1;
                effect = Some(rule.effect.clone());
            }
        }
        effect
    }
}

/// 429, as Azure says it.
pub(crate) fn throttled(retry_after_s: u64) -> Response {
    let message = "Number of requests for the subscription exceeded the limit. Please try again later.";
    error(429, "TooManyRequests", message).with("retry-after", retry_after_s.to_string())
}
