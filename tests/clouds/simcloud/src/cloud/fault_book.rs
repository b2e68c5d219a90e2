//! Decides for each call which faults befall it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::cloud::faults::{Effect, Faults, Match, Rule};
use crate::request::Request;
use crate::wire::error::{ApiError, Code};

/// The faults of a call.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Added to the answer's delay.
    pub(crate) delay: Duration,
    pub(crate) injection: Injection,
}

/// The disturbance beside a delay.
#[derive(Debug)]
pub(crate) enum Injection {
    /// The work is done and answered.
    Proceed,
    Before(Spoil),
    /// The work is done, but the caller sees something else.
    After(Spoil),
}

/// The disturbed answer that the caller sees.
#[derive(Debug)]
pub(crate) enum Spoil {
    Error(ApiError),
    Silence { hold: Duration },
    Truncate { bytes: Option<usize> },
    Garbage,
    Html { status: u16 },
}

/// The faults with what they count.
#[derive(Debug, Default)]
pub(crate) struct FaultBook {
    faults: Faults,
    ledgers: Vec<Ledger>,
}

/// The counters of a rule.
#[derive(Debug, Default)]
struct Ledger {
    seen: u64,
    fired: u64,
    bucket: Option<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled: Timestamp,
}

impl FaultBook {
    /// Replaces the faults; all counts start again.
    pub(crate) fn set(&mut self, faults: Faults) {
        self.ledgers = faults.rules.iter().map(|_| Ledger::default()).collect();
        self.faults = faults;
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// How often each rule fired.
    pub(crate) fn fired(&self) -> BTreeMap<String, u64> {
        let mut fired = BTreeMap::new();
        for (place, (rule, ledger)) in self.faults.rules.iter().zip(&self.ledgers).enumerate() {
            *fired.entry(rule.name.clone().unwrap_or_else(|| format!("rule-{place}"))).or_default() +=
                ledger.fired;
        }
        fired
    }

    /// Decides the faults of this call of this account.
    pub(crate) fn plan(
        &mut self,
        request: &Request,
        account: Option<&str>,
        now: Timestamp,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Plan {
        let mut plan = Plan { delay: Duration::ZERO, injection: Injection::Proceed };
        for (rule, ledger) in self.faults.rules.iter().zip(&mut self.ledgers) {
            if !matches(&rule.matches, request, account) {
                continue;
            }
            ledger.seen += 1;
            if !is_due(&rule.matches, ledger, rng) {
                continue;
            }
            match strike(rule, ledger, now, rng) {
                Strike::Miss => continue,
                Strike::Delay(delay) => plan.delay += delay,
                Strike::Injection(injection) => plan.injection = injection,
            }
            ledger.fired += 1;
            if !matches!(plan.injection, Injection::Proceed) {
                break;
            }
        }
        plan
    }
}

enum Strike {
    Miss,
    Delay(Duration),
    Injection(Injection),
}

fn strike(rule: &Rule, ledger: &mut Ledger, now: Timestamp, rng: &mut Xoshiro256PlusPlus) -> Strike {
    let when = |after_commit: bool, spoil| {
        if after_commit { Injection::After(spoil) } else { Injection::Before(spoil) }
    };
    Strike::Injection(match &rule.effect {
        Effect::Error { code, status, retry_after, message, after_commit } => {
            let mut error = ApiError::new(
                *code,
                message.clone().unwrap_or_else(|| "the cloud has a bad moment".to_owned()),
            );
            error.status = status.unwrap_or(error.status);
            error.retry_after = *retry_after;
            when(*after_commit, Spoil::Error(error))
        }
        Effect::Timeout { after_commit, hold_ms } => {
            when(*after_commit, Spoil::Silence { hold: Duration::from_millis(*hold_ms) })
        }
        Effect::Delay { ms, jitter_ms } => {
            let more = if *jitter_ms == 0 { 0 } else { rng.random_range(0..=*jitter_ms) };
            return Strike::Delay(Duration::from_millis(ms.saturating_add(more)));
        }
        Effect::Throttle { rate, burst, retry_after } => {
            let bucket = ledger.bucket.get_or_insert(Bucket { tokens: *burst, filled: now });
            let passed = now.duration_since(bucket.filled).as_secs_f64().max(0.0);
            bucket.tokens = (bucket.tokens + passed * rate).min(*burst);
            bucket.filled = now;
            if bucket.tokens >= 1.0 {
                bucket.tokens -= 1.0;
                return Strike::Miss;
            }
            let mut error = ApiError::new(Code::Throttled, "too many calls");
            error.retry_after =
                Some(retry_after.unwrap_or_else(|| ((1.0 - bucket.tokens) / rate).ceil().max(1.0) as u64));
            Injection::Before(Spoil::Error(error))
        }
        Effect::Truncate { bytes } => Injection::After(Spoil::Truncate { bytes: *bytes }),
        Effect::Garbage => Injection::After(Spoil::Garbage),
        Effect::Html { status, after_commit } => when(*after_commit, Spoil::Html { status: *status }),
    })
}

fn is_due(wanted: &Match, ledger: &Ledger, rng: &mut Xoshiro256PlusPlus) -> bool {
    wanted.count.is_none_or(|count| ledger.fired < count)
        && wanted.nth.is_none_or(|nth| ledger.seen == nth)
        && wanted.probability.is_none_or(|probability| rng.random::<f64>() < probability)
}

fn matches(wanted: &Match, request: &Request, account: Option<&str>) -> bool {
    wanted.method.as_deref().is_none_or(|method| method == request.method.as_str())
        && wanted.path.as_deref().is_none_or(|pattern| path_matches(pattern, &request.path))
        && wanted.account.as_deref().is_none_or(|name| account == Some(name))
}

fn path_matches(pattern: &str, path: &str) -> bool {
    let mut segments = path.trim_matches('/').split('/');
    for wanted in pattern.trim_matches('/').split('/') {
        if wanted == "**" {
            return true;
        }
        match segments.next() {
            Some(segment) if wanted == "*" || wanted == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::request::Method;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    /// One letter a call: what befalls it.
    fn check(rules: &str, calls: impl IntoIterator<Item = (Method, &'static str, i64)>, expected: &str) {
        let mut book = FaultBook::default();
        book.set(serde_json::from_str(&format!("{{\"rules\": {rules}}}")).unwrap());
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let fates: String = calls
            .into_iter()
            .map(|(method, path, millis)| {
                let plan = book.plan(&Request::new(method, path), Some("default"), at(millis), &mut rng);
                match plan.injection {
                    Injection::Proceed if plan.delay.is_zero() => '.',
                    Injection::Proceed => 'd',
                    Injection::Before(_) => 'b',
                    Injection::After(_) => 'a',
                }
            })
            .collect();
        assert_eq!(fates, expected);
    }

    fn creates(calls: usize) -> impl Iterator<Item = (Method, &'static str, i64)> {
        std::iter::repeat_n((Method::Post, "/v1/vms", 0), calls)
    }

    #[test]
    fn nth_hits_one_call_and_count_ends_a_rule() {
        check(r#"[{"match":{"nth":3},"effect":{"type":"error","code":"internal"}}]"#, creates(5), "..b..");
        check(r#"[{"match":{"count":2},"effect":{"type":"garbage"}}]"#, creates(4), "aa..");
    }

    #[test]
    fn method_path_and_account_select_the_calls() {
        let rule = r#"[{"match":{"method":"GET","path":"/v1/vms/*"},"effect":{"type":"timeout"}}]"#;
        let calls = [
            (Method::Get, "/v1/vms/a", 0),
            (Method::Get, "/v1/vms", 0),
            (Method::Get, "/v1/vms/a/console", 0),
            (Method::Delete, "/v1/vms/a", 0),
        ];
        check(rule, calls, "a...");
        check(&rule.replace("/v1/vms/*", "/v1/**"), calls, "aaa.");
        check(&rule.replace("\"method\":\"GET\"", "\"account\":\"other\""), calls, "....");
    }

    #[test]
    fn delays_add_to_what_follows() {
        let rules = r#"[{"effect":{"type":"delay","ms":5}},
            {"match":{"nth":2},"effect":{"type":"html","status":502}}]"#;
        check(rules, creates(3), "dbd");
    }

    #[test]
    fn a_throttle_lets_its_burst_through_and_fills_with_time() {
        let rule = r#"[{"effect":{"type":"throttle","rate":2,"burst":2}}]"#;
        let call = |millis| (Method::Post, "/v1/vms", millis);
        check(rule, [0, 0, 0, 400, 500, 500, 1500, 1500, 1500].map(call), "..bb.b..b");
    }

    #[test]
    fn probability_hits_about_its_share() {
        let mut book = FaultBook::default();
        book.set(
            serde_json::from_str(
                r#"{"rules":[{"match":{"probability":0.2},"effect":{"type":"error","code":"internal"}}]}"#,
            )
            .unwrap(),
        );
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        for (method, path, millis) in creates(10_000) {
            book.plan(&Request::new(method, path), None, at(millis), &mut rng);
        }
        let fired = book.fired()["rule-0"];
        assert!((1_800..2_200).contains(&fired), "{fired}");
    }
}
