//! The way of a question to its policy.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinist_core::driver::error::{CallError, GuestFailure, Refusal};
use machinist_core::health_policy::{PolicyQuestion, RawAnswer};
use machinist_core::value::id::PluginName;
use tokio::time::timeout_at;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, debug_span};

use crate::host::HostState;
use crate::registry::generation::PolicyGeneration;
use crate::registry::quarantine::QuarantinePause;
use crate::resources::priority_semaphore::Rank;
use crate::resources::urgency::Urgency;

/// The call's name in metrics.
const EVALUATE: &str = "Evaluate";

impl HostState {
    /// Asks on the threads of the guests. Dropping the future ends the call.
    pub(crate) async fn evaluate(
        self: &Arc<Self>,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> Result<RawAnswer, CallError> {
        if self.is_closing.load(Ordering::Acquire) {
            return Err(Refusal::ShuttingDown.into());
        }
        let generation = self.catalog.routes().policy(policy)?;
        if let Some(until) = generation.quarantined_until(Timestamp::now()) {
            let state = format!("quarantined until {until}, since its calls broke one after the other");
            return Err(Refusal::NotReady { plugin: policy.to_string(), state }.into());
        }
        let inner = Arc::clone(self);
        let call = async move { inner.run_policy(&generation, &question, now).await };
        let call = self.calls.track_future(call.in_current_span());
        match AbortOnDropHandle::new(self.guests.normal.spawn(call)).await {
            Ok(answer) => answer,
            Err(ended) if ended.is_cancelled() => Err(Refusal::ShuttingDown.into()),
            Err(_panicked) => Err(GuestFailure::Trap {
                detail: "the host failed during the call; its log says how".to_owned(),
            }
            .into()),
        }
    }

    async fn run_policy(
        self: Arc<Self>,
        generation: &Arc<PolicyGeneration>,
        question: &PolicyQuestion,
        now: Timestamp,
    ) -> Result<RawAnswer, CallError> {
        let policy = &generation.prepared;
        let plugin = &policy.plugin;
        let version = &generation.about.version;
        let span = debug_span!("policy_call", %plugin, %version, machine = %question.machine.key);
        // Waiting for a turn does not count: all wait for the same few threads.
        let wait_until = Instant::now() + policy.terms.limits.deadline.max(Duration::from_secs(10));
        let (answer, took) =
            match timeout_at(wait_until.into(), generation.permits.acquire(Rank::New(Urgency::Urgent))).await
            {
                Ok(_turn) => {
                    let _running = (generation.counts.enter(), self.metrics.in_flight(plugin));
                    let started = Instant::now();
                    let answer = self.policies.evaluate(policy, question, now).instrument(span).await;
                    (answer, started.elapsed())
                }
                Err(_) => (Err(Refusal::Busy { plugin: plugin.to_string() }.into()), Duration::ZERO),
            };
        let error = answer.as_ref().err();
        self.metrics.ended((plugin, generation.source.to_string()), EVALUATE, took, error);
        let ended = generation.ended((EVALUATE, None), error, &self.settings.quarantine, Timestamp::now());
        if let Some(QuarantinePause::Plugin(until)) = ended {
            self.quarantined(until);
        }
        answer
    }
}
