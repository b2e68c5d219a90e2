//! `rollout.yaml`: how a new version of a driver comes to serve.
//!
//! ```yaml
//! mode: canary              # or shadow; all, the default: it serves as soon as it is ready
//! share: 10%                # of the Machines, always the same ones; default 10% unless classes are named
//! classes: [small]          # and all Machines of these MachineClasses
//! promote_after: { calls: 100, minutes: 10 }    # both have to be reached; these are the defaults of a canary
//! withdraw:                 # these are the defaults, too
//!   broken_calls: 3         # traps and limits
//!   error_rate: 5%          # beyond the errors of the version that serves
//!   latency: 2              # times the median of the version that serves, for the same function
//!   minimum_calls: 20       # for different Machines, of each version, before errors and latency are compared
//!   differing: 1%           # of the calls of a shadow; no default: differences are for people to judge
//! ```
//!
//! A shadow answers nobody: it is asked what the version that serves was asked, and what it would have done is
//! compared. The host promotes it only if `promote_after` is set.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::Deserialize;

/// How a version comes to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    pub mode: ReleaseMode,
    /// Of all Machines, per cent.
    pub share: f64,
    /// MachineClasses whose Machines all belong to the trial.
    pub classes: BTreeSet<String>,
    /// So many calls that came back …
    pub promote_calls: u64,
    /// … and so much time make it the version that serves.
    pub promote_time: SignedDuration,
    /// So many broken calls end the trial.
    pub broken_calls: u64,
    /// Errors beyond those of the version that serves, per cent of its calls.
    pub error_rate: f64,
    /// How many times slower it may be.
    pub latency: f64,
    /// Calls of each version, below which they are not compared.
    pub minimum_calls: u64,
    /// Of the calls of a shadow, per cent that may differ. None: any.
    pub differing: Option<f64>,
    /// Whether enough good calls promote it. Otherwise a person has to.
    pub promotes_itself: bool,
}

/// In which way a version comes to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseMode {
    All,
    /// A part of the calls first.
    Canary,
    /// Its calls are only compared with those of the serving version.
    Shadow,
}

impl ReleaseMode {
    /// As the document has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Canary => "canary",
            Self::Shadow => "shadow",
        }
    }
}

