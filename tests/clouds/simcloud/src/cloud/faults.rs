//! Fault rules, in the form of the admin API.

use serde::{Deserialize, Serialize};

use crate::config::Latency;
use crate::wire::error::Code;

/// All faults of the cloud; the default has none. Body of `PUT /admin/faults`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Faults {
    /// Rules, tried in this order for each call. Delays add up; the first other effect that fires decides.
    pub rules: Vec<Rule>,
    /// Reads of VMs (get and list) see each change so many milliseconds late.
    pub read_lag_ms: u64,
    /// How long things take, instead of the cloud's own settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Room per zone and type; what is not named has no limit.
    pub capacity: Vec<Capacity>,
    /// How far the `Date` header is off.
    pub clock_skew_ms: i64,
    /// The share of VMs that die instead of booting, from 0 to 1.
    pub boot_failure_probability: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The name under which `/stats` counts how often it fired; by default its place in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, rename = "match")]
    pub matches: Match,
    /// The effect on the calls.
    pub effect: Effect,
}

/// The calls for which a rule applies. An absent field does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Match {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path; `*` matches one segment, `**` at the end any rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The account of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Only the call with this number, from 1, of those that match the above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Each matching call with this probability, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// At most so many times; then the rule is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The effect of a rule on a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Effect {
    /// Answers with an error.
    Error {
        /// The code in the body.
        code: Code,
        /// The HTTP status; by default the code's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Seconds for the `Retry-After` header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
        /// The text in the body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether the work is done all the same.
        #[serde(default)]
        after_commit: bool,
    },
    /// Holds the connection, then closes it without an answer.
    Timeout {
        /// Whether the work is done; by default it is.
        #[serde(default = "yes")]
        after_commit: bool,
        /// How long the connection is held.
        #[serde(default = "half_a_minute_ms")]
        hold_ms: u64,
    },
    Delay {
        ms: u64,
        /// And by up to so much more.
        #[serde(default)]
        jitter_ms: u64,
    },
    /// Answers 429 when calls come faster than a token bucket fills.
    Throttle {
        rate: f64,
        burst: f64,
        /// Seconds for the `Retry-After` header; by default until the bucket has a token again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
    },
    /// Does the work, but breaks the connection within the body.
    Truncate {
        /// Bytes of the body that arrive; by default half of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<usize>,
    },
    /// Does the work, but answers 200 with bytes that are no JSON.
    Garbage,
    /// Answers with the HTML error page of a proxy.
    Html {
        status: u16,
        /// Whether the work is done all the same.
        #[serde(default)]
        after_commit: bool,
    },
}

fn yes() -> bool {
    true
}

fn half_a_minute_ms() -> u64 {
    30_000
}

/// Room in a zone for a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Capacity {
    /// The zone, or `*` for all together.
    #[serde(default = "any")]
    pub zone: String,
    /// The type, or `*` for all together.
    #[serde(default = "any", rename = "type")]
    pub kind: String,
    /// The most VMs that fit.
    pub limit: u64,
}

fn any() -> String {
    "*".to_owned()
}

impl Capacity {
    /// Whether VMs of this type in this zone take of this room.
    pub(crate) fn covers(&self, zone: &str, kind: &str) -> bool {
        (self.zone == "*" || self.zone == zone) && (self.kind == "*" || self.kind == kind)
    }
}

impl Faults {
    /// Returns the problem with these faults, if there is one.
    pub(crate) fn flaw(&self) -> Option<String> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        if !share(self.boot_failure_probability) {
            return Some("bootFailureProbability is not between 0 and 1".to_owned());
        }
        self.rules.iter().enumerate().find_map(|(place, rule)| {
            let flaw = match &rule.effect {
                Effect::Throttle { rate, burst, .. } if *rate <= 0.0 || *burst < 1.0 => {
                    "needs a positive rate and a burst of at least 1"
                }
                Effect::Error { status: Some(status), .. } | Effect::Html { status, .. }
                    if !(200..=599).contains(status) =>
                {
                    "has an odd HTTP status"
                }
                _ if rule.matches.probability.is_some_and(|probability| !share(probability)) => {
                    "has a probability that is not between 0 and 1"
                }
                _ if rule.matches.method.as_deref().is_some_and(|m| crate::Method::parse(m).is_none()) => {
                    "has an unknown method"
                }
                _ => return None,
            };
            Some(format!("rule {place} {flaw}"))
        })
    }
}
