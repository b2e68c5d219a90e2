//! The difference between two recordings of the same question: the component's requests to the cloud, its log lines,
//! its answer. Its inputs and the time that it took are not compared.
//!
//! | module | what it does |
//! | --- | --- |
//! | `change` | compares two values or texts, place by place |

pub(crate) mod change;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::matching::{MatchLevel, Named};
use super::model::{End, ExchangeOutcome, LogEntry, Recording};
use crate::output_limits::fields_text;
use crate::recording::matching::PlaceholderNames;
use crate::recording::model::WireError;
use change::Change;

/// One difference, from the first recording to the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Difference {
    /// A request that differs.
    Otherwise {
        request: String,
        changes: Vec<Change>,
    },
    Missing {
        request: String,
    },
    Additional {
        request: String,
    },
    /// A read of a shadow that neither the recording nor the cloud has answered: its grants do not list it.
    Unread {
        request: String,
    },
    /// The same requests in another order.
    Order {
        before: Vec<String>,
        after: Vec<String>,
    },
    /// Another answer, or another end.
    Answer {
        changes: Vec<Change>,
    },
    /// Other lines in the log.
    Log {
        /// Lines that are not there any more.
        missing: Vec<String>,
        /// Lines that were not there.
        additional: Vec<String>,
    },
}

/// Returns all differences: requests in their order, then the answer, then the log.
pub fn difference(before: &Recording, after: &Recording) -> Vec<Difference> {
    let unread: Vec<bool> = after.http.iter().map(|exchange| is_unread(&exchange.outcome)).collect();
    let mut differences = requests(&named(before), &named(after), &unread);
    let changes = ends(&before.end, &after.end);
    if !changes.is_empty() {
        differences.push(Difference::Answer { changes });
    }
    differences.extend(logs(&before.log, &after.log));
    differences
}

fn named(recording: &Recording) -> Vec<Named> {
    let names = PlaceholderNames::of(&recording.secrets.placeholders);
    recording.http.iter().map(|exchange| Named::of(exchange, &names)).collect()
}

/// How the error of a read that a shadow may not make begins.
pub(super) const UNREAD: &str = "a shadow reads what its recording or shadow-reads of its grants have";

fn is_unread(outcome: &ExchangeOutcome) -> bool {
    matches!(outcome, ExchangeOutcome::Failed(WireError::Internal(Some(detail))) if detail.starts_with(UNREAD))
}

fn requests(before: &[Named], after: &[Named], unread: &[bool]) -> Vec<Difference> {
    let pairs = pairs(before, after);
    let mut differences = Vec::new();
    for (index, request) in before.iter().enumerate() {
        match pairs.iter().find(|(first, ..)| *first == index) {
            Some((_, _, MatchLevel::Same)) => {}
            Some((_, second, MatchLevel::Url | MatchLevel::Path)) => {
                let changes = after.get(*second).map(|other| changes(request, other)).unwrap_or_default();
                differences.push(Difference::Otherwise { request: request.title(), changes });
            }
            None => differences.push(Difference::Missing { request: request.title() }),
        }
    }
    let is_new = |index: &usize| !pairs.iter().any(|(_, second, _)| second == index);
    let additional = after.iter().enumerate().filter(|(index, _)| is_new(index));
    differences.extend(additional.map(|(index, request)| match unread.get(index) {
        Some(true) => Difference::Unread { request: request.title() },
        Some(false) | None => Difference::Additional { request: request.title() },
    }));
    if !pairs.is_sorted_by_key(|(_, second, _)| *second) {
        let titles = |requests: &[Named]| requests.iter().map(Named::title).collect();
        differences.push(Difference::Order { before: titles(before), after: titles(after) });
    }
    differences
}

