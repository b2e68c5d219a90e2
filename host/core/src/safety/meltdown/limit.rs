//! The limit of Machines that may be away.

use std::fmt;
use std::str::FromStr;

/// How many Machines of a group may be replaced at a time: a number, or a share of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacementLimit {
    /// A number. Zero: no unhealthy Machine is replaced.
    Machines(u32),
    /// A percentage, rounded down, but at least one unless it is zero.
    Percent(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a number such as 3 nor a share such as 20% up to 100%")]
pub struct ReplacementLimitError(String);

impl ReplacementLimit {
    /// One after the other.
    pub const ONE: Self = Self::Machines(1);

    /// Returns the number for a group of this size.
    pub fn of(self, members: usize) -> usize {
        match self {
            Self::Machines(machines) => usize::try_from(machines).unwrap_or(usize::MAX),
            Self::Percent(0) => 0,
            Self::Percent(percent) => {
                let percent = usize::try_from(percent).unwrap_or(usize::MAX);
                (members.saturating_mul(percent) / 100).max(1)
            }
        }
    }
}

impl FromStr for ReplacementLimit {
    type Err = ReplacementLimitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ReplacementLimitError(text.chars().take(40).collect());
        let digits = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse::<u32>().ok()).flatten()
        };
        let trimmed = text.trim();
        match trimmed.strip_suffix('%') {
            Some(share) => digits(share).filter(|percent| *percent <= 100).map(Self::Percent),
            None => digits(trimmed).map(Self::Machines),
        }
        .ok_or_else(wrong)
    }
}

impl fmt::Display for ReplacementLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machines(machines) => write!(f, "{machines}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
