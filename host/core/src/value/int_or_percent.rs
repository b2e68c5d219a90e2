//! A number, or a percentage: the bounds of a rollout in a deployment.

use std::fmt;

/// A field as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawIntOrPercent {
    Int(i64),
    /// Text, such as `25%`.
    Text(String),
}

/// A number of Machines, or a percentage of the wanted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOrPercent {
    Int(u32),
    /// So many of a hundred.
    Percent(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is neither a number of at least 0 such as 3 nor a share such as 25%")]
pub struct Error(String);

/// Longer texts are cut in messages.
const TOLD_CHARACTERS: usize = 40;

impl IntOrPercent {
    /// Reads a field.
    ///
    /// # Errors
    ///
    /// When it is negative, or text that is no percentage. A number as text counts as a number.
    pub fn parse(raw: &RawIntOrPercent) -> Result<Self, Error> {
        match raw {
            RawIntOrPercent::Int(number) => {
                u32::try_from(*number).map(Self::Int).map_err(|_| Error(number.to_string()))
            }
            RawIntOrPercent::Text(text) => {
                let wrong = || Error(format!("{:?}", text.chars().take(TOLD_CHARACTERS).collect::<String>()));
                let parsed = match text.trim().strip_suffix('%') {
                    Some(share) => digits(share).map(Self::Percent),
                    None => digits(text.trim()).map(Self::Int),
                };
                parsed.ok_or_else(wrong)
            }
        }
    }

    /// Returns the number for this total, rounded up.
    pub fn rounded_up(self, whole: u32) -> u32 {
        match self {
            Self::Int(number) => number,
            Self::Percent(percent) => narrow((wide(percent) * wide(whole)).div_ceil(100)),
        }
    }

    /// Returns the number for this total, rounded down.
    pub fn rounded_down(self, whole: u32) -> u32 {
        match self {
            Self::Int(number) => number,
            Self::Percent(percent) => narrow(wide(percent) * wide(whole) / 100),
        }
    }
}

fn digits(text: &str) -> Option<u32> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

fn wide(number: u32) -> u64 {
    u64::from(number)
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Result<IntOrPercent, String> {
        IntOrPercent::parse(&RawIntOrPercent::Text(text.into())).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_and_shares_are_read_and_anything_else_is_named() {
        assert_eq!(IntOrPercent::parse(&RawIntOrPercent::Int(3)), Ok(IntOrPercent::Int(3)));
        assert_eq!(text("25%"), Ok(IntOrPercent::Percent(25)));
        assert_eq!(text(" 250% "), Ok(IntOrPercent::Percent(250)));
        assert_eq!(text("4"), Ok(IntOrPercent::Int(4)));
        for wrong in ["", "%", "-1%", "1.5%", "many", "1 %", "99999999999%"] {
            let error = text(wrong).unwrap_err();
            assert!(error.contains(&format!("{wrong:?}")) && error.contains("25%"), "{error}");
        }
        let error = IntOrPercent::parse(&RawIntOrPercent::Int(-1)).unwrap_err().to_string();
        assert!(error.starts_with("-1 is neither"), "{error}");
    }

    #[test]
    fn a_share_is_rounded_as_it_is_asked() {
        let cell = |percent, whole| {
            let share = IntOrPercent::Percent(percent);
            (share.rounded_up(whole), share.rounded_down(whole))
        };
        assert_eq!([cell(25, 3), cell(25, 4), cell(0, 9), cell(150, 3)], [(1, 0), (1, 1), (0, 0), (5, 4)]);
    }

    proptest! {
        #[test]
        fn no_share_is_off_by_more_than_one(percent in any::<u32>(), whole in any::<u32>()) {
            let share = IntOrPercent::Percent(percent);
            let (up, down) = (share.rounded_up(whole), share.rounded_down(whole));
            prop_assert!(down <= up && up - down <= 1);
        }

        #[test]
        fn no_text_panics(any in ".*") {
            let _ = text(&any);
        }
    }
}
