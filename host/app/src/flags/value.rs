//! The value of a flag as it was typed, valid or not: all invalid values are reported together.

use std::ffi::OsStr;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr};

use clap::builder::{StringValueParser, TypedValueParser, ValueParserFactory};
use clap::{Arg, Command};
use jiff::SignedDuration;
use machinist_runtime::context::settings::Controllers;

use crate::admin::DebugAccess;

/// A type of values that flags have. Its default replaces an invalid value until all flags are checked.
pub(crate) trait FlagType: Clone + Default + Send + Sync + 'static {
    /// Parses the text of a flag. The error is a part of a sentence that begins with "must".
    fn parse(text: &str) -> Result<Self, String>;
}

/// A type whose values are defaults of flags.
pub(crate) trait AsTyped: FlagType {
    /// Returns the text that parses to this value, as help and reference show it.
    fn as_typed(&self) -> String;
}

/// The text of a flag, and its value.
#[derive(Clone, Debug)]
pub(crate) struct FlagValue<T> {
    text: String,
    /// The parsed value, or the problem with the name of the flag.
    value: Result<T, String>,
}

impl<T: AsTyped> From<T> for FlagValue<T> {
    fn from(value: T) -> Self {
        Self { text: value.as_typed(), value: Ok(value) }
    }
}

impl<T> fmt::Display for FlagValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: FlagType> ValueParserFactory for FlagValue<T> {
    type Parser = FlagParser<T>;

    fn value_parser() -> FlagParser<T> {
        FlagParser(PhantomData)
    }
}

/// Parses the value of a flag for clap, which would end at the first invalid value.
#[derive(Clone)]
pub(crate) struct FlagParser<T>(PhantomData<T>);

impl<T: FlagType> TypedValueParser for FlagParser<T> {
    type Value = FlagValue<T>;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<FlagValue<T>, clap::Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        let flag = arg.and_then(Arg::get_long).unwrap_or_default();
        let value = T::parse(&text).map_err(|wrong| format!("--{flag}={text}: {wrong}"));
        Ok(FlagValue { text, value })
    }
}

/// Everything that is wrong with the flags.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// Returns the value of a flag, or adds a problem and returns a placeholder.
    pub(crate) fn take<T: FlagType>(&mut self, typed: &FlagValue<T>) -> T {
        typed.value.clone().unwrap_or_else(|problem| {
            self.add(problem);
            T::default()
        })
    }

    pub(crate) fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// Returns the settings, or an error with all problems. `help` is the command that explains the flags.
    pub(crate) fn none_or<T>(self, settings: T, help: &str) -> anyhow::Result<T> {
        if self.0.is_empty() {
            return Ok(settings);
        }
        let count = self.0.len();
        let these = if count == 1 {
            "this flag is not right; fix it".to_owned()
        } else {
            format!("these {count} flags are not right; fix them all")
        };
        anyhow::bail!("{these} and start again (`{help}` explains each):\n  {}", self.0.join("\n  "))
    }
}

impl FlagType for SignedDuration {
    fn parse(text: &str) -> Result<Self, String> {
        let value = machinist_core::value::duration::parse(text)
            .map_err(|error| format!("must be a duration such as 90s, 10m or 2h30m: {error}"))?;
        if value < Self::ZERO { Err("must not be negative".to_owned()) } else { Ok(value) }
    }
}

/// With the largest unit that needs no fraction: 90s, 2m, 96h.
impl AsTyped for SignedDuration {
    fn as_typed(&self) -> String {
        let seconds = self.as_secs();
        if self.subsec_nanos() != 0 {
            return machinist_core::value::duration::format(*self);
        }
        match seconds {
            _ if seconds != 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
            _ if seconds != 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
            _ => format!("{seconds}s"),
        }
    }
}

impl FlagType for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(true),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        }
    }
}

impl AsTyped for bool {
    fn as_typed(&self) -> String {
        self.to_string()
    }
}

impl AsTyped for Controllers {
    fn as_typed(&self) -> String {
        if *self == Self::ALL { "*".to_owned() } else { self.names().join(",") }
    }
}

/// The address of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerAddress(pub(crate) IpAddr);

impl Default for ServerAddress {
    fn default() -> Self {
        Self(Ipv4Addr::UNSPECIFIED.into())
    }
}

impl FlagType for ServerAddress {
    fn parse(text: &str) -> Result<Self, String> {
        let address = text.parse().map(Self);
        address.map_err(|_| "must be an IP address such as 0.0.0.0 or ::, not a name".to_owned())
    }
}

impl AsTyped for ServerAddress {
    fn as_typed(&self) -> String {
        self.0.to_string()
    }
}

impl FlagType for DebugAccess {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "loopback" => Ok(Self::Loopback),
            "authorized" => Ok(Self::Authorized),
            _ => Err("must be loopback or authorized".to_owned()),
        }
    }
}

impl FlagType for u16 {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "must be a port from 1 to 65535, or 0 for a free one".to_owned())
    }
}

impl AsTyped for u16 {
    fn as_typed(&self) -> String {
        self.to_string()
    }
}

/// A whole number, 0 or more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count(pub(crate) u32);

impl FlagType for Count {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| "must be a whole number, 0 or more".to_owned())
    }
}

impl AsTyped for Count {
    fn as_typed(&self) -> String {
        self.0.to_string()
    }
}

/// A whole number, 1 or more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Positive(pub(crate) u32);

impl FlagType for Positive {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if number > 0 => Ok(Self(number)),
            _ => Err("must be a whole number, 1 or more".to_owned()),
        }
    }
}

impl AsTyped for Positive {
    fn as_typed(&self) -> String {
        self.0.to_string()
    }
}

impl From<usize> for Positive {
    fn from(number: usize) -> Self {
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }
}

/// A share from 1 to 100 percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Percent(pub(crate) u32);

impl FlagType for Percent {
    fn parse(text: &str) -> Result<Self, String> {
        match text.strip_suffix('%').unwrap_or(text).parse() {
            Ok(share @ 1..=100) => Ok(Self(share)),
            _ => Err("must be a whole number from 1 to 100".to_owned()),
        }
    }
}

impl AsTyped for Percent {
    fn as_typed(&self) -> String {
        self.0.to_string()
    }
}

/// A limit for a group: a number, or a share in percent.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberOrPercent(pub(crate) String);

impl FlagType for NumberOrPercent {
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
}

impl AsTyped for NumberOrPercent {
    fn as_typed(&self) -> String {
        self.0.clone()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

impl FlagType for LogFormat {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("must be text or json".to_owned()),
        }
    }
}

/// A content type of the API.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContentType;

impl FlagType for ContentType {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf" => Ok(Self),
            _ => Err("must be application/json, application/yaml or application/vnd.kubernetes.protobuf"
                .to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_is_shown_as_one_types_it() {
        let durations = [0, 1, 15, 90, 120, 600, 3_600, 5_400, 96 * 3_600].map(SignedDuration::from_secs);
        let shown = durations.map(|duration| duration.as_typed());
        assert_eq!(shown, ["0s", "1s", "15s", "90s", "2m", "10m", "1h", "90m", "96h"]);
        assert_eq!(SignedDuration::from_millis(1_500).as_typed(), "1.5s");
        let owners = Controllers { machines: false, sets: true, deployments: true };
        assert_eq!(
            [Controllers::ALL, owners].map(|all| all.as_typed()),
            ["*", "machineset,machinedeployment"]
        );
        for duration in durations {
            assert_eq!(SignedDuration::parse(&duration.as_typed()), Ok(duration));
        }
        assert_eq!(Controllers::parse(&owners.as_typed()), Ok(owners));
    }
}