/// Which request became which, in the order of the first: the most alike find each other first, as in a replay.
fn pairs(before: &[Named], after: &[Named]) -> Vec<(usize, usize, MatchLevel)> {
    let mut pairs: Vec<(usize, usize, MatchLevel)> = Vec::new();
    for level in MatchLevel::ALL {
        for (first, request) in before.iter().enumerate() {
            if pairs.iter().any(|(known, ..)| *known == first) {
                continue;
            }
            let is_free = |second: usize| !pairs.iter().any(|(_, known, _)| *known == second);
            let found = after
                .iter()
                .enumerate()
                .find(|(second, other)| is_free(*second) && request.is_like(other, level));
            if let Some((second, _)) = found {
                pairs.push((first, second, level));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn changes(before: &Named, after: &Named) -> Vec<Change> {
    let mut changes = Vec::new();
    if before.url != after.url {
        changes.push(Change::of("url", Some(before.url.clone()), Some(after.url.clone())));
    }
    changes.extend(change::of_pairs("header", &before.headers, &after.headers));
    changes.extend(change::of_bodies(before.body.as_ref(), after.body.as_ref()));
    changes
}

/// Nobody knows how a call would have ended that its caller did not wait for.
fn ends(before: &End, after: &End) -> Vec<Change> {
    match (before, after) {
        (End::Dropped, _) => Vec::new(),
        (before, after) if before == after => Vec::new(),
        (End::Answered { answer: before, breaks: broke }, End::Answered { answer: after, breaks }) => {
            let mut changes = change::of_values("answer", before, after);
            if broke != breaks {
                changes.push(Change::of("contract broken", broke.clone(), breaks.clone()));
            }
            changes
        }
        (before, after) => vec![Change::of("end", Some(end(before)), Some(end(after)))],
    }
}

fn end(end: &End) -> String {
    match end {
        End::Answered { answer: Value::Object(answer), .. } if answer.contains_key("Err") => {
            format!("answered with the error {}", answer.get("Err").unwrap_or(&Value::Null))
        }
        End::Answered { answer, .. } => format!("answered {answer}"),
        End::Trapped { detail } => format!("trapped: {detail}"),
        End::Limit { limit, detail } => format!("hit its {limit} limit ({detail})"),
        End::Refused { detail } => format!("refused: {detail}"),
        End::Dropped => "dropped by its caller".to_owned(),
    }
}

fn logs(before: &[LogEntry], after: &[LogEntry]) -> Option<Difference> {
    if before == after {
        return None;
    }
    let texts = |lines: &[LogEntry]| -> Vec<String> { lines.iter().map(line).collect() };
    let (before, after) = (texts(before), texts(after));
    let without = |lines: &[String], others: &[String]| {
        let mut others = others.to_vec();
        let mut new = lines.to_vec();
        new.retain(|line| match others.iter().position(|other| other == line) {
            Some(index) => {
                others.swap_remove(index);
                false
            }
            None => true,
        });
        new
    };
    let (missing, additional) = (without(&before, &after), without(&after, &before));
    if missing.is_empty() && additional.is_empty() {
        // The same lines in another order.
        return Some(Difference::Log { missing: before, additional: after });
    }
    Some(Difference::Log { missing, additional })
}

fn line(line: &LogEntry) -> String {
    let fields = fields_text(&line.fields);
    let text = format!("{} {} {fields}", line.level, line.message);
    text.trim_end().to_owned()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, sign: &str, lines: &[String]| {
            lines.iter().try_for_each(|line| write!(f, "\n  {sign} {line}"))
        };
        let changed = |f: &mut fmt::Formatter<'_>, changes: &[Change]| {
            changes.iter().try_for_each(|change| write!(f, "\n  {change}"))
        };
        match self {
            Self::Otherwise { request, changes } => {
                write!(f, "request made otherwise: {request}")?;
                changed(f, changes)
            }
            Self::Missing { request } => write!(f, "request missing: {request}"),
            Self::Additional { request } => write!(f, "request additional: {request}"),
            Self::Unread { request } => {
                write!(f, "request not answered, since shadow-reads of its grants do not list it: {request}")
            }
            Self::Order { before, after } => {
                write!(f, "requests in another order:")?;
                list(f, "-", before)?;
                list(f, "+", after)
            }
            Self::Answer { changes } => {
                write!(f, "answer differs:")?;
                changed(f, changes)
            }
            Self::Log { missing, additional } => {
                write!(f, "log differs:")?;
                list(f, "-", missing)?;
                list(f, "+", additional)
            }
        }
    }
}
