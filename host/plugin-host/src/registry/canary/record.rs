//! How the calls of two versions ended since the trial began.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use machinist_core::driver::error::{CallError, Code, GuestFailure, Limit};

/// The version that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrialSide {
    /// Of the version that serves.
    Stable,
    /// Of the version on trial.
    New,
}

impl TrialSide {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::New => "new",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// With an answer, after so long.
    Answered(Duration),
    /// With an error, or not in time: perhaps the cloud's, perhaps the version's.
    Failed,
    /// It broke: the version's own fault.
    Broken,
}

impl CallOutcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Failed => "failed",
            Self::Broken => "broken",
        }
    }

    /// `None` for what says nothing about the version: the host refused the call.
    pub(crate) fn of(error: Option<&CallError>, took: Duration) -> Option<Self> {
        match error {
            None => Some(Self::Answered(took)),
            Some(CallError::Guest(error)) => Some(match error.code {
                // Answers to a question, not failures.
                Code::NotFound | Code::Unimplemented | Code::Uninitialized => Self::Answered(took),
                Code::Canceled
                | Code::Unknown
                | Code::InvalidArgument
                | Code::DeadlineExceeded
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::ResourceExhausted
                | Code::FailedPrecondition
                | Code::Aborted
                | Code::OutOfRange
                | Code::Internal
                | Code::Unavailable
                | Code::DataLoss
                | Code::Unauthenticated => Self::Failed,
            }),
            // A cloud that hangs is not the driver's fault.
            Some(CallError::Broken(broken)) => match broken.failure {
                GuestFailure::Limit { limit: Limit::Deadline, .. } => Some(Self::Failed),
                GuestFailure::CutOff { .. } => None,
                GuestFailure::Limit { .. } | GuestFailure::Trap { .. } | GuestFailure::Contract { .. } => {
                    Some(Self::Broken)
                }
            },
            Some(CallError::Refused(_)) => None,
        }
    }
}

/// The calls of both versions.
#[derive(Debug)]
pub(crate) struct TrialRecord {
    pub(crate) began: Timestamp,
    stable: Calls,
    new: Calls,
}

/// The calls of one version.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// That came back, with an answer or an error.
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) broken: u64,
    /// How the last call of each function for each Machine ended: true for an error. Repeated calls, for instance
    /// because a class is sold out, count once.
    asked: BTreeMap<(String, &'static str), bool>,
    failing: usize,
    /// How long answers took, the last of each function.
    took: BTreeMap<&'static str, VecDeque<Duration>>,
}

/// Enough for a median, and a few kilobytes.
const KEPT: usize = 128;

/// The number of distinct callers: a few megabytes.
const MOST_ASKED: usize = 50_000;

impl TrialRecord {
    pub(crate) fn new(began: Timestamp) -> Self {
        Self { began, stable: Calls::default(), new: Calls::default() }
    }

    pub(crate) fn side(&self, side: TrialSide) -> &Calls {
        match side {
            TrialSide::Stable => &self.stable,
            TrialSide::New => &self.new,
        }
    }

    /// Records a call. `lot` is the key of the caller.
    pub(crate) fn note(&mut self, side: TrialSide, lot: &str, function: &'static str, outcome: CallOutcome) {
        let calls = match side {
            TrialSide::Stable => &mut self.stable,
            TrialSide::New => &mut self.new,
        };
        match outcome {
            CallOutcome::Answered(took) => {
                calls.answered += 1;
                calls.ask(lot, function, false);
                let kept = calls.took.entry(function).or_default();
                kept.push_back(took);
                if kept.len() > KEPT {
                    kept.pop_front();
                }
            }
            CallOutcome::Failed => {
                calls.answered += 1;
                calls.failed += 1;
                calls.ask(lot, function, true);
            }
            CallOutcome::Broken => calls.broken += 1,
        }
    }
}

impl Calls {
    fn ask(&mut self, lot: &str, function: &'static str, has_failed: bool) {
        if self.asked.len() >= MOST_ASKED {
            return;
        }
        let before = self.asked.insert((lot.to_owned(), function), has_failed) == Some(true);
        self.failing = self.failing + usize::from(has_failed) - usize::from(before);
    }

    /// Machines and functions that were asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.len()
    }

    /// Of these, calls whose last attempt failed.
    pub(crate) fn failing(&self) -> usize {
        self.failing
    }

    /// The same as a share: 0 to 1.
    pub(crate) fn failure_rate(&self) -> f64 {
        if self.asked.is_empty() { 0.0 } else { self.failing as f64 / self.asked.len() as f64 }
    }

    /// Functions that have so many times at least, with the median.
    pub(crate) fn medians(&self, minimum: u64) -> impl Iterator<Item = (&'static str, Duration)> {
        let minimum = usize::try_from(minimum).unwrap_or(usize::MAX).min(KEPT);
        let enough = self.took.iter().filter(move |(_, took)| took.len() >= minimum);
        enough.filter_map(|(function, took)| Some((*function, median(took)?)))
    }
}

fn median(took: &VecDeque<Duration>) -> Option<Duration> {
    let mut sorted: Vec<Duration> = took.iter().copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_core::driver::error::{DriverError, Refusal};

    fn of(error: &CallError) -> Option<CallOutcome> {
        CallOutcome::of(Some(error), Duration::from_millis(5))
    }

    fn guest(code: Code) -> Option<CallOutcome> {
        of(&CallError::Guest(DriverError::new(code, "")))
    }

    #[test]
    fn answers_that_look_like_errors_are_answers() {
        let answered = Some(CallOutcome::Answered(Duration::from_millis(5)));
        assert_eq!(CallOutcome::of(None, Duration::from_millis(5)), answered);
        assert_eq!(guest(Code::NotFound), answered);
        assert_eq!(guest(Code::Unavailable), Some(CallOutcome::Failed));
    }

    #[test]
    fn a_deadline_may_be_the_clouds_fault_and_a_refusal_is_nobodys() {
        let limit = |limit| of(&GuestFailure::Limit { limit, detail: String::new() }.into());
        assert_eq!(limit(Limit::Deadline), Some(CallOutcome::Failed));
        assert_eq!(limit(Limit::Memory), Some(CallOutcome::Broken));
        assert_eq!(of(&GuestFailure::Trap { detail: String::new() }.into()), Some(CallOutcome::Broken));
        assert_eq!(of(&CallError::Refused(Refusal::ShuttingDown)), None);
    }

    #[test]
    fn repeated_calls_count_once_and_by_the_last_answer() {
        let mut record = TrialRecord::new(Timestamp::UNIX_EPOCH);
        let answered = CallOutcome::Answered(Duration::ZERO);
        for (lot, outcome) in [
            ("a", CallOutcome::Failed),
            ("a", CallOutcome::Failed),
            ("b", CallOutcome::Failed),
            ("b", answered),
        ] {
            record.note(TrialSide::New, lot, "create", outcome);
        }
        let calls = record.side(TrialSide::New);
        assert_eq!((calls.answered, calls.failed, calls.asked(), calls.failing()), (4, 3, 2, 1));
    }

    #[test]
    fn the_median_is_of_the_last_ones() {
        let mut record = TrialRecord::new(Timestamp::UNIX_EPOCH);
        for ms in 0..1_000_u64 {
            record.note(TrialSide::New, "uid", "create", CallOutcome::Answered(Duration::from_millis(ms)));
        }
        let medians: Vec<_> = record.side(TrialSide::New).medians(20).collect();
        assert_eq!(medians, [("create", Duration::from_millis(936))]);
        assert_eq!(record.side(TrialSide::Stable).medians(1).count(), 0);
    }
}
