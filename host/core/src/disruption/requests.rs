//! What the owner of a deployment wishes about taking Machines away, each wish an annotation of the deployment: how many at a time,
//! how old at most, whether a replacement comes first.
//!
//! The deployment decides for all: it notes on itself who is taken away, before it happens. A set that replaces a failed Machine
//! reads there whether it may. So one list, written by one writer, holds what rollouts, replacements and expiry share.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::disruption::budget::{Budget, DisruptionHistory};
use crate::value::duration;
use crate::value::id::Name;

/// How long a replacement is awaited where the annotation says only that there is to be one: as long as a Machine may take to
/// join, and a drain of the old one after it.
const DEFAULT_PATIENCE: SignedDuration = SignedDuration::from_mins(30);

/// The shortest age that is believed to be meant: below, a deployment would do nothing but replace.
const SHORTEST_AGE: SignedDuration = SignedDuration::from_hours(1);

/// Under which names things stand on a deployment. The core knows none of its own.
#[derive(Debug)]
pub struct Annotations {
    /// How many Machines may be taken away within a time, such as `3/1h`.
    pub budget: &'static str,
    /// How old a Machine may become, such as `168h`.
    pub max_age: &'static str,
    /// A failed Machine stays until its replacement is there, for so long at most: `true`, or a time such as `30m`.
    pub replace_first: &'static str,
    /// Failed Machines are replaced in maintenance windows only: `true`.
    pub remediates_in_windows: &'static str,
    /// Who may go or has gone, and since when. Written by the host.
    pub taken: &'static str,
    /// Whose replacement is awaited, and since when. Written by the host.
    pub replacing: &'static str,
}

impl Annotations {
    /// They are about one deployment, so that they do not travel to its sets.
    pub fn all(&self) -> [&'static str; 6] {
        [
            self.budget,
            self.max_age,
            self.replace_first,
            self.remediates_in_windows,
            self.taken,
            self.replacing,
        ]
    }
}

/// The wishes, understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisruptionRequests {
    /// How many may be taken away within a time.
    pub budget: Option<Budget>,
    /// How old a Machine may become.
    pub max_age: Option<SignedDuration>,
    /// How long a replacement is awaited before a failed Machine goes.
    pub replace_first: Option<SignedDuration>,
    /// Failed Machines wait for a window.
    pub remediates_in_windows: bool,
    /// A budget is written that cannot be understood. Whoever writes one wants no rollout without.
    pub has_unknown_budget: bool,
    /// What cannot be understood, and what counts instead.
    pub problems: Vec<String>,
}

impl DisruptionRequests {
    /// Reads the annotations of a deployment.
    pub fn read(annotations: &BTreeMap<String, String>, names: &Annotations) -> Self {
        let mut wishes = Self::default();
        let text = |name: &str| annotations.get(name).map(String::as_str);
        if let Some(budget) = text(names.budget) {
            match Budget::parse(budget) {
                Ok(budget) => wishes.budget = Some(budget),
                Err(error) => {
                    wishes.problem(names.budget, &told(&error), "rollouts and expiry are held until then");
                    wishes.has_unknown_budget = true;
                }
            }
        }
        if let Some(age) = text(names.max_age) {
            match duration::parse(age) {
                Ok(age) if age >= SHORTEST_AGE => wishes.max_age = Some(age),
                Ok(_) => wishes.problem(names.max_age, "it is below 1h", "it counts as not set"),
                Err(error) => wishes.problem(names.max_age, &error.to_string(), "it counts as not set"),
            }
        }
        match text(names.replace_first) {
            None | Some("false") => {}
            Some("true") => wishes.replace_first = Some(DEFAULT_PATIENCE),
            Some(patience) => match duration::parse(patience) {
                Ok(patience) if patience > SignedDuration::ZERO => wishes.replace_first = Some(patience),
                Ok(_) | Err(_) => {
                    let why = "it is neither true, false nor a time such as 30m";
                    wishes.problem(names.replace_first, why, "it counts as not set");
                }
            },
        }
        match text(names.remediates_in_windows) {
            None | Some("false") => {}
            Some("true") => wishes.remediates_in_windows = true,
            Some(_) => {
                let why = "it is neither true nor false";
                wishes.problem(names.remediates_in_windows, why, "it counts as not set");
            }
        }
        wishes
    }

    fn problem(&mut self, annotation: &str, why: &str, instead: &str) {
        self.problems.push(format!("annotation {annotation}: {why}: mend it or remove it; {instead}"));
    }

    /// A set asks before it takes a failed Machine away, so that the deployment notes whom it lets go.
    pub fn needs_permits(&self) -> bool {
        self.budget.is_some() || self.replace_first.is_some() || self.remediates_in_windows
    }
}

/// With its cause.
fn told(error: &crate::disruption::budget::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Which failed Machines a set may take away, beside those that are too many. Those whose Node is not there may always go, since
/// nobody notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Permits {
    /// All.
    #[default]
    All,
    /// These.
    Only(BTreeSet<Name>),
}

