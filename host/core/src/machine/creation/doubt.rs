//! Doubt: whether a create may have made a VM that nobody has seen, and until when.
//!
//! A cloud that keeps no idempotency keys makes another VM for each create. Before a create the host notes its intent
//! on the Machine. A create that failed for certain closes the note, and its code says when to try again. One that may
//! have made a VM leaves the note open: the cloud is asked for the VM until its reads must show it, and nothing is
//! created before that.

use jiff::{SignedDuration, Timestamp, Unit};

use crate::driver::error::CallError;
use crate::driver::{Creation, DriverFacts, Operation as Call};
use crate::scheduling::retry::{self, MAX_RETRY_AFTER, RetryPolicy, Situation};
use crate::value::duration;
use crate::value::id::{ProviderId, Uid};

use super::failed::{self, failed_create};
use crate::machine::conclusion::{MachineReason, MachineStep, Requeue};
use crate::machine::facts::MachineView;
use crate::machine::step::rest;

/// The first pause before the cloud is queried for a VM that a create may have created: most clouds show it within
/// seconds.
const FIRST_QUERY: SignedDuration = SignedDuration::from_secs(1);

/// The longest pause between these queries.
const LAST_QUERY: SignedDuration = SignedDuration::from_secs(15);

/// A create that was noted on the Machine before it began, with a note that is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateIntent {
    /// When it was noted.
    pub begun: Timestamp,
    /// The facts about the call that followed.
    pub call: IntendedCall,
}

/// The facts about a create that was noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntendedCall {
    /// This process noted it, and has not called the driver since.
    NotMade,
    /// Another process noted it. All its calls had ended when this process began to lead.
    OfPredecessor(CallEnd),
    /// This process has made the call.
    Made(CallEnd, CallResult),
}

/// When a call ended at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEnd {
    /// On the wall, for people.
    pub at: Timestamp,
    /// The age of the call when the facts were taken, on a monotonic clock.
    pub age: SignedDuration,
}

/// How a create ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// It made this VM.
    Created(ProviderId),
    /// The cloud was still working on it.
    InProgress,
    /// It failed, or was cut off.
    Failed(CallError),
}

impl CallResult {
    /// Of the driver's answer.
    pub fn of(answer: &Result<Creation, CallError>) -> Self {
        match answer {
            Ok(Creation::Created(vm)) => Self::Created(vm.provider_id.clone()),
            Ok(Creation::InProgress(_)) => Self::InProgress,
            Err(error) => Self::Failed(error.clone()),
        }
    }
}

/// The rest of the time in which a VM may exist that reads do not show.
struct CreateDoubt {
    /// How long the cloud has been queried for the VM already.
    age: SignedDuration,
    left: SignedDuration,
    until: Timestamp,
}

impl CreateIntent {
    /// Returns whether it may have created a VM that reads do not show yet.
    pub(crate) fn is_in_doubt(&self, window: SignedDuration) -> bool {
        self.doubt(window).is_some()
    }

    /// Returns `None` when reads show every VM that the create has created.
    fn doubt(&self, window: SignedDuration) -> Option<CreateDoubt> {
        let (end, lasts) = match &self.call {
            IntendedCall::NotMade => return None,
            IntendedCall::OfPredecessor(end) | IntendedCall::Made(end, CallResult::Created(_)) => {
                (end, window)
            }
            // The VM is created after the answer, within the time that a create may take.
            IntendedCall::Made(end, CallResult::InProgress) => {
                (end, window.saturating_add(Call::Create.deadline()))
            }
            IntendedCall::Made(end, CallResult::Failed(error)) if error.may_have_happened() => (end, window),
            IntendedCall::Made(_, CallResult::Failed(_)) => return None,
        };
        let left = lasts.saturating_sub(end.age);
        // If reads never lag, the query before each create is enough.
        if window.is_zero() || left <= SignedDuration::ZERO {
            return None;
        }
        Some(CreateDoubt { age: end.age, left, until: after(end.at, lasts) })
    }

