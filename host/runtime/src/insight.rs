//! What a running process knows of one Machine beyond what its objects say: for operators who ask.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_core::id::ObjectKey;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use crate::calls::{Call, CallBook};
use crate::engine::Message;

/// The loop answers within milliseconds; whoever asks waits no longer than this for one that hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// A Machine as the process that leads sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineInsight {
    /// The time of the process.
    pub now: Timestamp,
    /// This process leads. One that does not lead works on nothing.
    pub leads: bool,
    /// Its caches are complete.
    pub synced: bool,
    /// The Machine is in its caches.
    pub known: bool,
    /// A pass over the Machine runs.
    pub pass_runs: bool,
    /// When the next pass is due, if nothing changes before.
    pub next_pass: Option<Timestamp>,
    /// The next pass waits until the caches show what the last one wrote.
    pub awaits_own_writes: bool,
    /// Passes in a row that failed.
    pub failures: u32,
    /// Dangerous work is held, for this reason.
    pub frozen: Option<String>,
    /// When an outage was over, from which on time-outs count.
    #[serde(default)]
    pub thawed_at: Option<Timestamp>,
    /// The time-outs that hold for the Machine.
    pub timeouts: Option<Timeouts>,
    /// The last calls of drivers, the latest first.
    pub calls: Vec<Call>,
    /// Why the Machine is as it is, as the last pass of this process concluded. Where the CRDs drop `status.machinist`,
    /// nothing else says it.
    #[serde(default)]
    pub said: Option<Said>,
}

/// Why a Machine is as it is: the condition Ready, from memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// True, False or Unknown.
    pub status: String,
    /// CamelCase.
    pub reason: String,
    /// For people.
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

/// Asks the process.
#[derive(Clone, Default)]
pub struct Insight {
    pub(crate) calls: Arc<CallBook>,
    engine: Arc<OnceLock<mpsc::UnboundedSender<Message>>>,
}

impl Insight {
    /// What is known of a Machine; `None` before the controllers have started and after they have ended.
    pub async fn machine(&self, key: &ObjectKey) -> Option<MachineInsight> {
        let (answer, answered) = oneshot::channel();
        self.engine.get()?.send(Message::Explain(key.clone(), answer)).ok()?;
        let mut insight = tokio::time::timeout(PATIENCE, answered).await.ok()?.ok()?;
        insight.calls = self.calls.of(key);
        Some(insight)
    }

    /// The loop that is asked.
    pub(crate) fn connect(&self, engine: mpsc::UnboundedSender<Message>) {
        // Only the first tenant of a process is asked.
        let _ = self.engine.set(engine);
    }
}
