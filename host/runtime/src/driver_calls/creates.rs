//! How the creates of this process ended, in clouds that keep no idempotency keys.
//!
//! The note on the Machine outlives the process and shows that a create was begun. Only the process that made the call
//! knows how it ended, and on which clock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::core::ObjectMeta;
use machinist_core::driver::error::GuestFailure;
use machinist_core::driver::{Creation, DriverResult};
use machinist_core::machine::{CallEnd, CallResult, CreateIntent, IntendedCall};
use machinist_core::value::id::Uid;
use tokio::time::Instant;

use crate::client::field_manager::{CREATE_INTENT, CREATE_INTENT_BY};
use crate::context::GateState;
use crate::context::clock::Clock;

/// The creates of this process, by the uid of their Machine. The last one of each that did not end with a stored VM.
pub(crate) struct Creates {
    identity: String,
    ended: Mutex<BTreeMap<Uid, EndedCreate>>,
}

#[derive(Clone, Debug)]
struct EndedCreate {
    at: Timestamp,
    instant: Instant,
    result: CallResult,
}

impl Creates {
    /// Of the process of this name, which is unique for its start.
    pub(crate) fn of(identity: String) -> Self {
        Self { identity, ended: Mutex::default() }
    }

    /// The name under which intents are noted.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// A call begins. Dropped without an answer, it was cut off.
    pub(crate) fn begin<'a>(&'a self, machine: &'a Uid, clock: &'a Clock) -> CreateCall<'a> {
        CreateCall { creates: self, machine, clock, result: None }
    }

    /// Its VM is stored, or it is gone.
    pub(crate) fn forget(&self, machine: &Uid) {
        self.lock().remove(machine);
    }

    /// The create that is noted on the object, and how it ended.
    pub(crate) fn intent(
        &self,
        meta: &ObjectMeta,
        uid: &Uid,
        gate_state: &GateState,
        now: Timestamp,
    ) -> Option<CreateIntent> {
        let annotations = meta.annotations.as_ref()?;
        let begun = annotations.get(CREATE_INTENT)?.parse().ok()?;
        let age = |since: Instant| SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
        let ended = self.lock().get(uid).cloned();
        let is_own = annotations.get(CREATE_INTENT_BY).is_some_and(|by| *by == self.identity);
        let call = match ended {
            Some(EndedCreate { at, instant, result }) => {
                IntendedCall::Made(CallEnd { at, age: age(instant) }, result)
            }
            None if is_own => IntendedCall::NotMade,
            None => IntendedCall::OfPredecessor(CallEnd {
                at: gate_state.watched_since.unwrap_or(now),
                age: gate_state.leads_from.map_or(SignedDuration::ZERO, age),
            }),
        };
        Some(CreateIntent { begun, call })
    }

    /// Each change is one operation on the map, so that a panic elsewhere leaves it whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uid, EndedCreate>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A create under way.
pub(crate) struct CreateCall<'a> {
    creates: &'a Creates,
    machine: &'a Uid,
    clock: &'a Clock,
    result: Option<CallResult>,
}

impl CreateCall<'_> {
    /// The driver has answered.
    pub(crate) fn answered(mut self, answer: &DriverResult<Creation>) {
        self.result = Some(CallResult::of(answer));
    }
}

impl Drop for CreateCall<'_> {
    fn drop(&mut self) {
        let cut_off = || GuestFailure::CutOff { detail: "its pass ended before the answer".to_owned() };
        let result = self.result.take().unwrap_or_else(|| CallResult::Failed(cut_off().into()));
        let ended = EndedCreate { at: self.clock.now(), instant: Instant::now(), result };
        self.creates.lock().insert(self.machine.clone(), ended);
    }
}