/// Why `rollout.yaml` means nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// Not YAML, or with a field that does not exist or has the wrong type.
    #[error(
        "{detail}: it takes mode (all, canary or shadow), share, classes, promote_after (calls, minutes) and withdraw (broken_calls, \
         error_rate, latency, minimum_calls, differing)"
    )]
    Syntax { detail: String },
    #[error("{field} is {found}: {wanted}")]
    Field { field: &'static str, found: String, wanted: &'static str },
    #[error("a {} of no Machines: share is 0% and classes names none", .0.name())]
    Nobody(ReleaseMode),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Raw {
    mode: RawReleaseMode,
    share: Option<Share>,
    classes: BTreeSet<String>,
    promote_after: Option<RawPromotion>,
    withdraw: RawWithdrawal,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawReleaseMode {
    #[default]
    All,
    Canary,
    Shadow,
}

/// `10%`, or a bare number of per cent.
#[derive(Deserialize)]
#[serde(untagged, expecting = "per cent, such as 10%")]
enum Share {
    Number(f64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawPromotion {
    calls: u64,
    minutes: u64,
}

impl Default for RawPromotion {
    fn default() -> Self {
        Self { calls: 100, minutes: 10 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawWithdrawal {
    broken_calls: u64,
    error_rate: Share,
    latency: f64,
    minimum_calls: u64,
    differing: Option<Share>,
}

impl Default for RawWithdrawal {
    fn default() -> Self {
        Self {
            broken_calls: 3,
            error_rate: Share::Number(5.0),
            latency: 2.0,
            minimum_calls: 20,
            differing: None,
        }
    }
}

/// Beyond a year a time is a typing error, and beyond a billion a number is.
const MOST_MINUTES: u64 = 366 * 24 * 60;
const MOST_CALLS: u64 = 1_000_000_000;

impl Release {
    /// Reads `rollout.yaml`, which may be JSON. An empty text is all defaults.
    ///
    /// # Errors
    /// When it means nothing.
    pub fn parse(text: &str) -> Result<Self, ReleaseError> {
        let raw: Option<Raw> = serde_yaml_ng::from_str(text)
            .map_err(|error| ReleaseError::Syntax { detail: error.to_string() })?;
        let Raw { mode, share, classes, promote_after, withdraw } = raw.unwrap_or_default();
        let mode = match mode {
            RawReleaseMode::All => ReleaseMode::All,
            RawReleaseMode::Canary => ReleaseMode::Canary,
            RawReleaseMode::Shadow => ReleaseMode::Shadow,
        };
        let promotes_itself = mode != ReleaseMode::Shadow || promote_after.is_some();
        let promote_after = promote_after.unwrap_or_default();
        let share = match share {
            Some(share) => share.per_cent("share")?,
            None if classes.is_empty() => 10.0,
            None => 0.0,
        };
        if mode != ReleaseMode::All && share == 0.0 && classes.is_empty() {
            return Err(ReleaseError::Nobody(mode));
        }
        if !(1.0..=1_000.0).contains(&withdraw.latency) {
            let (found, wanted) = (withdraw.latency.to_string(), "a factor from 1 to 1000");
            return Err(ReleaseError::Field { field: "withdraw.latency", found, wanted });
        }
        Ok(Self {
            mode,
            share,
            classes,
            promote_calls: number("promote_after.calls", promote_after.calls, MOST_CALLS)?,
            promote_time: minutes(promote_after.minutes)?,
            broken_calls: number("withdraw.broken_calls", withdraw.broken_calls, MOST_CALLS)?,
            error_rate: withdraw.error_rate.per_cent("withdraw.error_rate")?,
            latency: withdraw.latency,
            minimum_calls: number("withdraw.minimum_calls", withdraw.minimum_calls, MOST_CALLS)?,
            differing: withdraw.differing.map(|share| share.per_cent("withdraw.differing")).transpose()?,
            promotes_itself,
        })
    }
}

fn number(field: &'static str, value: u64, most: u64) -> Result<u64, ReleaseError> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(ReleaseError::Field { field, found: value.to_string(), wanted: "a number from 1 to a billion" })
}

fn minutes(value: u64) -> Result<SignedDuration, ReleaseError> {
    match i64::try_from(value) {
        Ok(minutes) if value <= MOST_MINUTES => Ok(SignedDuration::from_mins(minutes)),
        Ok(_) | Err(_) => Err(ReleaseError::Field {
            field: "promote_after.minutes",
            found: value.to_string(),
            wanted: "at most a year of minutes",
        }),
    }
}

impl Share {
    fn per_cent(self, field: &'static str) -> Result<f64, ReleaseError> {
        let (number, found) = match self {
            Self::Number(number) => (Some(number), number.to_string()),
            Self::Text(text) => {
                let number = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
                (number, format!("{text:?}"))
            }
        };
        number.filter(|number| (0.0..=100.0).contains(number)).ok_or(ReleaseError::Field {
            field,
            found,
            wanted: "per cent from 0% to 100%",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match Release::parse(text) {
            Ok(rollout) => {
                let Release { mode, share, classes, promote_calls, promote_time, .. } = rollout;
                format!("{} {share} {classes:?} {promote_calls} {promote_time:#}", mode.name())
            }
            Err(error) => error.to_string(),
        };
        assert!(shown.starts_with(expected), "{text}: {shown}");
    }

    #[test]
    fn terms_are_read_with_defaults() {
        check("", "all 10 {} 100 10m");
        check("mode: canary", "canary 10 {} 100 10m");
        check("{mode: canary, classes: [small]}", r#"canary 0 {"small"} 100 10m"#);
        check("{mode: canary, share: 25%, classes: [small]}", r#"canary 25 {"small"} 100 10m"#);
        check("{mode: canary, share: 0.5, promote_after: {calls: 5, minutes: 0}}", "canary 0.5 {} 5 0s");
    }

    #[test]
    fn a_shadow_is_promoted_only_by_a_person_or_its_terms() {
        let terms = |text: &str| Release::parse(text).expect("terms");
        assert!(terms("mode: canary").promotes_itself);
        assert!(!terms("mode: shadow").promotes_itself);
        assert!(terms("{mode: shadow, promote_after: {calls: 5}}").promotes_itself);
        assert_eq!(terms("mode: shadow").differing, None);
        assert_eq!(terms("{mode: shadow, withdraw: {differing: 0.5%}}").differing, Some(0.5));
        check("{mode: shadow, promote_after: {calls: 5, minutes: 1}}", "shadow 10 {} 5 1m");
    }

    #[test]
    fn problems_are_named() {
        check("mode: slowly", "mode: unknown variant `slowly`");
        check("{mode: canary, shares: 1%}", "unknown field `shares`");
        check("{mode: canary, share: ten}", "share is \"ten\": per cent from 0% to 100%");
        check("{mode: canary, share: 101%}", "share is \"101%\": per cent");
        check("{mode: canary, share: .nan}", "share is NaN: per cent");
        check("{mode: canary, share: 0%}", "a canary of no Machines");
        check("{mode: shadow, share: 0%}", "a shadow of no Machines");
        check("{mode: shadow, withdraw: {differing: some}}", "withdraw.differing is \"some\": per cent");
        check("{promote_after: {calls: 0}}", "promote_after.calls is 0: a number from 1");
        check("{promote_after: {minutes: 18446744073709551615}}", "promote_after.minutes is 1844");
        check("{withdraw: {latency: 0.5}}", "withdraw.latency is 0.5: a factor from 1");
        check("{withdraw: {error_rate: -1%}}", "withdraw.error_rate is \"-1%\"");
        check("[]", "invalid type");
    }
}
