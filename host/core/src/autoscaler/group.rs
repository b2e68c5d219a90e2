//! A node group: its id, and its limits.

use std::fmt;
use std::str::FromStr;

use crate::value::id::ObjectKey;

use super::refusal::CallRefusal;

/// The API of a MachineDeployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// The API of machine-controller-manager's kinds.
    Mcm,
    /// The API of Cluster API's kinds.
    Capi,
}

impl Api {
    const ALL: [Self; 2] = [Self::Mcm, Self::Capi];

    /// The first part of ids.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mcm => "mcm",
            Self::Capi => "capi",
        }
    }
}

/// Names an object of one of the two APIs, as `mcm/NAMESPACE/NAME` or `capi/NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId {
    pub api: Api,
    pub deployment: ObjectKey,
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.api.word(), self.deployment.namespace, self.deployment.name)
    }
}

impl FromStr for GroupId {
    type Err = CallRefusal;

    fn from_str(text: &str) -> Result<Self, CallRefusal> {
        let (api, deployment) = parse(text).ok_or_else(|| CallRefusal::InvalidId { id: text.to_owned() })?;
        Ok(Self { api, deployment })
    }
}

/// Parses an id of the form `API/NAMESPACE/NAME`.
pub(super) fn parse(text: &str) -> Option<(Api, ObjectKey)> {
    let mut parts = text.split('/');
    let (word, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
    let api = Api::ALL.into_iter().find(|api| api.word() == word)?;
    let is_whole = parts.next().is_none() && !namespace.is_empty() && !name.is_empty();
    is_whole.then(|| (api, ObjectKey::new(namespace, name)))
}

/// How many nodes a group has at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub min: i32,
    pub max: i32,
}

/// Why limits are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    #[error("the limit {text:?} must be a number from 0 to {}", i32::MAX)]
    NotANumber { text: String },
    #[error("the maximum {max} is below the minimum {min}")]
    Reversed { min: i32, max: i32 },
}

impl Limits {
    /// Reads the limits of a MachineDeployment. `None`: it is no node group, since it has no maximum, or one of 0.
    ///
    /// # Errors
    /// When a limit is no number, or the two are reversed. Such a MachineDeployment is no node group either: a group
    /// with wrong limits could delete Machines.
    pub fn parse(min: Option<&str>, max: Option<&str>) -> Result<Option<Self>, LimitsError> {
        let number = |text: &str| match text.trim().parse::<i32>() {
            Ok(number) if number >= 0 => Ok(number),
            Ok(_) | Err(_) => Err(LimitsError::NotANumber { text: text.to_owned() }),
        };
        let Some(max) = max.map(number).transpose()? else { return Ok(None) };
        let min = min.map(number).transpose()?.unwrap_or(0);
        if max < min {
            return Err(LimitsError::Reversed { min, max });
        }
        Ok((max > 0).then_some(Self { min, max }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_api_namespace_and_name() {
        for text in ["mcm/shoot/pool-a", "capi/team/md-0"] {
            assert_eq!(text.parse::<GroupId>().unwrap().to_string(), text);
        }
        for text in
            ["", "mcm", "mcm/shoot", "mcm/shoot/a/b", "mcm//a", "mcm/shoot/", "aws/shoot/a", "/mcm/a/b"]
        {
            let refused = text.parse::<GroupId>().unwrap_err();
            assert_eq!(refused, CallRefusal::InvalidId { id: text.to_owned() });
        }
    }

    #[test]
    fn a_maximum_makes_a_group_and_the_minimum_is_zero_without_a_word() {
        let limits = |min, max| Ok(Some(Limits { min, max }));
        let not_a_number = |text: &str| Err(LimitsError::NotANumber { text: text.to_owned() });
        for (min, max, expected) in [
            (None, None, Ok(None)),
            (Some("1"), None, Ok(None)),
            (None, Some("3"), limits(0, 3)),
            (Some("1"), Some("3"), limits(1, 3)),
            (Some("3"), Some(" 3 "), limits(3, 3)),
            (Some("0"), Some("0"), Ok(None)),
            (Some("4"), Some("3"), Err(LimitsError::Reversed { min: 4, max: 3 })),
            (Some("-1"), Some("3"), not_a_number("-1")),
            (Some("1"), Some("many"), not_a_number("many")),
            (Some(""), Some("3"), not_a_number("")),
            (None, Some("2147483648"), not_a_number("2147483648")),
        ] {
            assert_eq!(Limits::parse(min, max), expected, "{min:?} {max:?}");
        }
    }
}
