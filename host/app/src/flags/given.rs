//! The value of a flag as it was typed, right or wrong: what is wrong is told together with all else that is wrong.

use std::convert::Infallible;
use std::net::IpAddr;
use std::str::FromStr;

use jiff::SignedDuration;

use crate::admin::DebugAccess;

/// What a flag's text means.
pub(crate) trait Meaning: Clone {
    /// Parses, or says what is wanted instead, as a part of a sentence that begins with "must".
    fn parse(text: &str) -> Result<Self, String>;

    /// Stands in for what cannot be parsed until all flags are looked at. Never used beyond that.
    fn placeholder() -> Self;
}

/// A flag's text, and what it means.
#[derive(Clone, Debug)]
pub(crate) struct Given<T> {
    /// As typed.
    pub(crate) text: String,
    /// What it means, or what is wrong with it.
    pub(crate) value: Result<T, String>,
}

impl<T: Meaning> FromStr for Given<T> {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self { text: text.to_owned(), value: T::parse(text) })
    }
}

/// What is wrong with the flags.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// The value of a flag, or a placeholder and one more problem.
    pub(crate) fn take<T: Meaning>(&mut self, flag: &str, given: &Given<T>) -> T {
        match &given.value {
            Ok(value) => value.clone(),
            Err(wrong) => {
                self.add(format!("{flag}={}: {wrong}", given.text));
                T::placeholder()
            }
        }
    }

    /// One more.
    pub(crate) fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// What was made of the flags, unless something is wrong. `help` is the command that explains them.
    pub(crate) fn none_or<T>(self, made: T, help: &str) -> anyhow::Result<T> {
        if self.0.is_empty() {
            return Ok(made);
        }
        let count = self.0.len();
        let these = if count == 1 {
            "this flag is not right; mend it".to_owned()
        } else {
            format!("these {count} flags are not right; mend them all")
        };
        anyhow::bail!("{these} and start again (`{help}` explains each):\n  {}", self.0.join("\n  "))
    }
}

impl Meaning for SignedDuration {
    fn parse(text: &str) -> Result<Self, String> {
        let value = machinist_core::value::duration::parse(text)
            .map_err(|error| format!("must be a duration such as 90s, 10m or 2h30m: {error}"))?;
        if value < Self::ZERO { Err("must not be negative".to_owned()) } else { Ok(value) }
    }

    fn placeholder() -> Self {
        Self::ZERO
    }
}

impl Meaning for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(true),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        }
    }

    fn placeholder() -> Self {
        false
    }
}

impl Meaning for IpAddr {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "must be an IP address such as 0.0.0.0 or ::, not a name".to_owned())
    }

    fn placeholder() -> Self {
        Self::from([0, 0, 0, 0])
    }
}

impl Meaning for DebugAccess {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "loopback" => Ok(Self::Loopback),
            "authorized" => Ok(Self::Authorized),
            _ => Err("must be loopback or authorized".to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self::Loopback
    }
}

impl Meaning for u16 {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "must be a port from 1 to 65535, or 0 for a free one".to_owned())
    }

    fn placeholder() -> Self {
        0
    }
}

/// A whole number, 0 or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count(pub(crate) u32);

impl Meaning for Count {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| "must be a whole number, 0 or more".to_owned())
    }

    fn placeholder() -> Self {
        Self(0)
    }
}

/// A whole number, 1 or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positive(pub(crate) u32);

impl Meaning for Positive {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if number > 0 => Ok(Self(number)),
            _ => Err("must be a whole number, 1 or more".to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self(1)
    }
}

/// A share from 1 to 100 percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percent(pub(crate) u32);

impl Meaning for Percent {
    fn parse(text: &str) -> Result<Self, String> {
        match text.strip_suffix('%').unwrap_or(text).parse() {
            Ok(share @ 1..=100) => Ok(Self(share)),
            _ => Err("must be a whole number from 1 to 100".to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self(100)
    }
}

/// How many of a group: a number, or a share in percent.
#[derive(Clone, Debug)]
pub(crate) struct Limit(pub(crate) String);

impl Meaning for Limit {
    fn parse(text: &str) -> Result<Self, String> {
        let is_right = match text.strip_suffix('%') {
            Some(share) => share.parse::<u32>().is_ok_and(|share| share <= 100),
            None => text.parse::<u32>().is_ok(),
        };
        if is_right {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be a whole number such as 1, or a share from 0% to 100%".to_owned())
        }
    }

    fn placeholder() -> Self {
        Self(String::new())
    }
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Meaning for LogFormat {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("must be text or json".to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self::Text
    }
}

/// A content type of the API that clients may ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentType;

impl Meaning for ContentType {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf" => Ok(Self),
            _ => Err("must be application/json, application/yaml or application/vnd.kubernetes.protobuf"
                .to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self
    }
}
