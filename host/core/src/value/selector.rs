//! Label selectors: which objects belong to an owner.

use std::collections::{BTreeMap, BTreeSet};

pub type Labels = BTreeMap<String, String>;

/// A valid label selector. All of its requirements must hold; one without any selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// One of them, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequirement {
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// For the first two.
    pub values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A label without a name.
    #[error("a requirement names no label: set its key")]
    NoKey,
    /// A comparison with nothing.
    #[error("{operator} of label {key} has no values: name at least one")]
    NoValues { key: String, operator: String },
    /// Values that would be without effect.
    #[error("{operator} of label {key} takes no values: remove them")]
    Values { key: String, operator: String },
    /// A word that is none of the four.
    #[error("operator {operator:?} of label {key} is none of In, NotIn, Exists and DoesNotExist")]
    UnknownOperator { key: String, operator: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    DoesNotExist(String),
}

impl Selector {
    /// Parses `matchLabels` and `matchExpressions`. Fails when one of them is invalid, since skipping it would select
    /// too much.
    pub fn parse(
        labels: &Labels,
        expressions: impl IntoIterator<Item = RawRequirement>,
    ) -> Result<Self, Error> {
        let equal =
            labels.iter().map(|(key, value)| Ok(Requirement::In(key.clone(), [value.clone()].into())));
        let requirements = equal.chain(expressions.into_iter().map(Requirement::parse));
        Ok(Self { requirements: requirements.collect::<Result<_, _>>()? })
    }

    /// Returns whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(labels))
    }

    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl Requirement {
    fn parse(raw: RawRequirement) -> Result<Self, Error> {
        let RawRequirement { key, operator, values } = raw;
        if key.is_empty() {
            return Err(Error::NoKey);
        }
        let has_values = !values.is_empty();
        match (operator.as_str(), has_values) {
            ("In", true) => Ok(Self::In(key, values.into_iter().collect())),
            ("NotIn", true) => Ok(Self::NotIn(key, values.into_iter().collect())),
            ("Exists", false) => Ok(Self::Exists(key)),
            ("DoesNotExist", false) => Ok(Self::DoesNotExist(key)),
            ("In" | "NotIn", false) => Err(Error::NoValues { key, operator }),
            ("Exists" | "DoesNotExist", true) => Err(Error::Values { key, operator }),
            (_, _) => Err(Error::UnknownOperator { key, operator }),
        }
    }

    fn holds(&self, labels: &Labels) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            // An object without the label has none of its values.
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Exists(key) => labels.contains_key(key),
            Self::DoesNotExist(key) => !labels.contains_key(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn raw(key: &str, operator: &str, values: &[&str]) -> RawRequirement {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        RawRequirement { key: key.into(), operator: operator.into(), values }
    }

    fn selects(requirement: RawRequirement, object: &[(&str, &str)]) -> bool {
        Selector::parse(&Labels::new(), [requirement]).unwrap().matches(&labels(object))
    }

    #[test]
    fn all_requirements_must_hold() {
        let selector =
            Selector::parse(&labels(&[("pool", "a")]), [raw("zone", "In", &["z1", "z2"])]).unwrap();
        assert!(selector.matches(&labels(&[("pool", "a"), ("zone", "z2"), ("more", "x")])));
        assert!(!selector.matches(&labels(&[("pool", "b"), ("zone", "z2")])));
        assert!(!selector.matches(&labels(&[("pool", "a"), ("zone", "z3")])));
        assert!(!selector.matches(&labels(&[("pool", "a")])) && !selector.is_everything());
    }

    #[test]
    fn each_operator_means_what_it_means_to_kubernetes() {
        let rows = [
            (raw("a", "In", &["1"]), [true, false, false]),
            (raw("a", "NotIn", &["1"]), [false, true, true]),
            (raw("a", "Exists", &[]), [true, true, false]),
            (raw("a", "DoesNotExist", &[]), [false, false, true]),
        ];
        for (requirement, expected) in rows {
            let objects: [&[(&str, &str)]; 3] = [&[("a", "1")], &[("a", "2")], &[("b", "1")]];
            assert_eq!(objects.map(|object| selects(requirement.clone(), object)), expected);
        }
    }

    #[test]
    fn a_selector_without_requirements_selects_everything() {
        let selector = Selector::parse(&Labels::new(), []).unwrap();
        assert!(selector.is_everything() && selector.matches(&Labels::new()));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_what_to_fix() {
        let reported = |requirement| Selector::parse(&Labels::new(), [requirement]).unwrap_err().to_string();
        assert_eq!(reported(raw("", "In", &["x"])), "a requirement names no label: set its key");
        assert_eq!(reported(raw("a", "In", &[])), "In of label a has no values: name at least one");
        assert_eq!(reported(raw("a", "Exists", &["x"])), "Exists of label a takes no values: remove them");
        assert_eq!(
            reported(raw("a", "in", &["x"])),
            "operator \"in\" of label a is none of In, NotIn, Exists and DoesNotExist"
        );
    }
}
