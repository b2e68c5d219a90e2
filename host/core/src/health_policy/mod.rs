//! Health policies: the questions that they get, their answers, and which answer counts.
//!
//! A policy gives an opinion about one Machine. Its [`Mode`] says whether the opinion has an effect. The host asks
//! again only when the facts of the question have changed or the answer has expired, see [`OpinionCache`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `scope` | which policies there are, and which Machines each is about; the facts of a reconcile |
//! | `question` | the question, as plain values |
//! | `answer` | checks a policy's answer |
//! | `opinion` | one policy's opinion of one Machine |
//! | `cache` | keeps answers until they expire |
//! | `judge` | which opinion counts |
//! | `reboots` | when a VM may be rebooted |

mod answer;
mod cache;
mod judge;
mod opinion;
mod question;
mod reboots;
mod scope;

#[cfg(test)]
mod tests;

pub use answer::{ASK_AGAIN, RawAnswer, opinion_of};
pub use cache::{Asked, OpinionCache};
pub use judge::{Finding, Health, Judge, Judgement, judge};
pub use opinion::{Action, Mode, Opinion, PolicyVerdict};
pub use question::{
    ConditionFact, DomainFact, HistoryFact, MAX_HOLD, MIN_HOLD, NodeQuestion, PolicyQuestion, Subject,
};
pub use reboots::{RebootStep, Reboots};
pub use scope::{PoliciesFact, PolicyFact, Scope, ServingState};
