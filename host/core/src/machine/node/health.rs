//! Is a Node healthy, by its conditions?

use std::fmt;

use jiff::Timestamp;

use crate::health_policy::{Action, Health};
pub use crate::value::condition::ConditionStatus;

/// The condition that a kubelet keeps for "this Node takes pods".
pub const READY: &str = "Ready";

/// The condition that says that a Node cannot write to its disk.
pub const READ_ONLY: &str = "ReadonlyFilesystem";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeConditionFact {
    /// Its type, such as `Ready`. Case matters.
    pub kind: String,
    pub status: ConditionStatus,
}

/// Why pods on a Node may not be able to end. Times are those of the last transition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthProblem {
    /// Since when `Ready` is there and not True.
    pub not_ready_since: Option<Timestamp>,
    /// Since when `ReadonlyFilesystem` is there and not False.
    pub read_only_since: Option<Timestamp>,
}

/// A condition that makes a Node unhealthy. Ordered by the condition's type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnhealthyCondition {
    /// The type of the condition.
    pub kind: String,
    /// Its status; `None`: it is missing.
    pub status: Option<ConditionStatus>,
}

impl fmt::Display for UnhealthyCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{} is {status}", self.kind),
            None => write!(f, "{} is missing", self.kind),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeHealth {
    /// `Ready` is True and nothing speaks against it.
    Healthy,
    Unhealthy {
        /// The conditions, each once, sorted: the same conditions always give the same text. Never empty.
        because: Vec<UnhealthyCondition>,
    },
}

impl fmt::Display for NodeHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Healthy => f.write_str("healthy"),
            Self::Unhealthy { because } => {
                let causes: Vec<String> = because.iter().map(UnhealthyCondition::to_string).collect();
                f.write_str(&causes.join(", "))
            }
        }
    }
}

/// The built-in rule always suggests to replace an unhealthy Machine.
impl From<&NodeHealth> for Health {
    fn from(verdict: &NodeHealth) -> Self {
        match verdict {
            NodeHealth::Healthy => Self::Healthy,
            NodeHealth::Unhealthy { .. } => {
                Self::Unhealthy { because: verdict.to_string(), action: Action::Replace }
            }
        }
    }
}

/// Judges a Node by its conditions.
///
/// Healthy: `Ready` is there and True, and each condition whose type is in `must_be_false` is exactly False. A
/// condition of that list that the Node does not have is fine, since many come only with an agent that watches for
/// them. All others, such as `MemoryPressure` when it is not listed, do not count.
///
/// A missing `Ready` is unhealthy: a Node that says nothing of itself has not shown that it works. (In
/// machine-controller-manager it counts as healthy.)
pub fn verdict(conditions: &[NodeConditionFact], must_be_false: &[String]) -> NodeHealth {
    let speaks_against = |condition: &&NodeConditionFact| {
        let is_not_ready = condition.kind == READY && condition.status != ConditionStatus::True;
        is_not_ready
            || (condition.status != ConditionStatus::False && must_be_false.contains(&condition.kind))
    };
    let mut because: Vec<UnhealthyCondition> = conditions
        .iter()
        .filter(speaks_against)
        .map(|condition| UnhealthyCondition { kind: condition.kind.clone(), status: Some(condition.status) })
        .collect();
    if !conditions.iter().any(|condition| condition.kind == READY) {
        because.push(UnhealthyCondition { kind: READY.to_owned(), status: None });
    }
    because.sort();
    because.dedup();
    if because.is_empty() { NodeHealth::Healthy } else { NodeHealth::Unhealthy { because } }
}

/// Reads a list of condition types as the flag and `spec.nodeConditions` have it: separated by commas, blanks around a
/// type and empty entries ignored; sorted, each once.
pub fn parse_condition_list(text: &str) -> Vec<String> {
    let mut kinds: Vec<String> =
        text.split(',').map(str::trim).filter(|kind| !kind.is_empty()).map(str::to_owned).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Conditions as `Ready=True Disk=False`.
    fn check(conditions: &str, expected: &Expect) {
        let must_be_false = parse_condition_list("KernelDeadlock, ReadonlyFilesystem,DiskPressure");
        let fact = |text: &str| {
            let (kind, status) = text.split_once('=').unwrap();
            NodeConditionFact { kind: kind.to_owned(), status: ConditionStatus::parse(status) }
        };
        let facts: Vec<NodeConditionFact> = conditions.split_whitespace().map(fact).collect();
        let judged = verdict(&facts, &must_be_false);
        expected.assert_eq(&judged.to_string());
        let reversed: Vec<NodeConditionFact> = facts.into_iter().rev().collect();
        assert_eq!(verdict(&reversed, &must_be_false), judged);
    }

    #[test]
    fn a_ready_node_without_trouble_is_healthy() {
        check("Ready=True", &expect!["healthy"]);
        check("Ready=True KernelDeadlock=False DiskPressure=False", &expect!["healthy"]);
    }

    #[test]
    fn a_node_that_is_not_exactly_ready_is_unhealthy() {
        check("Ready=False", &expect!["Ready is False"]);
        check("Ready=Unknown", &expect!["Ready is Unknown"]);
        check("Ready=true", &expect!["Ready is Unknown"]);
    }

    #[test]
    fn a_node_without_a_ready_condition_is_unhealthy() {
        check("", &expect!["Ready is missing"]);
        check("DiskPressure=False", &expect!["Ready is missing"]);
        check("ready=True", &expect!["Ready is missing"]);
    }

    #[test]
    fn listed_conditions_must_be_exactly_false() {
        check("Ready=True KernelDeadlock=True", &expect!["KernelDeadlock is True"]);
        check("Ready=True DiskPressure=Unknown", &expect!["DiskPressure is Unknown"]);
    }

    #[test]
    fn conditions_that_are_not_listed_do_not_count() {
        check("Ready=True MemoryPressure=True kerneldeadlock=True", &expect!["healthy"]);
    }

    #[test]
    fn causes_are_sorted_and_reported_once() {
        check(
            "Ready=False ReadonlyFilesystem=True KernelDeadlock=Unknown Ready=False",
            &expect!["KernelDeadlock is Unknown, ReadonlyFilesystem is True, Ready is False"],
        );
    }

    #[test]
    fn the_list_forgives_blanks_empty_entries_and_repetition() {
        assert_eq!(parse_condition_list(" B ,, A,B ,\t"), ["A", "B"]);
        assert!(parse_condition_list("").is_empty() && parse_condition_list(" , ").is_empty());
    }

    #[test]
    fn an_empty_list_leaves_only_ready() {
        let facts = [NodeConditionFact { kind: READY.into(), status: ConditionStatus::True }];
        assert_eq!(verdict(&facts, &[]), NodeHealth::Healthy);
    }
}
