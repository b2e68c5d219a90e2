//! Disruption requests of a deployment's owner, each an annotation of the deployment: how many Machines at a time, how
//! old at most, whether a replacement comes first.
//!
//! The deployment decides for all: it notes on itself which Machines are removed, before it happens. A set that
//! replaces a failed Machine reads there whether it may. So rollouts, replacements and expiry share one list with one
//! writer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::disruption::budget::{Budget, DisruptionHistory};
use crate::value::duration;
use crate::value::id::Name;

/// How long a replacement is awaited if the annotation only says `true`: as long as a Machine may take to join, and a
/// drain of the old one after it.
const DEFAULT_WAIT: SignedDuration = SignedDuration::from_mins(30);

/// The shortest valid age: below, a deployment would do nothing but replace.
const SHORTEST_AGE: SignedDuration = SignedDuration::from_hours(1);

/// The names of a deployment's annotations. The core defines none.
#[derive(Debug)]
pub struct Annotations {
    /// How many Machines may be removed within a time, such as `3/1h`.
    pub budget: &'static str,
    /// How old a Machine may become, such as `168h`.
    pub max_age: &'static str,
    /// A failed Machine stays until its replacement is available, at most this long: `true`, or a time such as `30m`.
    pub replace_first: &'static str,
    /// Failed Machines are replaced in maintenance windows only: `true`.
    pub remediates_in_windows: &'static str,
    /// The Machines that may be or were removed, and since when. Written by the host.
    pub taken: &'static str,
    /// The Machines whose replacement is awaited, and since when. Written by the host.
    pub replacing: &'static str,
}

