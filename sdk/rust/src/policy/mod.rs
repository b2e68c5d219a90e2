//! Health policies: implement [`Policy`] on a type, and hand that to [`export_policy!`](crate::export_policy).
//!
//! All of it is plain functions: native tests call [`evaluate`] with [`sample::question`] and
//! [`MockLog`](crate::mock::MockLog).
//!
//! | question | module |
//! | --- | --- |
//! | is a Node healthy by the rule that everybody knows | [`rule`] |
//! | what did the operator write | [`settings`] |
//! | which Machine is there to make sick in tests | [`sample`] |

pub mod rule;
#[cfg(not(target_family = "wasm"))]
pub mod sample;
pub mod settings;

pub use crate::bindings::policy::machinist::policy::types::{
    About, Action, Condition, Domain, Health, History, Machine, Node, Phase, Question, Status, Verdict,
};
pub use crate::log::{Level, Log};
use serde::de::DeserializeOwned;

/// A verdict that nothing but another question changes holds as long as the host lets it.
pub const LONG_MS: u64 = 12 * 60 * 60 * 1_000;

/// A policy: settings and a question in, a verdict out.
pub trait Policy {
    /// What the operator may write. Defaults stand for what is not written.
    type Settings: DeserializeOwned + Default;

    /// Its name.
    const NAME: &'static str;
    /// Its semantic version.
    const VERSION: &'static str;
    /// JSON Schema of the settings.
    const SCHEMA: &'static str;

    /// What is wrong with settings that can be read.
    fn problem(settings: &Self::Settings) -> Option<String>;

    /// What to think of this Machine. The same state of things must have the same reason: no times and no counts in the text.
    fn evaluate(settings: &Self::Settings, question: &Question, now: u64, log: Log<'_>) -> Verdict;
}

/// Who a policy is, for the host.
pub fn about<P: Policy>() -> About {
    About {
        name: P::NAME.to_owned(),
        version: P::VERSION.to_owned(),
        settings_schema: Some(P::SCHEMA.to_owned()),
    }
}

/// The settings of a policy, checked.
///
/// # Errors
/// When they cannot be read or cannot be, with the field and what belongs there.
pub fn read_settings<P: Policy>(settings: &str) -> Result<P::Settings, String> {
    let settings = settings::read(settings)?;
    match P::problem(&settings) {
        None => Ok(settings),
        Some(problem) => Err(problem),
    }
}

/// A policy's answer to the host.
pub fn evaluate<P: Policy>(settings: &str, question: &Question, now: u64, log: Log<'_>) -> Verdict {
    match read_settings::<P>(settings) {
        Ok(settings) => P::evaluate(&settings, question, now, log),
        // The host asks only with settings that were checked.
        Err(problem) => Verdict {
            health: Health::Unknown,
            reason: format!("the settings are wrong: {problem}"),
            action: Action::None,
            holds_until: now,
        },
    }
}
