//! Canaries: a new version of a driver answers for a share of the Machines before it serves all.
//!
//! | question | module |
//! | --- | --- |
//! | what does `rollout.yaml` ask for? | [`terms`] |
//! | which version answers this call? | `plan` |
//! | how did the calls of both versions end? | `record` |
//! | may the new version serve, or is it withdrawn? | `judge` |
//! | how would a shadow have answered? | [`shadow`] |
//! | what was decided before, by a host or a person? | [`decided`] |
//!
//! All of it is pure: times, names and outcomes are arguments.

pub mod decided;
pub(crate) mod judge;
pub(crate) mod plan;
pub(crate) mod record;
pub mod shadow;
pub mod terms;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

pub use judge::Cause;
pub(crate) use judge::Verdict;
pub(crate) use plan::Caller;
use record::{Outcome, Record, Side};
pub use shadow::ShadowReport;
pub(crate) use shadow::Shadowed;
pub use terms::{Rollout, RolloutError, RolloutMode};

/// The trial of one version: what is wanted of it, and what has been seen.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) terms: Arc<Rollout>,
    record: Mutex<Record>,
    /// Of a version that answers nobody.
    shadow: Mutex<ShadowReport>,
    began: Timestamp,
}

impl Trial {
    pub(crate) fn new(terms: Arc<Rollout>, now: Timestamp) -> Self {
        let (record, shadow) = (Mutex::new(Record::new(now)), Mutex::default());
        Self { terms, record, shadow, began: now }
    }

    /// Notes how a call ended, and says what follows from all that were seen.
    pub(crate) fn note(
        &self,
        (side, lot): (Side, &str),
        function: &'static str,
        outcome: Outcome,
        now: Timestamp,
    ) -> Option<Verdict> {
        let mut record = self.record();
        record.note(side, lot, function, outcome);
        judge::judge(&record, &self.terms, now)
    }

    /// Notes how a call compares with the one that counted. Says what follows from all that were seen, and whether there is something to tell.
    pub(crate) fn shadowed(
        &self,
        function: &'static str,
        subject: &str,
        shadowed: &Shadowed,
        now: Timestamp,
    ) -> (Option<Verdict>, bool) {
        let mut shadow = self.shadow();
        let before = shadow.gist();
        shadow.note(function, subject, shadowed);
        (shadow::judge(&shadow, &self.terms, self.began, now), shadow.gist() != before)
    }

    /// What a version that answers nobody would have done otherwise; `None` for one that answers.
    pub(crate) fn shadow_report(&self) -> Option<ShadowReport> {
        (self.terms.mode == RolloutMode::Shadow).then(|| self.shadow().clone())
    }

    /// What has been seen so far.
    pub(crate) fn figures(&self) -> Figures {
        Figures::of(&self.record())
    }

    fn shadow(&self) -> MutexGuard<'_, ShadowReport> {
        self.shadow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // Counting does not stop half way.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the calls of a trial have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Calls of the new version that came back, with an answer or an error.
    pub calls: u64,
    /// Of these, errors.
    pub failed: u64,
    /// Calls of the new version that broke.
    pub broken: u64,
    /// Calls of the version that serves, since the trial began.
    pub stable_calls: u64,
    /// Of these, errors.
    pub stable_failed: u64,
}

impl Figures {
    fn of(record: &Record) -> Self {
        let (new, stable) = (record.side(Side::New), record.side(Side::Stable));
        Self {
            calls: new.answered,
            failed: new.failed,
            broken: new.broken,
            stable_calls: stable.answered,
            stable_failed: stable.failed,
        }
    }
}
