//! The differences of a shadow's calls.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Figures;
use super::judge::{Cause, TrialEnd};
use crate::recording::{Change, Difference};
use crate::sources::release::Release;
use crate::sources::status::CallCounts;

/// How a call of a shadow compares with the one that counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shadowed {
    Same,
    /// It would have done otherwise.
    Differs(Vec<Difference>),
    /// It sent a read that had no answer, so that its later actions prove little.
    Unread(Vec<Difference>),
    /// It broke: a trap, a limit.
    Broke(String),
    /// There was no room, or nothing to compare with.
    LeftOut,
}

impl Shadowed {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs(_) => "differs",
            Self::Unread(_) => "unread",
            Self::Broke(_) => "broken",
            Self::LeftOut => "left out",
        }
    }
}

/// All calls of a shadow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShadowReport {
    pub functions: BTreeMap<&'static str, CallCounts>,
    /// One example of each kind of difference, the latest. Kinds beyond [`MOST_KINDS`] are counted only.
    pub examples: Vec<Example>,
}

/// A kind of difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub function: &'static str,
    /// About which Machine or class.
    pub subject: String,
    /// The difference, without a secret: both sides have passed the vault.
    pub text: String,
    /// How often it was seen.
    pub seen: u64,
    kind: String,
}

/// A number that people still read.
pub(crate) const MOST_KINDS: usize = 20;

const MOST_CHARS: usize = 1_500;

impl ShadowReport {
    pub fn totals(&self) -> CallCounts {
        self.functions.values().fold(CallCounts::default(), |all, of| CallCounts {
            same: all.same + of.same,
            differs: all.differs + of.differs,
            unread: all.unread + of.unread,
            broken: all.broken + of.broken,
            left_out: all.left_out + of.left_out,
        })
    }

    pub(super) fn note(&mut self, function: &'static str, subject: &str, shadowed: &Shadowed) {
        let counts = self.functions.entry(function).or_default();
        let (kind, text) = match shadowed {
            Shadowed::Same => {
                counts.same += 1;
                return;
            }
            Shadowed::LeftOut => {
                counts.left_out += 1;
                return;
            }
            Shadowed::Differs(differences) => {
                counts.differs += 1;
                summary_of(differences)
            }
            Shadowed::Unread(differences) => {
                counts.unread += 1;
                summary_of(differences)
            }
            Shadowed::Broke(detail) => {
                counts.broken += 1;
                ("broken".to_owned(), format!("it broke: {detail}"))
            }
        };
        let text = cut(&text);
        let has_room = self.examples.len() < MOST_KINDS;
        let known = self.examples.iter_mut().find(|known| known.function == function && known.kind == kind);
        match known {
            Some(known) => {
                known.seen += 1;
                known.text = text;
                subject.clone_into(&mut known.subject);
            }
            None if has_room => {
                let subject = subject.to_owned();
                self.examples.push(Example { function, subject, text, seen: 1, kind });
            }
            None => {}
        }
    }

    /// The part of the report that is worth a new message: a new kind of difference, or twice as many calls as the last
    /// time.
    pub(crate) fn summary(&self) -> (usize, u64, u64) {
        let totals = self.totals();
        let calls = totals.same + totals.differs + totals.unread;
        (self.examples.len(), calls.next_power_of_two(), totals.broken)
    }
}

/// Decides about a shadow at `now`.
pub(super) fn judge(
    report: &ShadowReport,
    terms: &Release,
    began: Timestamp,
    now: Timestamp,
) -> Option<TrialEnd> {
    let totals = report.totals();
    if totals.broken >= terms.broken_calls {
        return Some(TrialEnd::Withdraw(Cause::Broken { calls: totals.broken }));
    }
    let compared = totals.same + totals.differs;
    let bound = terms.differing.unwrap_or_default();
    let differs_more = totals.differs as f64 > compared as f64 * bound / 100.0;
    if terms.differing.is_some() && compared >= terms.minimum_calls && differs_more {
        return Some(TrialEnd::Withdraw(Cause::Differs { calls: totals.differs, compared }));
    }
    let is_long_enough = now.duration_since(began) >= terms.promote_time;
    let is_good = totals.broken == 0 && !differs_more && compared >= terms.promote_calls;
    (terms.promotes_itself && is_long_enough && is_good)
        .then(|| TrialEnd::Promote(Figures { calls: compared, ..Figures::default() }))
}

/// The kind of an example, and its text.
fn summary_of(differences: &[Difference]) -> (String, String) {
    let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
    (differences.iter().map(kind).collect(), texts.join("\n"))
}

