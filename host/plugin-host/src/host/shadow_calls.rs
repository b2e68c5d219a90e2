//! Calls a shadow with the arguments of a call that the serving version answered, afterwards and in the background.
//!
//! The shadow reads from the recording of that call, and gets the recorded answers to its writes. A read that the
//! recording lacks goes to the cloud if `shadow-reads` of its grants list it; any other request that it lacks fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use jiff::Timestamp;
use machinist_core::driver::DriverResult;
use machinist_core::driver::error::CallError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::{debug, info};

use crate::calls::exports::Ask;
use crate::host::HostState;
use crate::recording::{CallRecording, Difference, Player, Playing, Recording, difference};
use crate::registry::canary::Shadowed;
use crate::registry::generation::{Generation, is_fault};
use crate::resources::cpu_share::Priority;
use crate::resources::cpu_time::CpuTime;

/// Shadow calls at the same time, running or queued. Each keeps a recording.
const MOST_QUEUED: usize = 16;
/// Of these, calls that run.
const MOST_RUNNING: usize = 2;
/// How long a shadow call is queued before it is left out.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Permits for shadow calls.
pub(crate) struct Shadows {
    queued: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Default for Shadows {
    fn default() -> Self {
        Self {
            queued: Arc::new(Semaphore::new(MOST_QUEUED)),
            running: Arc::new(Semaphore::new(MOST_RUNNING)),
        }
    }
}

/// The shadow of a call.
pub(crate) struct Behind {
    pub(crate) candidate: Arc<Generation>,
}

/// A call that will be shadowed, with its arguments and its recording.
pub(crate) struct ShadowedCall<A> {
    candidate: Arc<Generation>,
    ask: A,
    subject: String,
    recording: CallRecording,
    _permit: OwnedSemaphorePermit,
}

impl<A> ShadowedCall<A> {
    pub(crate) fn recording(&self) -> &CallRecording {
        &self.recording
    }
}

impl HostState {
    /// Keeps the arguments of a call for its shadow, unless too many shadow calls are queued.
    pub(crate) fn prepare_shadow<A: Ask>(&self, behind: &Behind, ask: &A) -> Option<ShadowedCall<A>> {
        let candidate = Arc::clone(&behind.candidate);
        let subject = ask.subject();
        let Ok(permit) = Arc::clone(&self.shadows.queued).try_acquire_owned() else {
            self.compared(&candidate, A::OPERATION.name(), &subject, &Shadowed::LeftOut);
            return None;
        };
        Some(ShadowedCall {
            candidate,
            ask: ask.clone(),
            subject,
            recording: CallRecording::start(),
            _permit: permit,
        })
    }

    /// Calls the shadow in the background, after the end of the call.
    pub(crate) fn shadow<A: Ask>(self: &Arc<Self>, call: ShadowedCall<A>, answer: &DriverResult<A::Answer>) {
        let has_answered = matches!(answer, Ok(_) | Err(CallError::Guest(_)));
        let inner = Arc::clone(self);
        let closed = self.has_closed.clone();
        self.guests.normal.spawn(async move {
            let shadowed =
                async { if has_answered { inner.ask_shadow(&call).await } else { Shadowed::LeftOut } };
            let Some(shadowed) = closed.run_until_cancelled(shadowed).await else { return };
            inner.compared(&call.candidate, A::OPERATION.name(), &call.subject, &shadowed);
        });
    }

    async fn ask_shadow<A: Ask>(self: &Arc<Self>, shadowed: &ShadowedCall<A>) -> Shadowed {
        let Ok(Ok(_running)) = timeout(TIMEOUT, Arc::clone(&self.shadows.running).acquire_owned()).await
        else {
            return Shadowed::LeftOut;
        };
        let active = shadowed.recording.clone();
        // Takes secrets out of megabytes of text.
        let finished = tokio::task::spawn_blocking(move || active.finish()).await;
        let Ok(Some(recording)) = finished else { return Shadowed::LeftOut };
        let recording = Arc::new(recording);
        let Ok(player) = Player::new(Arc::clone(&recording), Playing::Shadow) else {
            return Shadowed::LeftOut;
        };
        // Calls with a waiting caller go first.
        let Ok(_permit) = timeout(TIMEOUT, self.queue.spare_permit(&shadowed.candidate)).await else {
            return Shadowed::LeftOut;
        };
        let active = CallRecording::replaying(player);
        let call = {
            let (inner, candidate, ask, active) =
                (Arc::clone(self), Arc::clone(&shadowed.candidate), shadowed.ask.clone(), active.clone());
            let deadline = Instant::now()
                + A::OPERATION.deadline().unsigned_abs().min(candidate.prepared.limits.deadline);
            async move {
                let _running = candidate.counts.enter();
                let code = candidate.prepared.code.load_full();
                inner.sandbox.call_with_recording(&code, &candidate.prepared, ask, deadline, &active).await
            }
        };
        let cpu_time = CpuTime::default();
        match self.guests.run(call.boxed(), &cpu_time, (&shadowed.candidate.penalty, Priority::Low)).await {
            Ok(Err(CallError::Broken(broken))) if is_fault(&broken.failure) => {
                Shadowed::Broke(broken.to_string())
            }
            Ok(Err(CallError::Refused(_))) | Err(_) => Shadowed::LeftOut,
            Ok(Ok(_) | Err(CallError::Guest(_) | CallError::Broken(_))) => {
                match tokio::task::spawn_blocking(move || active.finish()).await {
                    Ok(Some(shadow)) => compare(&recording, &shadow),
                    Ok(None) | Err(_) => Shadowed::LeftOut,
                }
            }
        }
    }

    fn compared(
        &self,
        candidate: &Arc<Generation>,
        function: &'static str,
        subject: &str,
        shadowed: &Shadowed,
    ) {
        let Some(trial) = &candidate.trial else { return };
        let plugin = &candidate.prepared.plugin;
        self.metrics.shadowed(plugin, function, shadowed.name());
        let (end, is_news) = trial.shadowed(function, subject, shadowed, Timestamp::now());
        match shadowed {
            Shadowed::Differs(differences) | Shadowed::Unread(differences) => {
                let text = differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                info!(%plugin, version = %candidate.about.version, function, subject, differences = text, "a shadow would have done otherwise");
            }
            Shadowed::Broke(detail) => {
                info!(%plugin, version = %candidate.about.version, function, subject, detail, "a shadow broke");
            }
            Shadowed::Same | Shadowed::LeftOut => {
                debug!(%plugin, function, subject, result = shadowed.name(), "a shadow was asked");
            }
        }
        if let Some(end) = end {
            self.catalog.end_trial(candidate, &end);
        } else if is_news {
            self.catalog.refresh();
        }
    }
}

/// Compares two recordings. Differences of log lines do not count.
fn compare(recording: &Recording, shadow: &Recording) -> Shadowed {
    let mut differences = difference(recording, shadow);
    differences.retain(|difference| !matches!(difference, Difference::Log { .. }));
    if differences.is_empty() {
        Shadowed::Same
    } else if differences.iter().any(|difference| matches!(difference, Difference::Unread { .. })) {
        Shadowed::Unread(differences)
    } else {
        Shadowed::Differs(differences)
    }
}
