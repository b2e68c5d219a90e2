//! Health policies: what they are asked, what they answer, and which answer counts.
//!
//! A policy says what it thinks of one Machine. Whether that decides anything is its [`Mode`]. Policies are asked again only
//! when what they look at has changed or when their answer has ended, see [`VerdictCache`].

mod answer;
mod cache;
pub(crate) mod facts;
mod judge;
mod opinion;
mod question;
mod reboots;
mod scope;

#[cfg(test)]
mod tests;

pub use answer::{ASK_AGAIN, RawAnswer, opinion_of};
pub use cache::{Asked, VerdictCache};
pub use facts::PoliciesFact;
pub use judge::{Finding, Health, Judge, Judgement, judge};
pub use opinion::{Action, Mode, Opinion, Verdict};
pub use question::{
    ConditionFact, DomainFact, HistoryFact, MAX_HOLD, MIN_HOLD, NodeQuestion, Question, Subject,
};
pub use reboots::{REBOOT_INTERVAL, RebootStep, Reboots};
pub use scope::{PolicyFact, Scope, Standing};
