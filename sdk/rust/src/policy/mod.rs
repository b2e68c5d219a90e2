//! Health policies: implement [`Policy`] on a type, and pass the type to [`export_policy!`](crate::export_policy).
//!
//! A policy consists of plain functions: native tests call [`evaluate`] with [`sample::question`] and
//! [`MockLog`](crate::mock::MockLog).
//!
//! | topic | module |
//! | --- | --- |
//! | the standard rule of a healthy Node | [`rule`] |
//! | the operator's settings | [`settings`] |
//! | a healthy Machine to change in tests | [`sample`] |

pub mod rule;
#[cfg(not(target_family = "wasm"))]
pub mod sample;
pub mod settings;

pub use crate::bindings::policy::machinist::policy::types::{
    About, Action, Condition, Domain, Health, History, Machine, Node, Phase, Question, Status, Verdict,
};
pub use crate::log::{Level, Log};
use serde::de::DeserializeOwned;

/// The longest time for a verdict: only another question changes it.
pub const LONG_MS: u64 = 12 * 60 * 60 * 1_000;

/// A policy: settings and a question in, a verdict out.
pub trait Policy {
    /// The operator's settings, with defaults for missing ones.
    type Settings: DeserializeOwned + Default;

    /// The policy's name.
    const NAME: &'static str;
    /// The policy's semantic version.
    const VERSION: &'static str;
    /// JSON Schema of the settings.
    const SCHEMA: &'static str;

    /// Returns the error in settings that are readable.
    fn problem(settings: &Self::Settings) -> Option<String>;

    /// Judges the Machine. Return the same reason for the same state: no times and no counts in the text.
    fn evaluate(settings: &Self::Settings, question: &Question, now: u64, log: Log<'_>) -> Verdict;
}

/// Describes a policy to the host.
pub fn about<P: Policy>() -> About {
    About {
        name: P::NAME.to_owned(),
        version: P::VERSION.to_owned(),
        settings_schema: Some(P::SCHEMA.to_owned()),
    }
}

/// Reads and checks the settings of a policy.
///
/// # Errors
/// If they are unreadable or invalid, with the field and the expected value.
pub fn read_settings<P: Policy>(settings: &str) -> Result<P::Settings, String> {
    let settings = settings::read(settings)?;
    match P::problem(&settings) {
        None => Ok(settings),
        Some(problem) => Err(problem),
    }
}

/// Returns a policy's answer to the host.
pub fn evaluate<P: Policy>(settings: &str, question: &Question, now: u64, log: Log<'_>) -> Verdict {
    match read_settings::<P>(settings) {
        Ok(settings) => P::evaluate(&settings, question, now, log),
        // The host calls only with settings that it has checked.
        Err(problem) => Verdict {
            health: Health::Unknown,
            reason: format!("the settings are wrong: {problem}"),
            action: Action::None,
            holds_until: now,
        },
    }
}