    fn message(&self, doubt: &CreateDoubt, window: SignedDuration) -> String {
        let why = match &self.call {
            IntendedCall::NotMade | IntendedCall::OfPredecessor(_) => {
                "the process that noted a CreateMachine call ended before it noted the answer, so that the call may have \
                 made a VM"
                    .to_owned()
            }
            IntendedCall::Made(_, CallResult::Created(id)) => {
                format!("CreateMachine created VM {id}, whose id is not stored on the Machine")
            }
            IntendedCall::Made(_, CallResult::InProgress) => {
                "the cloud was working on a CreateMachine call whose resume token is not stored".to_owned()
            }
            IntendedCall::Made(_, CallResult::Failed(error)) => return failed_message(error, window),
        };
        message(&why, doubt.until)
    }
}

/// Returns the same text from the failure until the next create, so that one failure is one write of the status.
/// `nextAttempt` has the time of the next create.
fn failed_message(error: &CallError, window: SignedDuration) -> String {
    format!(
        "CreateMachine failed and may have made a VM all the same: {error}; the cloud is asked for it, and no VM is created \
         for {} after that answer",
        duration::format(window)
    )
}

/// Returns the same text in every reconcile until the doubt ends.
fn message(why: &str, until: Timestamp) -> String {
    let until = until.round(Unit::Second).unwrap_or(until);
    format!("{why}; the cloud is asked for it, and no VM is created before {until}")
}

fn after(at: Timestamp, duration: SignedDuration) -> Timestamp {
    at.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// Ends a reconcile that must not create: an earlier create may have created a VM, or it failed and the pause is not
/// over. The query of this reconcile has found nothing.
pub(crate) fn unresolved(view: &MachineView, driver: &DriverFacts) -> Option<MachineStep> {
    let intent = view.machine.create_intent.as_ref()?;
    let window = driver.consistency_window;
    if let Some(doubt) = intent.doubt(window) {
        let pause = doubt.age.clamp(FIRST_QUERY, LAST_QUERY).min(doubt.left);
        let message = intent.message(&doubt, window);
        return Some(rest(MachineReason::CreationUnresolved, message, Requeue::Check(pause)));
    }
    let IntendedCall::Made(end, CallResult::Failed(error)) = &intent.call else { return None };
    if !error.may_have_happened() || window.is_zero() {
        return None;
    }
    let left = pause_after(view, error).saturating_sub(end.age);
    (left > SignedDuration::ZERO)
        .then(|| rest(MachineReason::CreationUnresolved, failed_message(error, window), Requeue::Check(left)))
}

/// Returns the pause after a failed create in doubt, by its code: no longer than after a first failure while the
/// account answers ([`retry::CloudAccounts`]).
fn pause_after(view: &MachineView, error: &CallError) -> SignedDuration {
    let policy = retry::policy(Situation::Create, error.code(), view.settings.resource_exhausted_retry);
    let failures = if view.account_answers && policy == RetryPolicy::SHORT {
        view.failures.min(1)
    } else {
        view.failures
    };
    let asked = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
    policy.delay(failures, spread(&view.machine.uid)).max(asked)
}

/// Returns a number from 0 to 1 that differs between Machines and not between reconciles: Machines that failed together
/// must not retry together, and each reconcile of one Machine reports the same time.
fn spread(uid: &Uid) -> f64 {
    let hash = uid
        .as_str()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    f64::from(hash) / f64::from(u32::MAX)
}

/// Ends a reconcile whose create failed and may have created a VM.
pub(crate) fn in_doubt(
    view: &MachineView,
    driver: &DriverFacts,
    error: &CallError,
    now: Timestamp,
) -> MachineStep {
    let window = driver.consistency_window;
    if window.is_zero() {
        return failed::creation_failed(view, error, now);
    }
    // This failure counts, and the query for its VM follows soon, whatever the code.
    let wake = Requeue::retry(RetryPolicy::steady(FIRST_QUERY.min(window)));
    failed_create(view, (MachineReason::CreationUnresolved, failed_message(error, window)), error, wake, now)
}
