//! What health policies share.
//!
//! A policy implements [`Policy`] on a type and hands that to [`export_policy!`]. All of it is plain functions: native tests
//! call them with [`sample::question`].
//!
//! | question | module |
//! | --- | --- |
//! | what does the contract look like | [`bindings`] |
//! | is a Node healthy by the rule that everybody knows | [`rule`] |
//! | what did the operator write | [`settings`] |

pub mod bindings;
pub mod rule;
pub mod sample;
pub mod settings;

pub use bindings::exports::machinist::policy::policy::Guest;
pub use bindings::machinist::policy::types::{
    About, Action, Condition, Domain, Health, History, Machine, Node, Phase, Question, Status, Verdict,
};
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

    /// What to think of this Machine.
    fn evaluate(settings: &Self::Settings, question: &Question, now: u64) -> Verdict;
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
pub fn evaluate<P: Policy>(settings: &str, question: &Question, now: u64) -> Verdict {
    match read_settings::<P>(settings) {
        Ok(settings) => P::evaluate(&settings, question, now),
        // The host asks only with settings that were checked.
        Err(problem) => Verdict {
            health: Health::Unknown,
            reason: format!("the settings are wrong: {problem}"),
            action: Action::None,
            holds_until: now,
        },
    }
}

/// Makes a component of a type that implements [`Policy`]. Natively it does nothing, so that tests can be linked.
#[macro_export]
macro_rules! export_policy {
    ($policy:ty) => {
        /// The component. Public, since natively nothing exports it.
        pub struct Component;

        impl $crate::Guest for Component {
            fn describe() -> $crate::About {
                $crate::about::<$policy>()
            }

            fn check_settings(settings: String) -> Result<(), String> {
                $crate::read_settings::<$policy>(&settings).map(|_| ())
            }

            fn evaluate(question: $crate::Question, settings: String, now: u64) -> $crate::Verdict {
                $crate::evaluate::<$policy>(&settings, &question, now)
            }
        }

        #[cfg(target_family = "wasm")]
        $crate::bindings::export!(Component with_types_in $crate::bindings);
    };
}
