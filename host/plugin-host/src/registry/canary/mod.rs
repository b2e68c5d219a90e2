//! Canaries: a new version of a driver answers for a share of the Machines before it serves all.
//!
//! | question | module |
//! | --- | --- |
//! | what does `rollout.yaml` ask for? | [`crate::sources::release`] |
//! | which version answers this call? | `plan` |
//! | how did the calls of both versions end? | `record` |
//! | may the new version serve, or is it withdrawn? | `judge` |
//! | how would a shadow have answered? | [`shadow`] |
//! | what was decided before, by a host or a person? | [`decided`] |
//!
//! All of it is pure: times, names and outcomes are arguments.

pub(crate) mod decided;
pub(crate) mod judge;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod shadow;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

pub(crate) use judge::Cause;
pub(crate) use judge::TrialEnd;
pub(crate) use plan::Caller;
use record::{CallOutcome, TrialRecord, TrialSide};
pub(crate) use shadow::ShadowReport;
pub(crate) use shadow::Shadowed;

use crate::sources::release::{Release, ReleaseMode};

/// The trial of one version: what is wanted of it, and what has been seen.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) terms: Arc<Release>,
    record: Mutex<TrialRecord>,
    /// The comparison of a shadow.
    shadow: Mutex<ShadowReport>,
    began: Timestamp,
}

impl Trial {
    pub(crate) fn new(terms: Arc<Release>, now: Timestamp) -> Self {
        let (record, shadow) = (Mutex::new(TrialRecord::new(now)), Mutex::default());
        Self { terms, record, shadow, began: now }
    }

    /// Notes how a call ended, and says what follows from all that were seen.
    pub(crate) fn note(
        &self,
        (side, lot): (TrialSide, &str),
        function: &'static str,
        outcome: CallOutcome,
        now: Timestamp,
    ) -> Option<TrialEnd> {
        let mut record = self.record();
        record.note(side, lot, function, outcome);
        judge::judge(&record, &self.terms, now)
    }

    /// Records how a shadow call compares with the serving version's. Returns the decision about the trial, and whether
    /// the report has changed enough to be sent.
    pub(crate) fn shadowed(
        &self,
        function: &'static str,
        subject: &str,
        shadowed: &Shadowed,
        now: Timestamp,
    ) -> (Option<TrialEnd>, bool) {
        let mut shadow = self.shadow();
        let before = shadow.summary();
        shadow.note(function, subject, shadowed);
        (shadow::judge(&shadow, &self.terms, self.began, now), shadow.summary() != before)
    }

    /// Returns the differences of a shadow; `None` for a canary.
    pub(crate) fn shadow_report(&self) -> Option<ShadowReport> {
        (self.terms.mode == ReleaseMode::Shadow).then(|| self.shadow().clone())
    }

    /// Returns the counts so far.
    pub(crate) fn figures(&self) -> Figures {
        Figures::of(&self.record())
    }

    fn shadow(&self) -> MutexGuard<'_, ShadowReport> {
        self.shadow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> MutexGuard<'_, TrialRecord> {
        // Counting does not stop half way.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the calls of a trial have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Calls of the new version that came back, with an answer or an error.
    pub calls: u64,
    pub failed: u64,
    /// Calls of the new version that broke.
    pub broken: u64,
    /// Calls of the version that serves, since the trial began.
    pub stable_calls: u64,
    pub stable_failed: u64,
}

impl Figures {
    fn of(record: &TrialRecord) -> Self {
        let (new, stable) = (record.side(TrialSide::New), record.side(TrialSide::Stable));
        Self {
            calls: new.answered,
            failed: new.failed,
            broken: new.broken,
            stable_calls: stable.answered,
            stable_failed: stable.failed,
        }
    }
}
