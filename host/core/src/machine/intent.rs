//! Doubt: whether a create may have made a VM that nobody has seen, and until when.
//!
//! A cloud that keeps no idempotency keys makes another VM for each create. Before a create the host notes its intent on the
//! Machine. A create that failed for certain closes the note, and its code says when to try again. One that may have made a VM
//! leaves the note open: the cloud is asked for the VM until its reads must show it, and nothing is created before that.

use jiff::{SignedDuration, Timestamp, Unit};

use crate::driver::{Creation, DriverFacts, Operation as Call};
use crate::driver_error::CallError;
use crate::id::ProviderId;
use crate::retry::{self, MAX_RETRY_AFTER, RetryPolicy, Situation};

use super::conclusion::{Reason, Step, Wake};
use super::setback::{self, failed_create};
use super::step::rest;
use super::view::MachineView;

/// How soon the cloud is asked for a VM that a create may have made: most clouds show it within seconds.
const FIRST_LOOK: SignedDuration = SignedDuration::from_secs(1);

/// As far apart as these looks grow.
const LAST_LOOK: SignedDuration = SignedDuration::from_secs(15);

/// A create that was noted on the Machine before it began, and whose note is still there.
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
    /// How long ago that was when the facts were taken, on a clock that is never set.
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
    /// How long the cloud has been asked for the VM already.
    age: SignedDuration,
    left: SignedDuration,
    until: Timestamp,
}

impl CreateIntent {
    /// It may have made a VM that reads do not show yet.
    pub(super) fn is_in_doubt(&self, window: SignedDuration) -> bool {
        self.doubt(window).is_some()
    }

    /// `None` when reads show whatever the create has made.
    fn doubt(&self, window: SignedDuration) -> Option<CreateDoubt> {
        let (end, lasts) = match &self.call {
            IntendedCall::NotMade => return None,
            IntendedCall::OfPredecessor(end) | IntendedCall::Made(end, CallResult::Created(_)) => {
                (end, window)
            }
            // The VM is made after the answer, within the time that a create may take.
            IntendedCall::Made(end, CallResult::InProgress) => {
                (end, window.saturating_add(Call::Create.deadline()))
            }
            IntendedCall::Made(end, CallResult::Failed(error)) if error.may_have_happened() => (end, window),
            IntendedCall::Made(_, CallResult::Failed(_)) => return None,
        };
        let left = lasts.saturating_sub(end.age);
        // Where reads never lag, the look that goes before each create tells.
        if window.is_zero() || left <= SignedDuration::ZERO {
            return None;
        }
        Some(CreateDoubt { age: end.age, left, until: after(end.at, lasts) })
    }

    fn why(&self) -> String {
        match &self.call {
            IntendedCall::NotMade | IntendedCall::OfPredecessor(_) => {
                "the process that noted a CreateMachine call ended before it noted the answer, so that the call may have \
                 made a VM"
                    .to_owned()
            }
            IntendedCall::Made(_, CallResult::Created(id)) => {
                format!("CreateMachine made VM {id}, whose id is not stored on the Machine")
            }
            IntendedCall::Made(_, CallResult::InProgress) => {
                "the cloud was working on a CreateMachine call whose resume token is not stored".to_owned()
            }
            IntendedCall::Made(_, CallResult::Failed(error)) => why_failed(error),
        }
    }
}

fn why_failed(error: &CallError) -> String {
    format!("CreateMachine failed and may have made a VM all the same: {error}")
}

/// The same words in every pass until the doubt ends.
fn message(why: &str, until: Timestamp) -> String {
    let until = until.round(Unit::Second).unwrap_or(until);
    format!("{why}; the cloud is asked for it, and no VM is created before {until}")
}

fn after(at: Timestamp, duration: SignedDuration) -> Timestamp {
    at.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// The end of a pass that must not create: an earlier create may have made a VM, or it failed and it is not yet time to try
/// again. The look of this pass has found nothing.
pub(super) fn unresolved(view: &MachineView, driver: &DriverFacts) -> Option<Step> {
    let intent = view.machine.create_intent.as_ref()?;
    if let Some(doubt) = intent.doubt(driver.consistency_window) {
        let pause = doubt.age.clamp(FIRST_LOOK, LAST_LOOK).min(doubt.left);
        let message = message(&intent.why(), doubt.until);
        return Some(rest(Reason::CreationUnresolved, message, Wake::Look(pause)));
    }
    let IntendedCall::Made(end, CallResult::Failed(error)) = &intent.call else { return None };
    if !error.may_have_happened() || driver.consistency_window.is_zero() {
        return None;
    }
    // The pass that failed came back soon to look. Its code says when the next create may come.
    let policy = retry::policy(Situation::Create, error.code(), view.settings.resource_exhausted_retry);
    let asked = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
    let left = policy.delay(view.failures, 0.5).max(asked).saturating_sub(end.age);
    (left > SignedDuration::ZERO).then(|| {
        rest(super::step::reason_of(error, Reason::CreationFailed), error.to_string(), Wake::Look(left))
    })
}

/// The end of a pass whose create failed and may have made a VM.
pub(super) fn in_doubt(view: &MachineView, driver: &DriverFacts, error: &CallError, now: Timestamp) -> Step {
    let window = driver.consistency_window;
    if window.is_zero() {
        return setback::creation_failed(view, error, now);
    }
    let message = message(&why_failed(error), after(now, window));
    // A failure that counts, and the look for its VM comes soon whatever the code says.
    let wake = Wake::Retry { policy: RetryPolicy::steady(FIRST_LOOK.min(window)), hint: None };
    failed_create(view, (Reason::CreationUnresolved, message), error, wake, now)
}