/// Returns the kind of a difference, without the parts that vary between Machines.
fn kind(difference: &Difference) -> String {
    let method = |title: &str| title.split_whitespace().next().unwrap_or_default().to_owned();
    let places =
        |changes: &[Change]| changes.iter().map(|change| change.place.as_str()).collect::<Vec<_>>().join(",");
    match difference {
        Difference::Otherwise { request, changes } => {
            format!("otherwise {} {};", method(request), places(changes))
        }
        Difference::Missing { request } => format!("missing {};", method(request)),
        Difference::Additional { request } => format!("additional {};", method(request)),
        Difference::Unread { request } => format!("unread {};", method(request)),
        Difference::Order { .. } => "order;".to_owned(),
        Difference::Answer { changes } => format!("answer {};", places(changes)),
        Difference::Log { .. } => "log;".to_owned(),
    }
}

fn cut(text: &str) -> String {
    if text.chars().nth(MOST_CHARS).is_none() {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(MOST_CHARS).collect();
    format!("{beginning} …")
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("in range") + SignedDuration::from_mins(minute)
    }

    fn answer(place: &str, after: &str) -> Shadowed {
        let change =
            Change { place: place.to_owned(), before: Some("a".to_owned()), after: Some(after.to_owned()) };
        Shadowed::Differs(vec![Difference::Answer { changes: vec![change] }])
    }

    fn seen(same: u64, differs: u64, broken: u64) -> ShadowReport {
        let mut report = ShadowReport::default();
        let calls = [
            (same, Shadowed::Same),
            (differs, answer("answer.node", "b")),
            (broken, Shadowed::Broke("trap".to_owned())),
        ];
        for (count, shadowed) in calls {
            (0..count).for_each(|_| report.note("create", "ns/m", &shadowed));
        }
        report
    }

    fn decision(report: &ShadowReport, terms: &str, minute: i64) -> String {
        match judge(report, &Release::parse(terms).expect("terms"), at(0), at(minute)) {
            None => "go on".to_owned(),
            Some(TrialEnd::Promote(figures)) => format!("promote after {}", figures.calls),
            Some(TrialEnd::Withdraw(cause)) => cause.to_string(),
        }
    }

    #[test]
    fn breakages_withdraw_and_differences_only_where_a_bound_is_set() {
        assert_eq!(decision(&seen(100, 100, 2), "mode: shadow", 60), "go on");
        assert_eq!(decision(&seen(0, 0, 3), "mode: shadow", 0), "3 of its calls broke");
        let bounded = "{mode: shadow, withdraw: {differing: 10%}}";
        assert_eq!(decision(&seen(15, 4, 0), bounded, 60), "go on", "too few to tell");
        assert_eq!(decision(&seen(90, 10, 0), bounded, 60), "go on");
        let expected = "11 of 100 calls would have been other calls than those of the version that serves";
        assert_eq!(decision(&seen(89, 11, 0), bounded, 0), expected);
    }

    #[test]
    fn it_is_promoted_where_that_is_said_and_nothing_differs_beyond_the_bound() {
        assert_eq!(decision(&seen(10_000, 0, 0), "mode: shadow", 10_000), "go on");
        let asked = "{mode: shadow, promote_after: {calls: 50, minutes: 10}}";
        assert_eq!(decision(&seen(50, 0, 0), asked, 9), "go on");
        assert_eq!(decision(&seen(50, 0, 0), asked, 10), "promote after 50");
        assert_eq!(decision(&seen(49, 1, 0), asked, 10), "go on", "a person judges differences");
        assert_eq!(decision(&seen(50, 0, 1), asked, 10), "go on");
        let tolerant = "{mode: shadow, promote_after: {calls: 50, minutes: 10}, withdraw: {differing: 2%}}";
        assert_eq!(decision(&seen(49, 1, 0), tolerant, 10), "promote after 50");
    }

    #[test]
    fn one_example_of_each_kind_is_kept_and_few_kinds() {
        let mut report = seen(3, 2, 0);
        report.note("create", "ns/other", &answer("answer.node", "c"));
        report.note("delete", "ns/other", &answer("answer.node", "c"));
        assert_eq!(report.examples.len(), 2);
        let first = &report.examples[0];
        assert_eq!((first.function, first.subject.as_str(), first.seen), ("create", "ns/other", 3));
        assert!(first.text.contains("answer.node") && first.text.contains('c'), "{}", first.text);
        for place in 0..100 {
            report.note("create", "ns/m", &answer(&format!("answer[{place}]"), &"x".repeat(10_000)));
        }
        assert_eq!(report.examples.len(), MOST_KINDS);
        assert!(report.examples.iter().all(|example| example.text.chars().count() <= MOST_CHARS + 2));
        assert_eq!(report.totals(), CallCounts { same: 3, differs: 104, ..CallCounts::default() });
    }

    #[test]
    fn news_are_new_kinds_and_twice_the_calls() {
        let summaries: std::collections::BTreeSet<_> =
            (1..=1_000).map(|calls| seen(calls, 0, 0).summary()).collect();
        assert_eq!(summaries.len(), 11);
        assert_ne!(seen(5, 0, 0).summary(), seen(4, 1, 0).summary());
    }
}
