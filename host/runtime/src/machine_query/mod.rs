//! Answers to operators who ask a running process about one Machine or MachinistMachine: facts that no object has.
//!
//! | module | what it does |
//! | --- | --- |
//! | `history` | the last driver calls of each Machine |

pub mod history;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_core::value::id::ObjectKey;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use self::history::{Call, CallHistory};

/// The loop answers within milliseconds; a query waits no longer than this for a loop that hangs.
const ANSWER_DEADLINE: Duration = Duration::from_secs(2);

/// Questions that may wait. The loop answers one within microseconds, and people ask few; a flood is turned away.
const MAX_QUERIES: usize = 16;

/// A Machine or MachinistMachine as the process that leads sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineDetails {
    /// The time of the process.
    pub now: Timestamp,
    /// This process leads. One that does not lead works on nothing.
    pub leads: bool,
    /// Its caches are complete.
    pub synced: bool,
    /// The object is in its caches.
    pub known: bool,
    /// A reconcile of the object runs.
    #[serde(rename = "passRuns")]
    pub is_reconciling: bool,
    /// When the next reconcile is due, if nothing changes before.
    #[serde(rename = "nextPass")]
    pub next_reconcile: Option<Timestamp>,
    /// The next reconcile waits until the caches show the writes of the last one.
    pub awaits_own_writes: bool,
    /// Failed reconciles in a row.
    pub failures: u32,
    /// Destructive actions pause, for this reason.
    pub frozen: Option<String>,
    /// When an outage was over, from which on time-outs count.
    #[serde(default)]
    pub thawed_at: Option<Timestamp>,
    /// The time-outs of the Machine. A MachinistMachine has none.
    pub timeouts: Option<Timeouts>,
    /// The last calls of drivers, the latest first.
    pub calls: Vec<Call>,
    /// The condition Ready of the last reconcile by this process. Where the CRDs drop `status.machinist`, only this
    /// shows it.
    #[serde(default, rename = "said")]
    pub ready: Option<ReadyCondition>,
}

/// Why a Machine is as it is: the condition Ready, from memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadyCondition {
    /// True, False or Unknown.
    pub status: String,
    pub reason: String,
    pub message: String,
    /// Since when the reason has been the same, as far as this process has seen.
    pub since: Timestamp,
}

/// Time-outs of one Machine: its own, or those of the flags. As Go writes durations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeouts {
    /// From its creation until its Node must have joined.
    pub creation: String,
    /// How long it may be Unknown; absent: for ever.
    pub health: Option<String>,
    /// From the request for its deletion until its pods are not asked any more.
    pub drain: String,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The controllers have not started, or have ended.
    #[error("the controllers have not started, or have ended")]
    NotRunning,
    /// So many others ask that this question was not taken.
    #[error("too many ask about Machines at the moment")]
    Busy,
    /// The loop took the question and has not answered in time.
    #[error("the controllers have not answered in time")]
    Late,
}

/// An object that has a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueriedObject {
    Machine(ObjectKey),
    MachinistMachine(ObjectKey),
}

impl QueriedObject {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Machine(key) | Self::MachinistMachine(key) => key,
        }
    }
}

/// A query about an object, and the channel for the answer.
#[derive(Debug)]
pub(crate) struct MachineQuery {
    pub(crate) object: QueriedObject,
    pub(crate) answer: oneshot::Sender<MachineDetails>,
}

/// Sends queries to the event loop.
#[derive(Clone, Default)]
pub struct MachineQueries {
    pub(crate) calls: Arc<CallHistory>,
    engine: Arc<OnceLock<mpsc::Sender<MachineQuery>>>,
}

impl MachineQueries {
    /// Returns the details of a Machine or MachinistMachine.
    ///
    /// # Errors
    /// When the loop does not run, does not answer in time, or is asked by too many.
    pub async fn details(&self, object: &QueriedObject) -> Result<MachineDetails, QueryError> {
        let engine = self.engine.get().ok_or(QueryError::NotRunning)?;
        let (answer, answered) = oneshot::channel();
        engine.try_send(MachineQuery { object: object.clone(), answer }).map_err(|error| match error {
            TrySendError::Full(_) => QueryError::Busy,
            TrySendError::Closed(_) => QueryError::NotRunning,
        })?;
        let answered = tokio::time::timeout(ANSWER_DEADLINE, answered).await.map_err(|_| QueryError::Late)?;
        let mut details = answered.map_err(|_| QueryError::NotRunning)?;
        details.calls = self.calls.of(object.key());
        Ok(details)
    }

    /// Connects the loop that is asked. It gets the questions from the receiver, behind all that changes.
    pub(crate) fn connect(&self) -> mpsc::Receiver<MachineQuery> {
        let (engine, receiver) = mpsc::channel(MAX_QUERIES);
        // Only the first tenant of a process is asked.
        let _ = self.engine.set(engine);
        receiver
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attack_thousands_of_questions_at_once_fill_no_queue_of_the_loop() {
        let queries = MachineQueries::default();
        let object = QueriedObject::Machine(ObjectKey::new("garden", "a"));
        assert_eq!(queries.details(&object).await, Err(QueryError::NotRunning));
        let mut receiver = queries.connect();
        // The loop hangs: nobody reads.
        let all = (0..10_000).map(|_| queries.details(&object));
        let answers = futures::future::join_all(all).await;
        let count = |wanted: QueryError| answers.iter().filter(|answer| **answer == Err(wanted)).count();
        assert_eq!((count(QueryError::Late), count(QueryError::Busy)), (MAX_QUERIES, 10_000 - MAX_QUERIES));
        let mut taken = 0;
        while let Ok(query) = receiver.try_recv() {
            assert!(query.answer.is_closed(), "nobody waits any more");
            taken += 1;
        }
        assert_eq!(taken, MAX_QUERIES);
        drop(receiver);
        assert_eq!(queries.details(&object).await, Err(QueryError::NotRunning));
    }
}