impl Permits {
    /// What the annotations of the set's deployment say.
    pub fn read(annotations: &BTreeMap<String, String>, names: &Annotations) -> Self {
        if !DisruptionRequests::read(annotations, names).needs_permits() {
            return Self::All;
        }
        let list = |name: &str| DisruptionHistory::parse(annotations.get(name).map_or("", String::as_str));
        let awaiting = list(names.replacing);
        let taken = list(names.taken);
        // Who is being replaced goes when the deployment wants one Machine less, and not before.
        Self::Only(taken.names().filter(|name| awaiting.get(name).is_none()).cloned().collect())
    }

    /// Whether this one may go.
    pub fn permits(&self, name: &Name) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }
}

#[cfg(test)]
pub(crate) static NAMES: Annotations = Annotations {
    budget: "budget",
    max_age: "max-age",
    replace_first: "replace-first",
    remediates_in_windows: "remediate-in-windows",
    taken: "taken",
    replacing: "replacing",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn wishes(pairs: &[(&str, &str)]) -> DisruptionRequests {
        DisruptionRequests::read(&annotations(pairs), &NAMES)
    }

    #[test]
    fn nothing_is_wished_for_by_default() {
        assert_eq!(wishes(&[]), DisruptionRequests::default());
        assert_eq!(
            wishes(&[("replace-first", "false"), ("remediate-in-windows", "false")]),
            DisruptionRequests::default()
        );
        assert_eq!(
            Permits::read(&annotations(&[("taken", "m0~1970-01-01T00:00:00Z")]), &NAMES),
            Permits::All
        );
    }

    #[test]
    fn what_is_wished_for_is_read() {
        let all = wishes(&[
            ("budget", "3/1h"),
            ("max-age", "168h"),
            ("replace-first", "true"),
            ("remediate-in-windows", "true"),
        ]);
        assert_eq!(all.budget, Budget::parse("3/1h").ok());
        assert_eq!(all.max_age, Some(SignedDuration::from_hours(168)));
        assert_eq!(all.replace_first, Some(SignedDuration::from_mins(30)));
        assert!(all.remediates_in_windows && all.problems.is_empty());
        assert_eq!(wishes(&[("replace-first", "5m")]).replace_first, Some(SignedDuration::from_mins(5)));
    }

    #[test]
    fn what_cannot_be_understood_is_off_and_says_what_to_mend() {
        for (name, value, problem) in [
            (
                "budget",
                "many",
                "annotation budget: \"many\" is not a number of Machines and a time, such as 3/1h: mend it or remove it; rollouts and expiry are held until then",
            ),
            (
                "budget",
                "3/week",
                "annotation budget: the time of a disruption budget cannot be read or is not above 0: duration \"week\" has no number before \"week\": mend it or remove it; rollouts and expiry are held until then",
            ),
            (
                "max-age",
                "7d",
                "annotation max-age: duration \"7d\" has the unknown unit \"d\" (known are ns, us, ms, s, m and h): mend it or remove it; it counts as not set",
            ),
            (
                "max-age",
                "5m",
                "annotation max-age: it is below 1h: mend it or remove it; it counts as not set",
            ),
            (
                "replace-first",
                "yes",
                "annotation replace-first: it is neither true, false nor a time such as 30m: mend it or remove it; it counts as not set",
            ),
            (
                "replace-first",
                "-5m",
                "annotation replace-first: it is neither true, false nor a time such as 30m: mend it or remove it; it counts as not set",
            ),
            (
                "remediate-in-windows",
                "1",
                "annotation remediate-in-windows: it is neither true nor false: mend it or remove it; it counts as not set",
            ),
        ] {
            let found = wishes(&[(name, value)]);
            assert_eq!(found.problems, [problem]);
            assert_eq!(found.has_unknown_budget, name == "budget");
            assert_eq!((found.budget, found.max_age, found.replace_first), (None, None, None));
            assert!(!found.remediates_in_windows);
        }
    }

    #[test]
    fn a_set_may_take_away_whom_its_deployment_lets_go_and_does_not_replace_itself() {
        let list = "m0~1970-01-01T00:00:00Z,m1~1970-01-01T00:00:00Z";
        let replacing = "m1~1970-01-01T00:00:00Z,m2~1970-01-01T00:00:00Z";
        for wish in [("budget", "1/1h"), ("replace-first", "true"), ("remediate-in-windows", "true")] {
            let permits =
                Permits::read(&annotations(&[wish, ("taken", list), ("replacing", replacing)]), &NAMES);
            assert_eq!(permits, Permits::Only(["m0".into()].into()));
            assert!(permits.permits(&"m0".into()) && !permits.permits(&"m1".into()));
        }
        assert!(Permits::All.permits(&"m9".into()));
    }
}