impl Annotations {
    /// Returns all names. They are about one deployment, so that they are not copied to its sets.
    pub fn all(&self) -> [&'static str; 6] {
        [
            self.budget, self.max_age, self.replace_first, self.remediates_in_windows, self.taken,
            self.replacing,
        ]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisruptionRequests {
    /// How many may be removed within a time.
    pub budget: Option<Budget>,
    /// How old a Machine may become.
    pub max_age: Option<SignedDuration>,
    /// How long a replacement is awaited before a failed Machine is deleted.
    pub replace_first: Option<SignedDuration>,
    /// Failed Machines wait for a window.
    pub remediates_in_windows: bool,
    /// The budget is invalid. An owner who writes one wants no rollout without it.
    pub has_unknown_budget: bool,
    /// Invalid requests, and the values that count instead.
    pub problems: Vec<String>,
}

impl DisruptionRequests {
    /// Reads the annotations of a deployment.
    pub fn read(annotations: &BTreeMap<String, String>, names: &Annotations) -> Self {
        let mut requests = Self::default();
        let text = |name: &str| annotations.get(name).map(String::as_str);
        if let Some(budget) = text(names.budget) {
            match Budget::parse(budget) {
                Ok(budget) => requests.budget = Some(budget),
                Err(error) => {
                    requests.problem(
                        names.budget,
                        &reported(&error),
                        "rollouts and expiry are held until then",
                    );
                    requests.has_unknown_budget = true;
                }
            }
        }
        if let Some(age) = text(names.max_age) {
            match duration::parse(age) {
                Ok(age) if age >= SHORTEST_AGE => requests.max_age = Some(age),
                Ok(_) => requests.problem(names.max_age, "it is below 1h", "it counts as not set"),
                Err(error) => requests.problem(names.max_age, &error.to_string(), "it counts as not set"),
            }
        }
        match text(names.replace_first) {
            None | Some("false") => {}
            Some("true") => requests.replace_first = Some(DEFAULT_WAIT),
            Some(wait) => match duration::parse(wait) {
                Ok(wait) if wait > SignedDuration::ZERO => requests.replace_first = Some(wait),
                Ok(_) | Err(_) => {
                    let why = "it is neither true, false nor a time such as 30m";
                    requests.problem(names.replace_first, why, "it counts as not set");
                }
            },
        }
        match text(names.remediates_in_windows) {
            None | Some("false") => {}
            Some("true") => requests.remediates_in_windows = true,
            Some(_) => {
                let why = "it is neither true nor false";
                requests.problem(names.remediates_in_windows, why, "it counts as not set");
            }
        }
        requests
    }

    fn problem(&mut self, annotation: &str, why: &str, instead: &str) {
        self.problems.push(format!("annotation {annotation}: {why}: fix or remove it; {instead}"));
    }

    /// Returns whether a set needs a permit to delete a failed Machine, so that the deployment notes it.
    pub fn needs_permits(&self) -> bool {
        self.budget.is_some() || self.replace_first.is_some() || self.remediates_in_windows
    }
}

fn reported(error: &crate::disruption::budget::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The failed Machines that a set may delete, beside the surplus. Those without a Node may always be deleted, since no
/// pods run on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Permits {
    #[default]
    All,
    Only(BTreeSet<Name>),
}

impl Permits {
    /// Reads the annotations of the set's deployment.
    pub fn read(annotations: &BTreeMap<String, String>, names: &Annotations) -> Self {
        if !DisruptionRequests::read(annotations, names).needs_permits() {
            return Self::All;
        }
        let list = |name: &str| DisruptionHistory::parse(annotations.get(name).map_or("", String::as_str));
        let awaiting = list(names.replacing);
        let taken = list(names.taken);
        // A Machine that is being replaced is deleted when the deployment wants one Machine less, and not before.
        Self::Only(taken.names().filter(|name| awaiting.get(name).is_none()).cloned().collect())
    }

    /// Returns whether this Machine may be deleted.
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

    fn requests(pairs: &[(&str, &str)]) -> DisruptionRequests {
        DisruptionRequests::read(&annotations(pairs), &NAMES)
    }

    #[test]
    fn nothing_is_wished_for_by_default() {
        assert_eq!(requests(&[]), DisruptionRequests::default());
        assert_eq!(
            requests(&[("replace-first", "false"), ("remediate-in-windows", "false")]),
            DisruptionRequests::default()
        );
        assert_eq!(
            Permits::read(&annotations(&[("taken", "m0~1970-01-01T00:00:00Z")]), &NAMES),
            Permits::All
        );
    }

    #[test]
    fn what_is_wished_for_is_read() {
        let all = requests(&[
            ("budget", "3/1h"),
            ("max-age", "168h"),
            ("replace-first", "true"),
            ("remediate-in-windows", "true"),
        ]);
        assert_eq!(all.budget, Budget::parse("3/1h").ok());
        assert_eq!(all.max_age, Some(SignedDuration::from_hours(168)));
        assert_eq!(all.replace_first, Some(SignedDuration::from_mins(30)));
        assert!(all.remediates_in_windows && all.problems.is_empty());
        assert_eq!(requests(&[("replace-first", "5m")]).replace_first, Some(SignedDuration::from_mins(5)));
    }

    #[test]
    fn what_cannot_be_understood_is_off_and_says_what_to_fix() {
        for (name, value, problem) in [
            (
                "budget",
                "many",
                "annotation budget: \"many\" is not a number of Machines and a time, such as 3/1h: fix or remove it; rollouts and expiry are held until then",
            ),
            (
                "budget",
                "3/week",
                "annotation budget: the time of a disruption budget cannot be read or is not above 0: duration \"week\" has no number before \"week\": fix or remove it; rollouts and expiry are held until then",
            ),
            (
                "max-age",
                "7d",
                "annotation max-age: duration \"7d\" has the unknown unit \"d\" (known are ns, us, ms, s, m and h): fix or remove it; it counts as not set",
            ),
            ("max-age", "5m", "annotation max-age: it is below 1h: fix or remove it; it counts as not set"),
            (
                "replace-first",
                "yes",
                "annotation replace-first: it is neither true, false nor a time such as 30m: fix or remove it; it counts as not set",
            ),
            (
                "replace-first",
                "-5m",
                "annotation replace-first: it is neither true, false nor a time such as 30m: fix or remove it; it counts as not set",
            ),
            (
                "remediate-in-windows",
                "1",
                "annotation remediate-in-windows: it is neither true nor false: fix or remove it; it counts as not set",
            ),
        ] {
            let found = requests(&[(name, value)]);
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
